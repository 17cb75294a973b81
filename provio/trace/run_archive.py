"""A run packed into one file, read: a tar archive compressed by xz in, the files of the run out.

tar tells links from files and can be read by anything; xz sees all files as one text, and thread files are much alike:
they take a thirtieth of their room, where zip, which compresses each alone, leaves a sixth. Nothing is unpacked to the
disk, no path in it is followed, and none of its sizes is believed: what is larger than `MOST` is damage.
"""

from __future__ import annotations

import errno
import fcntl
import io
import lzma
import os
import stat
import tarfile
from collections.abc import Callable, Generator, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from provio.trace.run_files import CALLS_ENDING, GAP_ENDING, HEAD, MOST, SHELL_ENDING, UNCLOSED, RunFile
from provio.trace.run_folder import Folder, folders_of

if TYPE_CHECKING:
    from provio.system.statx import Record

MEMORY = 64 << 20  # bytes that xz may take: what packs need is 2 MB
CHUNK = 1 << 16


class Pack:
    """The files of a run that is packed. Where it is damaged, the last file that it yields raises OSError."""

    fixed = True

    def __init__(self, folder: Path, place: Path) -> None:
        self.folder = folder
        self.place = place

    def head(self) -> RunFile:
        """Return `run.ttl`, which comes first: the rest is not read."""
        members = self._members()
        first = next(members)

        def load() -> bytes:
            try:
                return first.load()
            finally:
                members.close()

        is_head = not first.host and first.name == HEAD
        return RunFile("", HEAD, self.place / HEAD, load if is_head else _refusal("it does not begin with run.ttl"))

    def files(self, record: Record) -> Iterator[RunFile]:  # noqa: ARG002 (all of it is here)
        """Yield the thread files and gaps of each host, by name."""
        for member in self._members():
            if member.name.endswith(CALLS_ENDING):  # they come last
                return
            if (member.host or member.name != HEAD) and member.name != UNCLOSED:  # as one has that tar made
                yield member

    def named(self, place: Path, name: str) -> RunFile:
        """Return what raises OSError when it is loaded."""
        return RunFile(place.name, name, place / name, _refusal("it is read from its beginning to its end"))

    def calls(self, record: Record) -> Iterator[RunFile]:  # noqa: ARG002
        """Yield the files of single calls."""
        return (member for member in self._members() if member.name.endswith(CALLS_ENDING))

    def changed(self) -> int:
        """Return when it was last changed."""
        return self.place.stat().st_mtime_ns

    def extent(self) -> tuple[int, int]:
        """Return the bytes on the disk, and that it is one file."""
        return self.place.stat().st_blocks * 512, 1

    def _members(self) -> Generator[RunFile]:
        """All that is in it, in order; where it is damaged, lastly a file that says so."""
        try:
            with self.place.open("rb") as file:
                stream = _Stream(file)
                with tarfile.open(fileobj=cast(BinaryIO, stream), mode="r|", errors="surrogateescape") as archive:
                    while member := archive.next():
                        yield self._file(archive, member)
                        archive.members.clear()  # type: ignore[attr-defined]  # it would remember each
                        stream.left = MOST
                while stream.read(CHUNK):  # the checksum comes last
                    pass
        except (OSError, ValueError, EOFError, lzma.LZMAError, tarfile.TarError) as error:
            yield RunFile("", self.place.name, self.place, _refusal(getattr(error, "strerror", None) or str(error)))

    def _file(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> RunFile:
        """A member by the parts of its name; of one that is not as packs are made, why it cannot be loaded."""
        run, *hosts, name = member.name.split("/")
        host = hosts[0] if hosts else ""
        path = self.place / host / name
        is_gap = member.issym() and name.endswith(GAP_ENDING)
        if run != self.folder.name or len(hosts) > 1 or {host, name} & {".", ".."} or not (member.isreg() or is_gap):
            return RunFile(host, name, self.place, _refusal(f"{member.name!r} does not belong in it"))
        if is_gap:
            return RunFile(host, name, path, bytes, member.linkname)
        return RunFile(host, name, path, lambda: _read(archive, member))


def _read(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    try:
        held = archive.extractfile(member)
        return held.read() if held else b""
    except (ValueError, EOFError, lzma.LZMAError, tarfile.TarError) as error:
        raise OSError(errno.EIO, f"the pack is damaged here: {error}") from error


def _refusal(reason: str) -> Callable[[], bytes]:
    """What loads nothing, and says why."""

    def load() -> bytes:
        raise OSError(errno.EIO, f"the pack is damaged: {reason}")

    return load


class _Stream:
    """The archive within the compressed file; raises ValueError where more than `left` bytes are asked for."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.left = MOST
        self.decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY)

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""
        self.left -= size
        if self.left < 0:
            raise ValueError("a file in it is too large")
        pieces: list[bytes] = []
        while size and not self.decompressor.eof:
            data = self.file.read(CHUNK) if self.decompressor.needs_input else b""
            if not data and self.decompressor.needs_input:
                raise EOFError("it ends too soon")
            pieces.append(self.decompressor.decompress(data, size))
            size -= len(pieces[-1])
        return b"".join(pieces)


# A run packed into one file, written: a run folder in, a tar archive compressed by xz out.


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
