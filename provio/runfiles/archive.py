"""A run packed into one file, written: a run folder in, a tar archive compressed by xz out.

`run.ttl` comes first, so that what a run was can be told without reading the rest; the files of single calls come last,
for a merge does not want them.
"""

from __future__ import annotations

import errno
import fcntl
import io
import lzma
import os
import stat
import tarfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from provio.runfiles.files import MOST, SHELL_ENDING, UNCLOSED, RunFile
from provio.runfiles.folder import Folder, folders_of

if TYPE_CHECKING:
    from provio.statx import Record

PRESET = 1  # of xz: a seventh of the time of its usual one, for a seventh more room


def write(folder: Path, record: Record, target: Path, going: bool = False) -> None:
    """Write the pack of a run folder, down to the disk; raises OSError where a file in it is still written, or does
    not belong in a pack, unless the run may be `going` on."""
    files = Folder(folder)
    if not going:
        _check(files, record)
    try:
        with target.open("xb") as file:
            with (
                lzma.open(file, "wb", preset=PRESET) as compressed,
                tarfile.open(fileobj=compressed, mode="w|", errors="surrogateescape") as archive,
            ):
                for member in _members(files, record):
                    _add(archive, folder.name, member, going)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def sync(folder: Path) -> None:
    """Have what was renamed in a folder outlive a loss of power."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _members(files: Folder, record: Record) -> Iterator[RunFile]:
    return chain([files.head()], files.files(record), files.calls(record))


def _check(files: Folder, record: Record) -> None:
    """Raise OSError where the folder holds what a pack would not."""
    known = {str(member.path) for member in _members(files, record)}
    known |= {str(place) for place in folders_of(files.folder, record)}
    for path, folders, names in os.walk(files.folder):
        for name in (*folders, *names):
            other = os.path.join(path, name)
            if other not in known and not name.endswith((".new", SHELL_ENDING, UNCLOSED)):
                raise OSError(errno.EINVAL, f"{other} is none of provio's files")


def _add(archive: tarfile.TarFile, run: str, member: RunFile, going: bool) -> None:
    told = tarfile.TarInfo("/".join(part for part in (run, member.host, member.name) if part))
    told.mode, data = 0o600, b""
    if member.gap is not None:
        told.type, told.linkname = tarfile.SYMTYPE, member.gap
    else:
        data, told.mtime = _unwritten(member.path, going)
        told.size = len(data)
    archive.addfile(told, io.BytesIO(data))


def _unwritten(path: Path, going: bool) -> tuple[bytes, int]:
    """The bytes of a file, and when it last changed. The kernel leases a file for reading only where nobody at all, in
    whichever container, has it open or mapped for writing."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST:
            raise OSError(errno.EFBIG, f"{path} is no plain file, or too large")
        try:
            if not going:
                fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
                fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except BlockingIOError:
            raise OSError(errno.EBUSY, f"{path} is still written") from None
        except OSError:
            pass  # a file system without leases: the processes were looked for
        return file.read(), int(found.st_mtime)
