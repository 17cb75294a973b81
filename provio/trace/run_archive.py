"""Reads and writes the archive of a run: a tar file, compressed by xz.

tar distinguishes links from files and is readable by many programs. xz compresses all files together, and thread files
are similar: they shrink to a thirtieth, while zip, which compresses each file separately, leaves a sixth. Nothing is
unpacked to the disk, no path in the archive is followed, and its sizes are not trusted: a file larger than `MOST`, an
archive that expands too much and a file with holes are damage, found before they take memory.
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

from provio.trace.run_source import (
    CALLS_ENDING,
    EVENTS_ENDING,
    GAP_ENDING,
    HEAD,
    LARGE,
    LIST,
    MACHINE_FACTS,
    OUTPUT_ENDING,
    SHELL_ENDING,
    TERMINAL_ENDING,
    UNCLOSED,
    VALUE_FILES,
    WHOLE,
    Folder,
    RunFile,
    folders_of,
)

if TYPE_CHECKING:
    from provio.system.statx import Record

MOST = 1 << 33  # bytes of one file
HEADER = 1 << 20  # bytes of the headers of one file; names are in them
# An archive may expand to FREE bytes, and to EXPANDS bytes for each byte of its own: that of a run has 30, zeros 7,000.
FREE, EXPANDS = 256 << 20, 1000
MEMORY = 64 << 20  # bytes that xz may use; archives of runs need 2 MB
CHUNK = 1 << 16


class Archive:
    """The files of an archived run. If the archive is damaged, the last file that it yields raises OSError."""

    fixed = True

    def __init__(self, folder: Path, place: Path) -> None:
        self.folder = folder
        self.place = place

    def head(self) -> RunFile:
        """Return `run.ttl`, the first member; the rest is not read."""
        members = self._members()
        first = next(members)

        def load() -> bytes:
            try:
                return first.load()
            finally:
                members.close()

        is_head = not first.host and first.name == HEAD
        return RunFile("", HEAD, self.place / HEAD, load if is_head else _refusal("it does not begin with run.ttl"))

    def files(self, record: Record) -> Iterator[RunFile]:  # noqa: ARG002 (an archive is complete)
        """Yield the thread files and gaps of each host, by name."""
        for member in self._members():
            if member.name.endswith((EVENTS_ENDING, CALLS_ENDING, OUTPUT_ENDING)):  # these are the last members
                return
            # An archive by tar(1) may contain the lists that are used only at the end of the run, at any place.
            if (member.host or member.name != HEAD) and member.name not in (UNCLOSED, VALUE_FILES, *MACHINE_FACTS):
                yield member

    def named(self, place: Path, name: str) -> RunFile:
        """Return a file that raises OSError when it is loaded."""
        return RunFile(place.name, name, place / name, _refusal("it is read from its beginning to its end"))

    def calls(self, record: Record) -> Iterator[RunFile]:  # noqa: ARG002
        """Yield the files of single calls."""
        return (member for member in self._members() if member.name.endswith(CALLS_ENDING))

    def events(self, record: Record) -> Iterator[RunFile]:  # noqa: ARG002
        """Yield the files of events of parallel frameworks."""
        return (member for member in self._members() if member.name.endswith(EVENTS_ENDING))

    def outputs(self, record: Record) -> Iterator[RunFile]:  # noqa: ARG002
        """Yield the files with the standard output and error of the run."""
        return (member for member in self._members() if member.name.endswith(OUTPUT_ENDING))

    def machine_facts(self, record: Record) -> Iterator[RunFile]:  # noqa: ARG002
        """Yield the files with the facts of the machines and of the batch job."""
        return (member for member in self._members() if member.name in MACHINE_FACTS)

    def changed(self) -> int:
        """Return the time of its last change."""
        return self.place.stat().st_mtime_ns

    def extent(self) -> tuple[int, int]:
        """Return the bytes on the disk, and 1 file."""
        return self.place.stat().st_blocks * 512, 1

    def _members(self) -> Generator[RunFile]:
        """Yield all members in order; after damage, a file that raises OSError."""
        try:
            with self.place.open("rb") as file:
                stream = _Stream(file, self.place.stat().st_size)
                with tarfile.open(fileobj=cast(BinaryIO, stream), mode="r|", errors="surrogateescape") as archive:
                    member, data = archive.next(), archive.fileobj
                    while member:
                        if member.sparse is not None or member.size < 0:  # its content is larger than its data
                            raise ValueError("a file in it has holes")
                        stream.left = MOST
                        yield self._file(archive, member)
                        archive.members.clear()  # type: ignore[attr-defined]  # it would keep every member
                        if data.tell() < archive.offset:
                            data.seek(archive.offset)  # skips the rest of the member
                        stream.left = HEADER
                        member = archive.next()
                while stream.read(CHUNK):  # the checksum comes last
                    pass
        except (OSError, ValueError, EOFError, RecursionError, lzma.LZMAError, tarfile.TarError) as error:
            yield RunFile("", self.place.name, self.place, _refusal(getattr(error, "strerror", None) or str(error)))

    def _file(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> RunFile:
        """Return a member by the parts of its name; a member that `write` does not make raises OSError on load."""
        run, *hosts, name = member.name.split("/")
        host = hosts[0] if hosts else ""
        path = self.place / host / name
        is_gap = member.issym() and name.endswith(GAP_ENDING)
        if run != self.folder.name or len(hosts) > 1 or {host, name} & {".", ".."} or not (member.isreg() or is_gap):
            return RunFile(host, name, self.place, _refusal(f"{member.name!r} does not belong in it"))
        if is_gap:
            return RunFile(host, name, path, bytes, member.linkname)
        begun: list[tarfile.TarInfo] = []

        def parts() -> Iterator[bytes]:
            if begun:  # it can be read only forward
                yield from self._again(host, name)
            else:
                begun.append(member)
                yield from _parts(archive, member)

        return RunFile(
            host, name, path, lambda: _read(member, parts), None, parts if member.size > LARGE else lambda: None
        )

    def _again(self, host: str, name: str) -> Iterator[bytes]:
        """Yield the parts of a member from the beginning of the archive."""
        for member in self._members():
            if (member.host, member.name) == (host, name):
                yield from member.parts() or [member.load()]
                return
        raise OSError(errno.EIO, "the archive is damaged")


def _parts(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    """Yield the parts of a member; raises OSError."""
    try:
        held = archive.extractfile(member)
        while held and (part := held.read(LARGE // 4)):
            yield part
    except (ValueError, EOFError, lzma.LZMAError, tarfile.TarError) as error:
        raise OSError(errno.EIO, f"the archive is damaged here: {error}") from error


def _read(member: tarfile.TarInfo, parts: Callable[[], Iterator[bytes]]) -> bytes:
    if member.size > WHOLE:
        raise OSError(errno.EFBIG, f"is too large: more than {WHOLE >> 20} MiB")
    return b"".join(parts())


def _refusal(reason: str) -> Callable[[], bytes]:
    """Return a `load` that raises OSError with a reason."""

    def load() -> bytes:
        raise OSError(errno.EIO, f"the archive is damaged: {reason}")

    return load


class _Stream:
    """The decompressed archive; raises ValueError after `left` bytes, and if it expands too much."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.file = file
        self.left = HEADER
        self.all = FREE + EXPANDS * size  # bytes that the archive may still have
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
            self.all -= len(pieces[-1])
            if self.all < 0:
                raise ValueError(f"it expands to more than {EXPANDS} times its size")
        return b"".join(pieces)


PRESET = 1  # of xz: takes a seventh of the default preset's time, and a seventh more space


def write(folder: Path, record: Record, target: Path, going: bool = False) -> None:
    """Write the archive of a run folder, and sync it to the disk. Raises OSError for a file that is still being written
    or does not belong to a run, unless the run may be in progress (`going`)."""
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
    """Sync the renames in a folder to the disk."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _members(files: Folder, record: Record) -> Iterator[RunFile]:
    last = (files.events, files.calls, files.outputs, files.machine_facts)
    return chain([files.head()], files.files(record), *(kind(record) for kind in last))


def _check(files: Folder, record: Record) -> None:
    """Raise OSError if the folder has entries that the archive would not contain."""
    known = {str(member.path) for member in _members(files, record)}
    known |= {str(place) for place in folders_of(files.folder, record)}
    for path, folders, names in os.walk(files.folder):
        for name in (*folders, *names):
            other = os.path.join(path, name)
            if other not in known and not name.endswith((".new", SHELL_ENDING, UNCLOSED, VALUE_FILES, TERMINAL_ENDING)):
                raise OSError(errno.EINVAL, f"{other} is not a file of provio")


def _add(archive: tarfile.TarFile, run: str, member: RunFile, going: bool) -> None:
    info = tarfile.TarInfo("/".join(part for part in (run, member.host, member.name) if part))
    info.mode = 0o600
    if member.gap is not None:
        info.type, info.linkname = tarfile.SYMTYPE, member.gap
        archive.addfile(info)
        return
    if member.name == LIST:  # as it was before the folder was searched
        data = member.load()
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
        return
    with open(os.open(member.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        found = _unwritten(file, member.path, going)
        info.size, info.mtime = found.st_size, int(found.st_mtime)
        archive.addfile(info, file)  # raises OSError if it is shorter by now


def _unwritten(file: BinaryIO, path: Path, going: bool) -> os.stat_result:
    """Return the status of a file; raises OSError if it is still being written. The kernel grants a read lease only if
    no process, in any container, has the file open or mapped for writing."""
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode) or found.st_size > MOST:
        raise OSError(errno.EFBIG, f"{path} is no regular file, or larger than {MOST >> 30} GiB")
    try:
        if not going:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        raise OSError(errno.EBUSY, f"{path} is still being written") from None
    except OSError:
        pass  # a file system without leases: the caller has checked the processes
    return found
