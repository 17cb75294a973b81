"""Checks the recorded runs for damage, and whether the store contains them; it only reads.

A run that is merged has its damages in its mark, and one that has changed since is pending, so only pending runs are
read: the newest, up to a limit. Of the others, permissions and the ends of archives are checked. With `--record`, all
runs and the whole store are read.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from provio.base.errors import ProvioError
from provio.base.records import frozen
from provio.base.text import plural, shorter_path, size
from provio.base.vocab import local_name
from provio.doctor import Finding, Place, check, note, ok, problem
from provio.merge import job
from provio.merge.removal import ALL_RUNS
from provio.settings import home as homes
from provio.settings import load, schema
from provio.settings.home import Home
from provio.store import Damaged, served
from provio.store import pending as pending_runs
from provio.store.embedded.reader import StoreReader
from provio.trace import liveness, read, run_source
from provio.trace.thread_files import LOST

NAMED = 5  # damaged things that are named
RUNS, BYTES = 200, 32 << 20  # pending runs that are read, and their bytes
FILES = 20_000  # files with permissions that are checked
BEAT = 5.0  # seconds after which a merge that is running has updated the time of its lock
MAGIC, END, SHORTEST = b"\xfd7zXZ\0", b"YZ", 32  # of an xz file: its first and last bytes, and its least size
DAMAGE = re.compile(r"(?P<path>.*?):(?P<line>\d+): (?P<reason>.*)", re.DOTALL)
REBUILD = "provio merge --rebuild"


@frozen
class Broken:
    """A damaged file or folder, the reason, and the remedy."""

    path: str
    reason: str
    remedy: str


@check("damage")
def check_damage(place: Place) -> Iterator[Finding]:
    """Yield the damaged runs, with the data that is lost, and the runs that the store lacks."""
    if not place.home.runs.is_dir():
        return
    settings = load.load(homes.project_folders(Path.cwd()), forgive=lambda _: None, shown=True)
    home = served(place.home, settings)
    yield from _killed_merge(home)
    with contextlib.suppress(ProvioError):  # `store` reports that it cannot be opened
        yield from _runs(home, settings, place.thorough)
        if not home.server and (home.snapshots / "current").exists():
            yield from _in_store(home, StoreReader(home), place.thorough)


def _runs(home: Home, settings: schema.Config, thorough: bool) -> Iterator[Finding]:
    survey = _Survey(home, settings, thorough)
    found = list(survey.broken())
    for one in found[:NAMED]:
        yield problem(f"{shorter_path(one.path, str(Path.cwd()))}: {one.reason}", one.remedy)
    if len(found) > NAMED:
        yield problem(f"{plural(len(found) - NAMED, 'more damaged file')}", "provio merge lists all")
    if survey.unread:
        yield note(f"{plural(survey.unread, 'pending run')} not read: more than {RUNS} or {size(BYTES)}", _thorough())
    if survey.unchecked:
        yield note(f"{plural(survey.unchecked, 'older run')} not checked: more than {FILES:,} files", _thorough())
    if not found:
        others = [f"{survey.in_progress} in progress"] * bool(survey.in_progress)
        others += [f"{survey.shut} of other users not readable"] * bool(survey.shut)
        more = f" ({', '.join(others)}: not examined)" if others else ""
        now = f", {survey.read} of them read now" if survey.read else ""
        yield ok(f"no damage known in {plural(survey.count, 'run')}{now}{more}")


def _thorough() -> str:
    return "provio doctor --record reads all runs"


class _Survey:
    """The damages of all runs, newest first; `read`, `unread` and the others are numbers of runs, valid after that."""

    def __init__(self, home: Home, settings: schema.Config, thorough: bool) -> None:
        self.home, self.settings, self.thorough = home, settings, thorough
        self.folders = home.run_folders()[::-1]
        self.pending = set(self.folders if thorough else pending_runs(home, settings))
        self.started = liveness.started_runs()
        self.bytes, self.files = BYTES, FILES
        self.count = self.read = self.unread = self.unchecked = self.in_progress = self.shut = 0

    def broken(self) -> Iterator[Broken]:
        """Yield the damaged files and folders."""
        for folder in self.folders:
            try:
                yield from self._of_run(folder)
            except FileNotFoundError:  # it was just removed or archived
                continue

    def _of_run(self, folder: Path) -> Iterator[Broken]:
        if homes.is_shut(folder):
            self.shut += 1
            return
        unreadable = list(self._unreadable(folder))
        if unreadable:
            yield from unreadable
            return
        if folder.name in self.started or (folder.is_dir() and _seems_in_progress(folder)):
            self.in_progress += 1
            return
        self.count += 1
        if folder in self.pending and self._may_read(folder):
            self.read += 1
            yield from _grouped(folder, _read(folder, self.home, self.settings))
        else:
            known = (self.home.marked(folder) or "").splitlines()
            yield from _grouped(folder, known or ([] if folder.is_dir() else _archive_ends(folder)))

    def _may_read(self, folder: Path) -> bool:
        """Return whether a pending run is within the limits."""
        if self.thorough:
            return True
        archived = job.RATIO if not folder.is_dir() else 1
        self.bytes -= run_source.of(folder).extent()[0] * archived
        if self.bytes < 0 or self.read >= RUNS:
            self.unread += 1
            return False
        return True

    def _unreadable(self, folder: Path) -> Iterator[Broken]:
        """Yield the files and folders of a run that this user may not read; their data is not lost."""
        if self.files <= 0 and not self.thorough:
            self.unchecked += 1
            return
        place = run_source.of(folder).place
        entries = [str(place)]
        for path, folders, files in os.walk(place):
            entries += [os.path.join(path, name) for name in (*folders, *files)]
        self.files -= len(entries)
        for name in entries:
            is_folder = os.path.isdir(name)
            if os.access(name, os.R_OK | (os.X_OK if is_folder else 0)) or os.path.islink(name):
                continue
            if os.path.lexists(name):  # not removed in the meantime
                yield Broken(name, "is not readable", f"chmod u+r{'x' if is_folder else ''} {name}")


def _seems_in_progress(folder: Path) -> bool:
    return liveness.seems_in_progress(folder, read.read_head(folder))


def _read(folder: Path, home: Home, settings: schema.Config) -> list[str]:
    """Return the damages of a run, as a merge would report them; its graph is made and discarded."""
    found = job.read(job.Job(folder, time.time_ns(), None), home, settings, kept=False)
    fault = found.fault
    try:
        if found.prepared:
            deque(found.prepared.pieces, maxlen=0)
    except job.FAULTS as error:
        fault = job.fault_of(error)
    return [*found.damages, *([f"{folder}:0: cannot be merged ({fault})"] if fault else [])]


def _grouped(folder: Path, damages: list[str]) -> Iterator[Broken]:
    """Yield a run's damages, one for each file, with the data that is lost."""
    by_file: dict[str, list[str]] = {}
    for line in damages:
        known = DAMAGE.fullmatch(line)
        path, reason = (known["path"], known["reason"]) if known else (str(folder), line)
        archive, packed, _ = path.partition(f"{folder.name}{homes.PACKED}")
        path = archive + packed
        where = f"line {known['line']}: " if known and known["line"] != "0" else ""
        by_file.setdefault(path, []).append(where + reason.removesuffix(f"; {LOST}"))
    for path, reasons in by_file.items():
        more = f" (and {plural(len(reasons) - 1, 'more place')})" if len(reasons) > 1 else ""
        yield Broken(path, f"{reasons[0]}{more}; {_lost(Path(path), folder)}", _remedy(folder))


def _lost(path: Path, folder: Path) -> str:
    """Return which data is lost with a damaged file."""
    thread = run_source.THREAD_FILE.fullmatch(path.name)
    if thread:
        process = thread["first"].partition(".")[0]
        return f"lost: records of process {process}, at this place; the run's other records are kept"
    if path.name == run_source.HEAD:
        return "lost: the run's command, times or exit state; the records of its processes are kept"
    if path.name.endswith(homes.PACKED):
        return "lost: the run's records from there on"
    if path == folder:
        return "lost: the run is in no answer"
    return "records may be lost"


def _remedy(folder: Path) -> str:
    return (
        "put it back from a backup, then: provio merge; or repeat the command, if these records are needed; "
        f"provio rm --lost {folder.name} removes the run"
    )


def _archive_ends(folder: Path) -> list[str]:
    """Return the damage of an archive without the first or last bytes of an xz file."""
    place = run_source.archive_of(folder)
    with place.open("rb") as file:
        length = os.fstat(file.fileno()).st_size
        if length >= SHORTEST and length % 4 == 0 and file.read(len(MAGIC)) == MAGIC:
            file.seek(-len(END), os.SEEK_END)
            if file.read() == END:
                return []
    return [f"{place}:0: the archive is damaged: it is no complete xz file"]


def _killed_merge(home: Home) -> Iterator[Finding]:
    """Yield the run at which the last merge was killed, if no merge is running."""
    try:
        run = home.merging.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    folder = home.runs / run
    if not homes.RUN_ID.fullmatch(run) or not run_source.exists(folder) or _is_merging(home):
        return
    yield problem(
        f"the last merge was killed at run {run} ({size(run_source.of(folder).extent()[0])}), which is not merged",
        f"provio merge; if it is killed again, allow it more memory, or remove the run: provio rm --lost {run}",
    )


def _is_merging(home: Home) -> bool:
    """Return whether a process holds the lock of a `.provio`."""
    try:
        if time.time() - home.lock.stat().st_mtime < BEAT:
            return True
        fd = os.open(home.lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
    return False


def _in_store(home: Home, reader: StoreReader, thorough: bool) -> Iterator[Finding]:
    """Yield the merged runs that the store lacks, and the runs that only the store has."""
    try:
        stored = {local_name(row["run"]) for row in reader.rows(ALL_RUNS)}
        if thorough:
            reader.read_all()
    except Damaged as error:
        yield problem(error.problem, REBUILD)
        return
    folders = {folder.name for folder in home.run_folders()}
    lacks = sorted(run for run in folders - stored if (home.marks / run).exists())
    if lacks:
        yield problem(
            f"the store lacks {plural(len(lacks), 'run')} that counted as merged: {_some(lacks)}", "provio merge"
        )
    only = sorted(stored - folders)
    if only:
        yield note(
            f"{plural(len(only), 'run')} only in the store, without files in {home.runs}: {_some(only)}; "
            f"{REBUILD} --force would lose them",
            f"put the files back from a backup; or remove each run: provio rm {only[0]}",
        )


def _some(runs: list[str]) -> str:
    return ", ".join(runs[:NAMED]) + ", …" * (len(runs) > NAMED)
