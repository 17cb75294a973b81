"""`statx(2)`, for the birth time that `os.stat` does not give: a path in, the facts of identity out."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from functools import cache

Record = dict[str, str]
AT_FDCWD = -100
STATX_BASIC_STATS, STATX_BTIME = 0x7FF, 0x800


@dataclass(frozen=True, slots=True)
class Facts:
    """What `statx` said of a file: times in ns since 1970, size in bytes."""

    device: str
    inode: int
    birth: int
    mtime: int
    ctime: int
    size: int

    @staticmethod
    def of(record: Record) -> Facts:
        """The facts that a record states of a file."""
        get = record.get
        return Facts(
            get("device", ""), int(get("inode", 0)), int(get("birthNs", 0)), int(get("mtimeNs", 0)),
            int(get("ctimeNs", 0)), int(get("size", 0)),
        )  # fmt: skip

    @property
    def key(self) -> tuple[str, int, int, int, int]:
        """What tells a version apart: all but the change time."""
        return self.device, self.inode, self.birth, self.mtime, self.size

    def later(self, record: Record, prefix: str) -> Facts:
        """What a record states of the same file later, under names that begin with `prefix`."""
        get, (mtime, ctime, size) = record.get, _later_names(prefix)
        return Facts(self.device, self.inode, self.birth, int(get(mtime, 0)), int(get(ctime, 0)), int(get(size, 0)))


@cache
def _later_names(prefix: str) -> tuple[str, ...]:
    names = ("MtimeNs", "CtimeNs", "Size")
    return tuple(prefix + name if prefix else name[0].lower() + name[1:] for name in names)


class _Time(ctypes.Structure):
    _fields_ = [("sec", ctypes.c_int64), ("nsec", ctypes.c_uint32), ("pad", ctypes.c_int32)]

    def ns(self) -> int:
        return int(self.sec) * 1_000_000_000 + int(self.nsec)


class _Statx(ctypes.Structure):
    _fields_ = [
        ("mask", ctypes.c_uint32), ("blksize", ctypes.c_uint32), ("attributes", ctypes.c_uint64),
        ("nlink", ctypes.c_uint32), ("uid", ctypes.c_uint32), ("gid", ctypes.c_uint32),
        ("mode", ctypes.c_uint16), ("pad", ctypes.c_uint16), ("ino", ctypes.c_uint64), ("size", ctypes.c_uint64),
        ("blocks", ctypes.c_uint64), ("attributes_mask", ctypes.c_uint64),
        ("atime", _Time), ("btime", _Time), ("ctime", _Time), ("mtime", _Time),
        ("rdev_major", ctypes.c_uint32), ("rdev_minor", ctypes.c_uint32),
        ("dev_major", ctypes.c_uint32), ("dev_minor", ctypes.c_uint32), ("spare", ctypes.c_uint64 * 14),
    ]  # fmt: skip


def facts(path: bytes) -> Facts:
    """Return the facts of the file at `path` (links followed); raises OSError as `stat` does."""
    answer = _Statx()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_BTIME, ctypes.byref(answer)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), os.fsdecode(path))
    birth = answer.btime.ns() if answer.mask & STATX_BTIME else 0
    device = f"{answer.dev_major}:{answer.dev_minor}"
    return Facts(device, answer.ino, birth, answer.mtime.ns(), answer.ctime.ns(), answer.size)
