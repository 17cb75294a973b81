"""Calls `statx(2)`, which gives the birth time that `os.stat` lacks, and parses the recorded facts of files."""

from __future__ import annotations

import os
import struct
import sys
from functools import cache, lru_cache

from provio.base.records import plain

Record = dict[str, str]
AT_FDCWD = -100
STATX_BASIC_STATS, STATX_BTIME = 0x7FF, 0x800
# struct statx: mask, inode, size; birth, change and modification time as seconds and nanoseconds; the device's two
# numbers.
STATX = "=I28xQQ32xqI4xqI4xqI4x8xII"


@plain(frozen=True, slots=True)
class Facts:
    """The result of `statx` for a file: times in ns since 1970, size in bytes."""

    device: str
    inode: int
    birth: int
    mtime: int
    ctime: int
    size: int

    @staticmethod
    def of(record: Record) -> Facts:
        """Return the facts of a file that a record states."""
        get = record.get
        return _facts(
            get("device", ""), get("inode", "0"), get("birthNs", "0"), get("mtimeNs", "0"), get("ctimeNs", "0"),
            get("size", "0"),
        )  # fmt: skip

    @property
    def key(self) -> tuple[str, int, int, int, int]:
        """The fields that identify a version: all but the change time."""
        return self.device, self.inode, self.birth, self.mtime, self.size

    @property
    def lasting(self) -> tuple[str, int, int]:
        """The fields that stay the same while the content of a file changes."""
        return self.device, self.inode, self.birth

    def at(self, mtime: int, ctime: int, size: int) -> Facts:
        """Return the same file at another time."""
        return Facts(self.device, self.inode, self.birth, mtime, ctime, size)

    def later(self, record: Record, prefix: str) -> Facts:
        """Return the later facts of the same file that a record states under names with the prefix `prefix`."""
        mtime, ctime, size = (record.get(name, "0") for name in _later_names(prefix))
        modified = int(mtime)
        changed = modified if ctime == mtime else int(ctime)
        return self.at(modified, changed, int(size))


@lru_cache(maxsize=512)  # many processes of a run open the same files
def _facts(device: str, inode: str, birth: str, mtime: str, ctime: str, size: str) -> Facts:
    """Return the facts; equal facts share one object, because there may be a hundred thousand in memory."""
    born = int(birth)
    modified = born if mtime == birth else int(mtime)
    changed = modified if ctime == mtime else int(ctime)
    return Facts(sys.intern(device), int(inode), born, modified, changed, int(size))


@cache
def _later_names(prefix: str) -> tuple[str, ...]:
    names = ("MtimeNs", "CtimeNs", "Size")
    return tuple(prefix + name if prefix else name[0].lower() + name[1:] for name in names)


def facts(path: bytes) -> Facts:
    """Return the facts of the file at `path` (links followed); raises OSError as `stat` does."""
    import ctypes  # slow to import, and rarely needed

    answer = ctypes.create_string_buffer(256)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_BTIME, answer) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), os.fsdecode(path))
    mask, inode, size, *times, major, minor = struct.unpack_from(STATX, answer)
    birth, ctime, mtime = (
        seconds * 1_000_000_000 + rest for seconds, rest in zip(times[::2], times[1::2], strict=True)
    )
    return Facts(f"{major}:{minor}", inode, birth if mask & STATX_BTIME else 0, mtime, ctime, size)
