"""Read `PROVIO_TRACE`, the facts of this process in /proc, and the facts of files by statx."""

from __future__ import annotations

import ctypes
import os
import struct
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from . import rank as ranks
from .rank import Rank

LIBC = ctypes.CDLL(None, use_errno=True)
SYSTEM_CALLS = {"x86_64": 332, "aarch64": 291}  # of statx, which is no function of every C library
AT_FDCWD, AT_EMPTY_PATH, BASIC_AND_BIRTH, BIRTH = -100, 0x1000, 0xFFF, 0x800
# struct statx: mask, links, inode, size; birth, change and modification as seconds and nanoseconds; the device.
STATX = struct.Struct("=I12xI12xQQ32xqI4xqI4xqI4x8xII")
FORBIDDEN = set('<>"{}|^`\\ /')


class TraceSettings(NamedTuple):
    """The fields of `PROVIO_TRACE`: the detail, the run and the host, the folders, and the limits."""

    detail: str
    run: str
    host: str
    home: bytes
    folder: bytes
    rank: Rank | None
    off: frozenset[str] = frozenset()
    limits: tuple[tuple[bool, bytes], ...] = ()

    def leaves_out(self, *names: bytes) -> bool:
        """Whether a file of these names must not be recorded: a name is excluded, or none is among the included."""
        taken = {included for included, limit in self.limits if any(_takes(limit, name) for name in names)}
        return False in taken or (True not in taken and any(included for included, _ in self.limits))


class FileFacts(NamedTuple):
    """The result of `statx` for a file: times in ns since 1970, size in bytes."""

    device: bytes
    inode: int
    birth: int
    modified: int
    changed: int
    size: int
    links: int

    def same_file(self, other: FileFacts) -> bool:
        """Whether both are of one inode."""
        return (self.device, self.inode) == (other.device, other.inode)


def trace_settings(environment: dict[str, str]) -> TraceSettings | None:
    """Return the settings in an environment; None if nothing must be recorded."""
    fields = environment.get("PROVIO_TRACE", "").split(";")
    if len(fields) < 7:
        return None
    version, detail, _, run, host, home, folder = map(unquote_to_bytes, fields[:7])
    level, *words = detail.decode("ascii", "replace").split(",")
    rest = [field for field in map(unquote_to_bytes, fields[7:]) if field[:1] not in (b"@", b"=", b">")]
    limits = tuple((field[:1] == b"+", field[1:]) for field in rest)
    names = [os.fsdecode(run), os.fsdecode(host)]
    if version != b"1" or level not in ("file", "op", "call") or not (home[:1] == folder[:1] == b"/"):
        return None
    if any(not word or len(word) > 255 or set(word) & FORBIDDEN for word in names):
        return None
    off = frozenset(word[1:] for word in words if word.startswith("-"))
    number = None if "rank" in off else ranks.rank(environment)
    return TraceSettings(level, names[0], names[1], home, folder, number, off, limits)


def _takes(limit: bytes, path: bytes) -> bool:
    """Whether a path is, or is below, the folder or a match of the glob of a limit: as in the shim."""
    if not set(limit) & set(b"*?["):
        return path == limit or path.startswith(limit.rstrip(b"/") + b"/")
    from fnmatch import fnmatchcase

    glob, name = os.fsdecode(limit), os.fsdecode(path)
    return fnmatchcase(name, glob) or fnmatchcase(name, glob + "/*")


def statx(path: bytes, fd: int = AT_FDCWD) -> FileFacts | None:
    """Return the facts of a file, links followed, or of a descriptor if the path is empty; None if statx fails."""
    answer = ctypes.create_string_buffer(256)
    call = (fd, path, 0 if path else AT_EMPTY_PATH, BASIC_AND_BIRTH, answer)
    number = SYSTEM_CALLS.get(os.uname().machine)
    if (LIBC.statx(*call) if number is None else LIBC.syscall(number, *call)) != 0:
        return None
    mask, links, inode, size, *times, major, minor = STATX.unpack_from(answer)
    birth, changed, modified = (
        max(0, seconds) * 1_000_000_000 + rest for seconds, rest in zip(times[::2], times[1::2])
    )
    device = b"%d:%d" % (major, minor)
    return FileFacts(device, inode, birth if mask & BIRTH else 0, modified, changed, size, links)


def identity() -> tuple[int, int, int]:
    """Return the pid, the start tick and the parent's pid of this process."""
    with open("/proc/self/stat", "rb", 0) as file:
        fields = file.read().rpartition(b")")[2].split()  # the name before it may hold anything
    return os.getpid(), int(fields[19]), int(fields[1])


def link(name: str) -> bytes:
    """Return the target of a symbolic link of /proc; empty if it cannot be read."""
    try:
        return os.readlink(os.fsencode(name))
    except OSError:
        return b""


def arguments() -> tuple[bytes, ...]:
    """Return the arguments of this process."""
    try:
        with open("/proc/self/cmdline", "rb", 0) as file:
            return tuple(file.read().split(b"\0")[:-1])
    except OSError:
        return ()


def working_directory() -> bytes:
    """Return the working directory; empty if it was removed."""
    try:
        return os.getcwdb()
    except OSError:
        return b""


def absolute(path: bytes) -> bytes:
    """Return an absolute path, without `.` and empty parts; a URL is returned unchanged."""
    if b"://" in path:
        return path
    whole = path if path.startswith(b"/") else working_directory() + b"/" + path
    return b"/" + b"/".join(part for part in whole.split(b"/") if part not in (b"", b"."))
