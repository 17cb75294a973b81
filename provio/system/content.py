"""Reads a file, or computes its SHA-256, together with the facts (`statx`) of the file version that was read.

Only plain files are opened, because opening a FIFO or a device has side effects. A file that changes in between
is not read.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from typing import TypeVar

from provio.system import statx
from provio.system.statx import Facts

Found = TypeVar("Found")
PIECE = 1 << 20
QUIETLY = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class Unread(Exception):
    """A file cannot be hashed; the message gives the reason."""


def sha256(path: bytes, progress: Callable[[int], None] = lambda _: None) -> tuple[str, Facts]:
    """Return the SHA-256 of the file at `path` in hexadecimal digits, and its facts, which are the same before and
    after.

    `progress` receives the number of bytes read so far. Raises Unread.
    """
    return _unchanged(path, lambda fd: _digest(fd, progress), "changed while its SHA-256 was computed")


def read(path: bytes, size: int) -> tuple[bytes, Facts]:
    """Return the first `size` bytes of the file at `path`, and its facts, which are the same before and after. Raises
    Unread."""

    def whole(fd: int) -> bytes:
        with open(fd, "rb", closefd=False) as file:
            return file.read(size)

    return _unchanged(path, whole, "it was changed while it was read")


def _unchanged(path: bytes, work: Callable[[int], Found], changed: str) -> tuple[Found, Facts]:
    """Return the result for the descriptor of a plain file, and the facts of the file, if it has not changed."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise Unread("is no regular file")
        fd = _opened(path)
        try:
            opened = b"/proc/self/fd/%d" % fd
            before = statx.facts(opened)
            found = work(fd)
            if statx.facts(opened) != before:
                raise Unread(changed)
        finally:
            os.close(fd)
    except OSError as error:
        raise Unread(f"cannot be read ({error.strerror})") from error
    return found, before


def _opened(path: bytes) -> int:
    """Open a plain file, without an update of its access time if that is permitted (to the owner of the file)."""
    try:
        fd = os.open(path, QUIETLY | os.O_NOATIME)
    except PermissionError:
        fd = os.open(path, QUIETLY)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Unread("is no regular file")
    return fd


def _digest(fd: int, progress: Callable[[int], None]) -> str:
    digest, done = hashlib.sha256(), 0
    piece = bytearray(PIECE)
    view = memoryview(piece)
    while count := os.readv(fd, [piece]):
        digest.update(view[:count])
        done += count
        progress(done)
    return digest.hexdigest()
