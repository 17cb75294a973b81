"""A run folder, and the folder in shared memory where its live files may be: a folder in, its files out."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from provio.trace.run_files import CALLS_ENDING, GAP_ENDING, HEAD, MOST, UNCLOSED, RunFile

if TYPE_CHECKING:
    from provio.system.statx import Record


THREAD_FILE = 4  # dots in the name of one: <pid>.<tick>.<n>.<k>.ttl
LARGE = 4 << 20  # bytes, of which a file is read in parts


class Folder:
    """The files of a run that is not packed."""

    fixed = False

    def __init__(self, folder: Path) -> None:
        self.folder = self.place = folder

    def head(self) -> RunFile:
        """Return `run.ttl`."""
        path = self.folder / HEAD
        return RunFile("", HEAD, path, lambda: content(path))

    def files(self, record: Record) -> Iterator[RunFile]:
        """Yield the thread files and gaps of each host, by name."""
        for place in sorted(folders_of(self.folder, record)):
            entries = _entries(place)
            yield from (_file(place, entry) for entry in entries if _is_turtle(entry) or _is_gap(entry))

    def named(self, place: Path, name: str) -> RunFile:
        """Return the file of a name in a folder of the run."""
        return named(place, name)

    def calls(self, record: Record) -> Iterator[RunFile]:
        """Yield the files of single calls."""
        for place in sorted(folders_of(self.folder, record)):
            yield from (_file(place, entry) for entry in _entries(place) if _is_calls(entry))

    def changed(self) -> int:
        """Return when anything in the run folder, or in shared memory, last changed."""
        return max((found.st_mtime_ns for found in self._all()), default=0)

    def changes(self, record: Record) -> str:
        """Return what differs as soon as something more is recorded or closed. Of thread files times do not tell, for a
        store through a map need not change them."""
        count, changed = 1, os.lstat(self.head().path).st_mtime_ns
        for place in folders_of(self.folder, record):
            for entry in os.scandir(place):
                if entry.name != UNCLOSED and not entry.name.endswith(CALLS_ENDING):
                    count, changed = count + 1, changed + _changes_of(entry)
        return f"{count} {changed}"

    def extent(self) -> tuple[int, int]:
        """Return the bytes that the run folder takes, in shared memory too, and the number of its files."""
        found = list(self._all())
        return sum(each.st_blocks * 512 for each in found), sum(not stat.S_ISDIR(each.st_mode) for each in found)

    def has_large(self) -> bool:
        """Tell whether one of its files is read in parts."""
        return any(stat.S_ISREG(each.st_mode) and each.st_size > LARGE for each in self._all())

    def text(self, enough: int) -> int:
        """Return the bytes of Turtle in it, without the `#` that fill up what a thread had gained ahead; of more than
        `enough` not all."""
        found = 0
        for root in (self.folder, shared_memory() / self.folder.name):
            for place, _, files in os.walk(root):
                for name in (one for one in files if one.endswith(".ttl") and not one.endswith(CALLS_ENDING)):
                    with contextlib.suppress(OSError):  # taken away meanwhile, or no plain file
                        data = content(Path(place, name))
                        found += len(data) - data.count(b"#")
                    if found > enough:
                        return found
        return found

    def _all(self) -> Iterator[os.stat_result]:
        """All that is there; what somebody takes away meanwhile is not."""
        names = [str(self.folder)]
        for root in (self.folder, shared_memory() / self.folder.name):
            for path, folders, files in os.walk(root):
                names += [os.path.join(path, name) for name in (*folders, *files)]
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                yield os.lstat(name)


def _changes_of(entry: os.DirEntry[str]) -> int:
    """The number of changes that a thread file begins with; of what has none, when it last changed."""
    if entry.name.count(".") != THREAD_FILE or not entry.name.endswith(".ttl"):
        return entry.stat(follow_symlinks=False).st_mtime_ns
    fd = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        digits = os.pread(fd, 32, 0)[16:]
        return int(digits) if digits.isdigit() else os.fstat(fd).st_mtime_ns
    finally:
        os.close(fd)


def shared_memory() -> Path:
    """Return the folder that holds a user's run folders in shared memory."""
    return Path(f"/dev/shm/provio-{os.geteuid()}")  # noqa: S108 (owner and type are checked where it is used)


def put(target: Path, text: str) -> None:
    """Write a file of a run folder, as a whole or not at all; a link that lies in wait there is not followed."""
    temporary, data = target.with_suffix(".new"), memoryview(text.encode())
    file = _new(temporary)  # the bare calls: the end of each run pays for others
    try:
        while data:
            data = data[os.write(file, data) :]
    finally:
        os.close(file)
    os.replace(temporary, target)


def _new(path: Path) -> int:
    """Open a file that was not there; what was goes."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o666)
    except FileExistsError:
        path.unlink()
        return os.open(path, flags, 0o666)


def folders_of(run_folder: Path, record: Record) -> list[Path]:
    """Return the folders that hold thread files of a run: one a host, here and where live files were kept."""
    roots = [run_folder]
    elsewhere = Path(record.get("traceFolder", "/").replace("\0", ""))
    if elsewhere.name == run_folder.name and _same_owner(elsewhere, run_folder):
        roots.append(elsewhere)
    try:
        return [Path(entry.path) for root in roots for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _same_owner(elsewhere: Path, run_folder: Path) -> bool:
    """Whether it is a folder, and no link to one, of whom the run is: another's would be made to speak for it."""
    try:
        found = os.lstat(elsewhere)
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.stat(run_folder).st_uid
    except OSError:
        return False


def _entries(place: Path) -> list[os.DirEntry[str]]:
    try:
        return sorted(os.scandir(place), key=lambda entry: entry.name)
    except OSError:
        return []


def _is_turtle(entry: os.DirEntry[str]) -> bool:
    """What is no plain file is none, nor is one of single calls."""
    named = entry.name.endswith(".ttl") and not entry.name.endswith(CALLS_ENDING)
    return named and entry.is_file(follow_symlinks=False)


def _is_calls(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(CALLS_ENDING) and entry.is_file(follow_symlinks=False)


def _is_gap(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(GAP_ENDING) and entry.is_symlink()


def _file(place: Path, entry: os.DirEntry[str]) -> RunFile:
    return named(place, entry.name)


def named(place: Path, name: str) -> RunFile:
    """Return the file of a name in a folder of a run."""
    path = place / name
    if name.endswith(GAP_ENDING):
        return RunFile(place.name, name, path, bytes, os.readlink(path))
    return RunFile(place.name, name, path, lambda: content(path), None, lambda: parts(path))


def content(path: Path) -> bytes:
    """Return the bytes of a plain file; raises OSError for what is none (a FIFO there would wait for ever), for a link
    in its place, and for what is too large to have been written by a thread."""
    with _opened(path) as file:
        return file.read(_size(file) + 1)  # a buffer of that size is made at once


def parts(path: Path) -> Iterator[bytes] | None:
    """Return the bytes of a plain file that is large, one part after the other; None of any other."""
    return _parts(path) if os.stat(path).st_size > LARGE else None


def _parts(path: Path) -> Iterator[bytes]:
    with _opened(path) as file:
        left = _size(file)
        while left > 0 and (part := file.read(min(left, LARGE // 4))):
            left -= len(part)
            yield part


def _opened(path: Path) -> BinaryIO:
    return open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb")


def _size(file: BinaryIO) -> int:
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "is no plain file")
    if found.st_size > MOST:
        raise OSError(errno.EFBIG, "is too large")
    return found.st_size
