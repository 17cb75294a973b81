"""`statx(2)`, for the birth time that `os.stat` does not give: a path in, the facts of identity out."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from functools import cache

Record = dict[str, str]
AT_FDCWD = -100
STATX_BASIC_STATS, STATX_BTIME = 0x7FF, 0x800
# struct statx: mask, inode, size; birth, change and modification as seconds and nanoseconds; the device's two numbers.
STATX = "=I28xQQ32xqI4xqI4xqI4x8xII"


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

    @property
    def lasting(self) -> tuple[str, int, int]:
        """What stays the same of a file while its content changes."""
        return self.device, self.inode, self.birth

    def later(self, record: Record, prefix: str) -> Facts:
        """What a record states of the same file later, under names that begin with `prefix`."""
        get, (mtime, ctime, size) = record.get, _later_names(prefix)
        return Facts(self.device, self.inode, self.birth, int(get(mtime, 0)), int(get(ctime, 0)), int(get(size, 0)))


@cache
def _later_names(prefix: str) -> tuple[str, ...]:
    names = ("MtimeNs", "CtimeNs", "Size")
    return tuple(prefix + name if prefix else name[0].lower() + name[1:] for name in names)


def facts(path: bytes) -> Facts:
    """Return the facts of the file at `path` (links followed); raises OSError as `stat` does."""
    import ctypes  # dear, and most runs leave nothing to look at

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
