"""The files of a run, by its folder: in the folder itself and in shared memory, or in an archive next to it.

    run_source     the interface for readers, and the files of a run folder
    run_archive    the files of an archive, `<run id>.tar.xz`
    run_snapshot   a copy of a run's files that can be read twice

Both sources give the same files in the same order, so that the graphs made of them are equal to the byte.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from provio.base.records import frozen, pattern
from provio.settings import moves
from provio.settings.home import NAME, PACKED, RUN_ID

if TYPE_CHECKING:
    from provio.settings.home import Home
    from provio.system.statx import Record

CALLS_ENDING = ".calls.ttl"
EVENTS_ENDING = ".events"
GAP_ENDING = ".gap"
# Facts of a host (`provio.record.machine_facts`), and the uncommitted changes (`provio.record.git_diff`).
MACHINE, JOB, DIFF = MACHINE_FACTS = ("machine.json", "job.txt", "git.diff")
OUTPUT_ENDING = ".output"  # the standard output and error of a run
SHELL_ENDING = ".session"  # the identity of a shell that is recorded from some point on
HEAD = "run.ttl"
UNCLOSED = "unclosed"  # the list of open files that the processes of a run keep, used only at the end of the run
VALUE_FILES = "value-files"  # the names of files with parameters or metrics, used only at the end of the run
UNREAD = (UNCLOSED, VALUE_FILES, *MACHINE_FACTS, MACHINE + ".new")  # files on which no merge depends
TERMINAL_ENDING = ".terminal"  # the marks of terminals that a process of the run opened, used only during the run
RULES = 28  # increased when the same trace files give another graph: older merged runs are then merged again
LIST = "threads"  # the list of the thread files of a host
# <pid>.<tick>.<n>.<k>.ttl; where the thread continued in another file, <pid>.<tick>.<n>.<k>.<m>.ttl
THREAD_FILE = pattern(
    r"(?P<first>(?P<image>[0-9]{1,20}\.[0-9]{1,20}\.[0-9]{1,20})\.[0-9]{1,20})(?:\.(?P<part>[0-9]{1,20}))?\.ttl"
)
LARGE = 4 << 20  # bytes from which on a file is read in parts
DOTS = 5  # in the name of a file in which a thread continued
WHOLE = 256 << 20  # bytes of a file that is read as a whole; a larger one is damage
LARGEST = 1 << 36  # bytes of a file that is read in parts
AGE = 3600  # seconds: a younger run may still be inspected by its user, or written
KEPT = 500  # folders that remain in any case, even of runs older than AGE
NOTES = "unpacked"  # folder of the reasons why runs were not archived
AGAIN = 24 * 3600  # seconds until the next attempt
TAKEN = ".packed"  # ending of a run folder that is archived and being removed


@frozen
class RunFile:
    """One file of a run: its host (empty for `run.ttl`), its name, and its path for error messages.

    `load` returns the bytes, or raises OSError. An archive is read once from start to end: call `load` before you take
    the next file. A gap has its reason in `gap`, and no content. `parts` returns the bytes of a large file in parts,
    and None for a small file; in an archive, call it again only through `load`.
    """

    host: str
    name: str
    path: Path
    load: Callable[[], bytes]
    gap: str | None = None
    parts: Callable[[], Iterator[bytes] | None] = lambda: None


class RunFiles(Protocol):
    """The files of one run. `record` is its record in `run.ttl`, which may name a second folder."""

    folder: Path  # the run folder, or the one that was archived; its name is the run's id
    place: Path  # the folder or archive that has the files now
    fixed: bool  # whether they cannot change while they are read

    def head(self) -> RunFile:
        """Return `run.ttl`."""

    def files(self, record: Record) -> Iterator[RunFile]:
        """Yield thread files, gaps and the files of post-processing, by host and name; before them, the list of each
        host's thread files, as it was before the folder was searched."""

    def named(self, place: Path, name: str) -> RunFile:
        """Return a file again, by the folder and the name of its path; an archive needs a `Snapshot` for that."""

    def calls(self, record: Record) -> Iterator[RunFile]:
        """Yield the files of single calls, in the same order."""

    def events(self, record: Record) -> Iterator[RunFile]:
        """Yield the files of events of parallel frameworks, in the same order."""

    def outputs(self, record: Record) -> Iterator[RunFile]:
        """Yield the files with the standard output and error of the run, in the same order."""

    def machine_facts(self, record: Record) -> Iterator[RunFile]:
        """Yield the files with the facts of the machines and of the batch job, in the same order."""

    def changed(self) -> int:
        """Return the time of the last change (ns since 1970), by the files' times."""

    def extent(self) -> tuple[int, int]:
        """Return the bytes on the disk, and the number of files."""


def of(folder: Path) -> RunFiles:
    """Return the files of a run: of the folder, or of the archive if there is no folder."""
    archive = archive_of(folder)
    if folder.is_dir() or not archive.is_file():
        return Folder(folder)
    return archived_in(folder, archive)


def archived_in(folder: Path, place: Path) -> RunFiles:
    """Return the files of a run in the archive `place`."""
    from provio.trace.run_archive import Archive  # slow to import, and most merged runs are new

    return Archive(folder, place)


def exists(folder: Path) -> bool:
    """Return whether a run has a folder or an archive."""
    return folder.is_dir() or archive_of(folder).is_file()


def snapshot(source: RunFiles, record: Record, folder: Path) -> RunFiles:
    """Return a copy of a run's files as they are now, in a file without a name in `folder`; raises OSError."""
    from provio.trace.run_snapshot import Snapshot

    return Snapshot(source, record, folder)


def archive_of(folder: Path) -> Path:
    """Return the path of a run's archive, if there is one."""
    return folder.with_name(folder.name + PACKED)


def rules(conclusions: str) -> str:
    """Return the inputs of a graph besides its trace files and the place of its project: the merge rules, and the
    project's settings that affect conclusions (`Config.conclusions`)."""
    return ".".join(filter(None, (str(RULES), conclusions)))


def rules_of(home: Home, conclusions: str) -> str:
    """Return the inputs of all graphs besides their trace files: `rules`, and the places of the projects. A record in
    no project, such as a backup, keeps the places by which it was merged."""
    own, (place, last) = rules(conclusions), moves.key(home)
    marked = home.marked_rules()
    kept = home.path.name != NAME and marked.startswith(f"{own}@") and marked.endswith(f"@{last}")
    return marked if kept else f"{own}@{place}@{last}"


def pending(home: Home, conclusions: str = "") -> list[Path]:
    """Return the run folders that are not merged or have changed since, by their times; all if there is no store, or
    they may have been merged by other rules, as by another version of provio."""
    folders = home.run_folders()
    there = (home.snapshots / "current").exists() and home.store.exists()
    if not there or rules_of(home, conclusions) != home.marked_rules():
        return folders
    times = home.mark_times()
    now = time.time_ns()  # a later mark was set before the clock was set back: it is ignored
    return [folder for folder in folders if not of(folder).changed() <= times.get(folder.name, -1) <= now]


def due(home: Home, now: float) -> list[Path]:
    """Return the run folders that are due to be archived at `now` (seconds since 1970), oldest first. The decision
    uses only names and marks: a run that is not merged is not archived."""
    try:
        names = sorted(e.name for e in os.scandir(home.runs) if RUN_ID.fullmatch(e.name))
    except OSError:
        return []
    old = [name for place, name in enumerate(names) if start_time(name) < now - AGE or place < len(names) - KEPT]
    return [home.runs / name for name in old if (home.marks / name).exists() and not _tried(home, name, now)]


def start_time(run: str) -> float:
    """Return when a run started (seconds since 1970), from its id (RFC 9562: it starts with the milliseconds)."""
    return int(run[:8] + run[9:13], 16) / 1000


def _tried(home: Home, run: str, now: float) -> bool:
    try:
        return (home.path / NOTES / run).stat().st_mtime > now - AGAIN
    except OSError:
        return False


class Folder:
    """The files of a run that is not archived."""

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
            yield from lists(place)
            entries = _entries(place)
            yield from (_file(place, entry) for entry in entries if _is_turtle(entry) or _is_gap(entry))

    def named(self, place: Path, name: str) -> RunFile:
        """Return the file of a name in a folder of the run."""
        return named(place, name)

    def calls(self, record: Record) -> Iterator[RunFile]:
        """Yield the files of single calls."""
        for place in sorted(folders_of(self.folder, record)):
            yield from (_file(place, entry) for entry in _entries(place) if _is_calls(entry))

    def events(self, record: Record) -> Iterator[RunFile]:
        """Yield the files of events of parallel frameworks."""
        for place in sorted(folders_of(self.folder, record)):
            yield from (_file(place, entry) for entry in _entries(place) if _is_events(entry))

    def outputs(self, record: Record) -> Iterator[RunFile]:
        """Yield the files with the standard output and error of the run."""
        for place in sorted(folders_of(self.folder, record)):
            yield from (_file(place, entry) for entry in _entries(place) if _is_output(entry))

    def machine_facts(self, record: Record) -> Iterator[RunFile]:
        """Yield the files with the facts of the machines and of the batch job."""
        for place in sorted(folders_of(self.folder, record)):
            yield from (_file(place, entry) for entry in _entries(place) if entry.name in MACHINE_FACTS)

    def changed(self) -> int:
        """Return when anything in the run folder, or in shared memory, last changed."""
        return max((found.st_mtime_ns for found in self._all()), default=0)

    def changes(self, record: Record) -> str:
        """Return a text that changes with every new record or close. The times of thread files are not sufficient: a
        store through a memory map need not change them."""
        count, changed = 1, os.lstat(self.head().path).st_mtime_ns
        for place in folders_of(self.folder, record):
            for entry in os.scandir(place):
                if entry.name not in UNREAD and not entry.name.endswith(CALLS_ENDING):
                    count, changed = count + 1, changed + _changes_of(entry)
        return f"{count} {changed}"

    def extent(self) -> tuple[int, int]:
        """Return the bytes of the run folder, including shared memory, and the number of its files."""
        found = list(self._all())
        return sum(each.st_blocks * 512 for each in found), sum(not stat.S_ISDIR(each.st_mode) for each in found)

    def has_large(self) -> bool:
        """Return whether one of its files is read in parts."""
        return any(stat.S_ISREG(each.st_mode) and each.st_size > LARGE for each in self._all())

    def text(self, enough: int) -> int:
        """Return the bytes of Turtle in it, without the `#` of unused space in thread files; stop counting above
        `enough`."""
        found = 0
        for root in (self.folder, shared_memory() / self.folder.name):
            for place, _, files in os.walk(root):
                for name in (one for one in files if one.endswith(".ttl") and not one.endswith(CALLS_ENDING)):
                    with contextlib.suppress(OSError):  # just removed, or no plain file
                        for data in _parts(Path(place, name)):
                            found += len(data) - data.count(b"#")
                            if found > enough:
                                return found
        return found

    def _all(self) -> Iterator[os.stat_result]:
        """Yield the status of everything in it; entries that are removed in the meantime are skipped."""
        names = [str(self.folder)]
        for root in (self.folder, shared_memory() / self.folder.name):
            for path, folders, files in os.walk(root):
                names += [os.path.join(path, name) for name in (*folders, *files)]
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                yield os.lstat(name)


def _changes_of(entry: os.DirEntry[str]) -> int:
    """Return the number of changes at the start of a thread file; of any other file, the time of its last change."""
    if not THREAD_FILE.fullmatch(entry.name):
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
    """Write a file of a run folder atomically; a link that an attacker put there is not followed."""
    temporary, data = target.with_suffix(".new"), memoryview(text.encode())
    file = _new(temporary)  # system calls only: io is slow to import at the end of a run
    try:
        while data:
            data = data[os.write(file, data) :]
    except OSError:
        os.unlink(temporary)
        raise
    finally:
        os.close(file)
    os.replace(temporary, target)


def _new(path: Path) -> int:
    """Create a file; an existing one is removed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o666)
    except FileExistsError:
        path.unlink()
        return os.open(path, flags, 0o666)


def folders_of(run_folder: Path, record: Record) -> list[Path]:
    """Return the folders with thread files of a run, one for each host, in the run folder and in `traceFolder`."""
    roots = [run_folder]
    elsewhere = Path(record.get("traceFolder", "/").replace("\0", ""))
    if elsewhere.name == run_folder.name and _same_owner(elsewhere, run_folder):
        roots.append(elsewhere)
    try:
        return [Path(entry.path) for root in roots for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _same_owner(elsewhere: Path, run_folder: Path) -> bool:
    """Return whether it is a folder, not a link, of the run's owner: other users must not add to the run."""
    try:
        found = os.lstat(elsewhere)
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.stat(run_folder).st_uid
    except OSError:
        return False


def lists(place: Path) -> Iterator[RunFile]:
    """Yield the list of the thread files in a folder, as it is now; nothing if there is none."""
    path = place / LIST
    try:
        data = content(path)
    except FileNotFoundError:
        return
    except OSError:  # raised again where it is read
        yield RunFile(place.name, LIST, path, lambda: content(path))
        return
    yield RunFile(place.name, LIST, path, lambda: data)


def _entries(place: Path) -> list[os.DirEntry[str]]:
    try:
        return sorted(os.scandir(place), key=lambda entry: _order(entry.name))
    except OSError:
        return []


def _order(name: str) -> tuple[str, int]:
    """Return the place of a file among the others: the files in which a thread continued follow its first one."""
    thread = THREAD_FILE.fullmatch(name) if name.count(".") == DOTS else None
    return (f"{thread['first']}.ttl", int(thread["part"])) if thread else (name, 0)


def _is_turtle(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a plain Turtle file, except those of single calls."""
    named = entry.name.endswith(".ttl") and not entry.name.endswith(CALLS_ENDING)
    return named and entry.is_file(follow_symlinks=False)


def _is_calls(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(CALLS_ENDING) and entry.is_file(follow_symlinks=False)


def _is_events(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(EVENTS_ENDING) and entry.is_file(follow_symlinks=False)


def _is_output(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(OUTPUT_ENDING) and entry.is_file(follow_symlinks=False)


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
    """Return the bytes of a plain file; raises OSError for a link, for another kind of file (a FIFO would block for
    ever), and for a file that is too large to be read as a whole."""
    with _opened(path) as file:
        return file.read(_size(file, WHOLE) + 1)  # one buffer of the right size


def parts(path: Path) -> Iterator[bytes] | None:
    """Return an iterator over the parts of a large file; None for any other file."""
    return _parts(path) if os.stat(path).st_size > LARGE else None


def _parts(path: Path) -> Iterator[bytes]:
    with _opened(path) as file:
        left = _size(file, LARGEST)
        while left > 0 and (part := file.read(min(left, LARGE // 4))):
            left -= len(part)
            yield part


def _opened(path: Path) -> BinaryIO:
    return open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb")


def _size(file: BinaryIO, most: int) -> int:
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "is no regular file")
    if found.st_size > most:
        raise OSError(errno.EFBIG, f"is too large: more than {most >> 20} MiB")
    return found.st_size
