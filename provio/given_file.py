"""A file that a setting names, or that lies in a folder which one names: its path in, its bytes out.

A project's file may name it, and come from anybody: so neither a FIFO, for which one would wait for ever, nor a device
that never ends is read.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MOST = 1 << 26


def content(path: Path) -> bytes:
    """Return what a plain file holds; raises OSError for what is none, or is larger than any that people write."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "is no plain file")
    with open(fd, "rb") as file:
        data = file.read(MOST + 1) if found.st_size <= MOST else b""  # a file of /proc says 0 and has more
        if len(data) > MOST or found.st_size > MOST:
            raise OSError(errno.EFBIG, f"is larger than {MOST >> 20} MiB")
        return data
