"""Brings runs into the store: run folders in, a named graph a run out. Doing it again changes nothing.

A run counts as merged when the store's index has the hash of its files. What is merged is seen by nobody until it is
published, whole; a merge that was cut short is undone by the next one, which does it again.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import field
from pathlib import Path

from provio import across, cycles, environment, intake, owners, removal, runfiles, settle, turtle
from provio import trace as traces
from provio.config import Config
from provio.errors import Busy, NotAllowed
from provio.facts import RUN_BASE, Trace
from provio.graph import bundle_iri
from provio.home import Home
from provio.lock import Lock
from provio.plain import plain
from provio.store import Writer, open_writer, served, writing
from provio.vocab import provio

REALTIME_COARSE = 5  # time.h: the clock that files get their times from
BETWEEN = 60.0  # seconds after which a long merge publishes what it has: so much at most is done again after a kill


# What a run that is not what it should be may raise; a store that cannot be written is no fault of a run.
FAULTS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


@plain()
class Outcome:
    """What a merge did: the ids of the runs it brought in, how many were there already, what was damaged;
    how many are of others who have not let us in."""

    merged: list[str] = field(default_factory=list)
    unchanged: int = 0
    damages: list[str] = field(default_factory=list)
    shut: int = 0


def merge(
    home: Home,
    folders: Iterable[Path] | None = None,
    *,
    known: Trace | None = None,
    wait: bool = True,
    lock: Lock | None = None,
    rebuild: bool = False,
    publish: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    settings: Config | None = None,
) -> Outcome:
    """Merge run folders (all by default); `known` is a trace already read, `lock` one already held.

    A store that had to be begun anew is given all runs, whatever was asked for; `rebuild` begins one, beside the old
    one until it is whole. `publish` has a snapshot made even where nothing changed. Raises Busy unless `wait`,
    StoreError.
    """
    settings = settings or Config()
    home = served(home, settings)
    lock = lock or Lock(home, wait)
    with home.closed(), open_writer(home, settings, wait, lock, rebuild) as store:
        work = _Merge(home, store, settings, known, not rebuild)
        work.unpublished = removal.forget(home, store)
        every = folders is None or store.begun
        work.all(home.run_folders() if every or folders is None else list(folders), progress)
        if rebuild or publish or work.unpublished or not (home.snapshots / "current").exists():
            store.publish()
        removal.clear(home)
        work.mark()
    return work.outcome


class _Merge:
    """A merge at work: what it has done so far, and what is known of the store."""

    def __init__(self, home: Home, store: Writer, settings: Config, known: Trace | None, between: bool) -> None:
        self.home, self.store, self.settings, self.known, self.between = home, store, settings, known, between
        self.hashes = store.indexed(provio("contentHash"))
        self.runs: across.Runs | None = None
        self.outcome = Outcome()
        self.marks: dict[Path, tuple[int, str]] = {}
        self.seen: set[Path] = set()
        self.unpublished = False

    def all(self, folders: list[Path], progress: Callable[[str], None]) -> None:
        """Merge run folders, one after the other; what fails of one costs no other."""
        published, self.runs = time.monotonic(), across.Runs.of(self.store)
        for number, folder in enumerate(folders):
            progress(f"merging: {number} of {len(folders)} runs")
            with cycles.kept():
                self._one(folder)
            if self.between and self.unpublished and time.monotonic() - published > BETWEEN:
                self.store.publish()
                self.unpublished, published = False, time.monotonic()
        progress("")

    def _one(self, folder: Path) -> None:
        # What is written from now on is younger than this: files have the time of the clock's last tick.
        moment = time.clock_gettime_ns(REALTIME_COARSE) - 1
        if owners.is_shut(folder):
            self.outcome.shut += 1
            return
        self.seen.add(folder)
        try:
            noted = self.home.marked(folder)
            trace = None if noted is not None and self._is_merged(folder) else self._read(folder)
            damages = [str(damage) for damage in trace.damages] if trace else (noted or "").splitlines()
            if trace is None or self._holds(trace):
                self.outcome.unchanged += 1
            else:
                self._put(trace)
        except FAULTS as error:
            reason = " ".join(str(error).split())
            self.outcome.damages.append(f"{folder}: cannot be merged ({type(error).__name__}: {reason})")
        else:
            self.outcome.damages += damages
            self.marks[folder] = moment, "".join(" ".join(line.split()) + "\n" for line in damages)

    def _is_merged(self, folder: Path) -> bool:
        found = self.hashes.get(bundle_iri(RUN_BASE + folder.name))
        if found is None:
            return False
        content = traces.content_hash(folder, traces.read_head(folder))
        return found == intake.hash_of(content, self.settings)

    def _read(self, folder: Path) -> Trace:
        if self.known and self.known.folder == folder:
            return self.known
        place = runfiles.of(folder).place
        trace = traces.read_run(folder)
        with contextlib.suppress(Busy, NotAllowed), self._locked(folder):
            settled(trace)
        # Runs of another record are read without its lock: one that was packed meanwhile was not read whole.
        return trace if runfiles.of(folder).place == place else self._read(folder)

    def _locked(self, folder: Path) -> contextlib.AbstractContextManager[object]:
        """Hold the lock of the record that a run lies in, to write there; raises Busy, NotAllowed."""
        if folder.parent == self.home.runs:
            return contextlib.nullcontext()
        return contextlib.closing(Lock(Home(folder.parent.parent), wait=False))

    def _holds(self, trace: Trace) -> bool:
        return self.hashes.get(bundle_iri(trace.iri)) == intake.hash_of(trace.content_hash, self.settings)

    def _put(self, trace: Trace) -> None:
        self.unpublished = True
        with writing(self.home):
            intake.put(self.store, trace, self.settings, self.runs)
        self.outcome.merged.append(trace.run_id)

    def mark(self) -> None:
        """Note what was merged, and when it was read; where that cannot be noted it is looked at again."""
        with contextlib.suppress(OSError):
            for folder, (moment, damaged) in self.marks.items():
                self.home.mark(folder, moment, damaged)
            if set(self.home.run_folders()) <= self.seen:
                self.home.mark_settings(self.settings.conclusions)


def settled(trace: Trace) -> Trace:
    """Look at what processes that outlived the run on this host have left."""
    if os.access(trace.folder, os.W_OK):
        settle.settle(trace, turtle.segment(environment.host()))
        trace.content_hash = traces.content_hash(trace.folder, trace.run)
    return trace
