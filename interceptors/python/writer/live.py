"""The live Turtle file of a thread: blocks in, a file out that is valid at every instant (`docs/trace-format.md`).

As in the shim, the file grows by mapped chunks of `#`, which are comments; a block is written after its
first byte, and a space stored in that byte commits the block.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import resource
from typing import Any

from .environment import LIBC

FIRST_CHUNK, LARGEST_CHUNK, LARGEST_OF_CALLS = 4096, 256 * 1024, 1024 * 1024
RESERVED = 256  # bytes of each chunk, for a Gap
PAGE = mmap.ALLOCATIONGRANULARITY
REASONS = {
    "no space left on the trace's file system": (errno.ENOSPC, errno.EDQUOT),
    "the file-size limit was reached": (errno.EFBIG,),
    "no descriptor was left to open the trace with": (errno.EMFILE, errno.ENFILE),
    "no memory was left to map the trace": (errno.ENOMEM,),
    "the trace could not be opened": (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT),
}

LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
LIBC.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


def reason_for(error: OSError) -> str:
    """Return the reason of a Gap for an error."""
    known = (reason for reason, numbers in REASONS.items() if error.errno in numbers)
    return next(known, "the trace could not be written")


class Chunk:
    """A mapped part of a file; Python's own `mmap` would keep a descriptor, which the program could see.

    It stays mapped while counters in it refer to it.
    """

    address = 0  # __del__ runs too if __init__ fails

    def __init__(self, fd: int, size: int, offset: int) -> None:
        self.size, self.used = size, 0
        address = LIBC.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, fd, offset)
        if address is None or address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "mmap")
        self.address = address
        self.memory: Any = memoryview((ctypes.c_char * size).from_address(address)).cast("B")

    def __del__(self, unmap: Any = LIBC.munmap) -> None:
        if self.address:
            unmap(self.address, self.size)


class Block:
    """The place of a written block, whose counters are replaced in place."""

    __slots__ = ("chunk", "start")

    def __init__(self, chunk: Chunk, start: int) -> None:
        self.chunk = chunk
        self.start = start

    def withdraw(self) -> None:
        """Make the block a comment again."""
        self.chunk.memory[self.start] = ord("#")


class Live:
    """A file of a thread, or of its single calls. After an error nothing is written to it any more."""

    def __init__(self, path: bytes, fd: int, of_calls: bool = False) -> None:
        self.path = path
        self.of_calls = of_calls
        self.silent = ""  # the reason why nothing is written any more
        self.size, self.next = 0, max(FIRST_CHUNK, PAGE)
        self.chunk: Chunk | None = None
        self.fd = fd  # until the first chunk is mapped

    def reserve(self, room: int) -> bool:
        """Make the first chunk, for a block of `room` bytes; return whether that succeeded."""
        return self._grow(room + 16) is not None

    def write(self, text: bytes, room: int) -> Block | None:
        """Write and commit a block, and reserve `room` bytes for it if that is more than its length.

        Return None if the file is silent.
        """
        if self.silent:
            return None
        length = len(text)
        if room <= length:
            room = length + 1
        size = room + 2 if self.of_calls else (room + 2 + 15) & ~15
        chunk = self.chunk
        if chunk is None or chunk.used + size > chunk.size - RESERVED:
            chunk = self._grow(room)
            if chunk is None:
                return None
        at = chunk.used
        chunk.used = at + size
        memory = chunk.memory
        memory[at + size - 1] = 10
        if at:
            memory[at - 1] = 10
        memory[at + 1 : at + 1 + length] = text
        memory[at] = 32
        return Block(chunk, at)

    def _grow(self, need: int) -> Chunk | None:
        """Append a chunk with at least `need` bytes; if that fails, write a Gap and return None."""
        try:
            fd = self.fd if self.size == 0 else os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            try:
                return self._append(fd, need)
            finally:
                if fd != self.fd:
                    os.close(fd)
        except (OSError, MemoryError) as error:
            self.silent = reason_for(error if isinstance(error, OSError) else OSError(errno.ENOMEM, ""))
            self.gap(self.silent)
            return None

    def _append(self, fd: int, need: int) -> Chunk:
        size = self.next
        while size < need + RESERVED + 16:
            size += PAGE
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        if limit != resource.RLIM_INFINITY and self.size + size > limit:
            raise OSError(errno.EFBIG, "")
        try:
            if os.pwrite(fd, b"#" * (size - 1) + b"\n", self.size) != size:
                raise OSError(errno.ENOSPC, "")
            chunk = Chunk(fd, size, self.size)
        except OSError:
            os.ftruncate(fd, self.size)
            raise
        self.size += size
        largest = LARGEST_OF_CALLS if self.of_calls else LARGEST_CHUNK
        self.next = 2 * size if size < largest else largest
        self.chunk = chunk
        return chunk

    def gap(self, reason: str) -> None:
        """Write a Gap into the reserved bytes."""
        chunk = self.chunk
        if chunk is None or chunk.memory[chunk.size - RESERVED] != ord("#"):
            return
        start, text = chunk.size - RESERVED, b' <g1> a :Gap ; :reason "%s" ; :about <../> .' % reason.encode()
        chunk.memory[start - 1] = 10
        chunk.memory[start + 1 : start + 1 + len(text)] = text
        chunk.memory[start] = 32
