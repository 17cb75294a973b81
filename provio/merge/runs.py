"""Merge run folders into the store. A repeated merge changes nothing.

A run is merged if the store's index contains the hash of its files. Readers see merged runs only after publication,
and only as a whole; the next merge undoes and repeats an interrupted one.
"""

from __future__ import annotations

import contextlib
import gc
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from provio.base.records import field, plain, replace
from provio.base.vocab import RUN_BASE, provio
from provio.graph.lines import bundle_iri
from provio.graph.relocated import Renamed, relocated
from provio.merge import cross_run, intake, notes, notices, removal
from provio.merge import job as merge_job
from provio.merge.intake import Prepared
from provio.merge.job import Job, Read
from provio.settings.home import Home, is_shut
from provio.settings.lock import Lock
from provio.settings.schema import Config
from provio.store import Writer, implied, open_writer, served, user_vocabulary, writing
from provio.trace import collect, content_requests, digests, failed_start, liveness, rank_end, run_source
from provio.trace import notes as trace_notes
from provio.trace import read as traces
from provio.trace.run_facts import Trace

if TYPE_CHECKING:
    from provio.merge.contents import ContentReader

BEAT = 1.0  # seconds between two updates of the lock file's time
BETWEEN = 60.0  # seconds between two publications of a long merge: at most this work is lost if it is killed


@plain()
class Outcome:
    """The result of a merge: the ids of the merged runs, the damages as messages and their number by run, and how many
    runs were unchanged, were not readable for this user, or are in progress."""

    merged: list[str] = field(default_factory=list)
    unchanged: int = 0
    damages: list[str] = field(default_factory=list)
    damaged: dict[str, int] = field(default_factory=dict)
    unreadable: int = 0
    in_progress: int = 0


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
    between: float = BETWEEN,
    own: Path | None = None,
    hashing: bool = False,
) -> Outcome:
    """Merge run folders (all by default), except runs in progress in the embedded store.

    `known` is a trace that was read already, `lock` a lock that is held already, `own` the run that ends with this
    call. A lost store receives all runs in any case; `rebuild` builds a new store next to the present one until it is
    complete. `publish` publishes even if nothing changed; a long merge publishes every `between` seconds.
    With `hashing`, requested hashes are computed within the limits of `hash = auto`. Raises StoreError, and Busy unless
    `wait`.
    """
    settings = settings or Config()
    home = served(home, settings)
    lock = lock or Lock(home, wait)
    started = failed_start.without_failed(home, home.run_folders() if folders is None else folders)
    wanted = None if folders is None else [folder for folder in started if run_source.exists(folder)]
    late = collect.collect_here(
        home, None if wanted is None else (folder.name for folder in wanted), settings.capture_dir
    )
    with home.closed(), open_writer(home, settings, wait, lock, rebuild) as store, _lock_heartbeat(home, not rebuild):
        work = Merge(home, store, settings, known, None if rebuild else between)
        work.own, work.hashing = own or work.own, hashing
        if work.rules != home.marked_rules():
            home.unmark_rules()  # until all runs are merged by these
        work.outcome.damages += late
        work.unpublished = removal.forget(home, store)
        work.unpublished |= update_vocabulary(store, settings)
        work.copy_earlier()
        lost = store.is_new and (home.snapshots / "current").exists()  # the store was deleted: merge all runs again
        work.all(home.run_folders() if wanted is None or lost else wanted, progress)
        noted = trace_notes.state(home)
        work.unpublished |= notes.update(store, home)
        if rebuild or publish or work.unpublished or not (home.snapshots / "current").exists():
            store.publish()
        if rebuild:
            home.words_left.unlink(missing_ok=True)
        removal.clear(home)
        work.mark()
        with contextlib.suppress(OSError):
            trace_notes.mark(home, noted)
        for run, gaps in work.concluded.items() if not rebuild else ():
            notices.leave(home, run, gaps)
    return work.outcome


def update_vocabulary(store: Writer, settings: Config) -> bool:
    """Write the implied classes and the current user vocabulary into the store; return whether they changed. Raises
    ConfigError for an invalid vocabulary."""
    changed = user_vocabulary.replace_graph(store, implied.CLASSES, implied.lines())
    if settings.ontology or implied.ONTOLOGY in store.indexed(provio("contentHash")):
        changed |= user_vocabulary.update(store, user_vocabulary.of(settings))
    return changed


def _report(progress: Callable[[str], None], state: str, detail: str = "") -> None:
    progress(state + detail)


@contextlib.contextmanager
def _lock_heartbeat(home: Home, wanted: bool) -> Iterator[None]:
    """Update the time of the lock file each second, if `wanted`: waiting processes see that the merge is running. (They
    must not wait for a rebuild, which publishes nothing before its end.)"""
    over = threading.Event()

    def update() -> None:
        while not over.wait(BEAT):
            with contextlib.suppress(OSError):
                os.utime(home.lock)

    if wanted:
        threading.Thread(target=update, daemon=True).start()
    try:
        yield
    finally:
        over.set()


class Merge:
    """A merge in progress: its results so far, and the state of the store. If not `kept`, it writes nothing into run
    folders."""

    def __init__(
        self, home: Home, store: Writer, settings: Config, known: Trace | None = None, between: float | None = None,
        kept: bool = True,
    ) -> None:  # fmt: skip
        self.home, self.store, self.settings, self.known, self.between = home, store, settings, known, between
        self.kept, self.own, self.hashing = kept, Path(), False
        self.rules = run_source.rules_of(home, settings.conclusions)
        self.hashes = store.indexed(provio("contentHash"))
        self.across: tuple[cross_run.Runs, cross_run.Derived] | None = None
        self.outcome = Outcome()
        self.marks: dict[Path, tuple[int, str]] = {}
        self.concluded: dict[str, int] = {}
        self.seen: set[Path] = set()
        self.unpublished = False
        self.activity = "merging" if kept else "reading runs in progress"
        self.report: Callable[..., None] = lambda *_: None

    def copy_earlier(self) -> None:
        """Copy the runs without folders from the store of an earlier version; their project moved with that of the
        others."""
        folders = self.home.run_folders()
        only = self.store.runs_only_in_earlier_version({folder.name for folder in folders})
        for graph, run, content_hash, document in only:
            renames = dict.fromkeys(pair for one in folders for pair in intake.renames(one, traces.read_head(one)))
            present = relocated([document], [Renamed(*pair) for pair in renames])
            intake.copy(self.store, graph, run, content_hash, "".join(present))
            self.unpublished = True

    def all(self, folders: list[Path], progress: Callable[[str], None]) -> None:
        """Merge run folders, one after the other; a failure affects only its run. The run at which the last merge was
        killed is merged last, after the others are published: it may need more memory than is available."""
        published, killed = time.monotonic(), self._killed_at()
        folders = sorted(folders, key=lambda folder: folder.name == killed)
        for job in self._jobs(folders, progress):
            due = job.folder.name == killed or time.monotonic() - published > (self.between or 0)
            if due and self.between is not None and not self.store.rebuild and self.unpublished:
                self.store.publish()
                self.unpublished, published = False, time.monotonic()
            with contextlib.suppress(OSError):
                self.home.merging.write_text(job.folder.name, encoding="utf-8", errors="surrogateescape")
            with _garbage_kept():
                known = self.known if self.known and self.known.folder == job.folder else None
                contents = self._contents(job.folder)
                found = merge_job.read(job, self.home, self.settings, known, kept=self.kept, contents=contents)
                self._one(job, found)
        self.home.merging.unlink(missing_ok=True)
        progress("")

    def _killed_at(self) -> str:
        """Return the run at which the last merge was killed; empty if it was not."""
        try:
            return self.home.merging.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return ""

    def _jobs(self, folders: list[Path], progress: Callable[[str], None]) -> Iterator[Job]:
        """Yield the runs with a current state that is not in the store."""
        for number, folder in enumerate(folders):
            self.report = partial(_report, progress, f"{self.activity}: {number} of {len(folders)} runs")
            self.report()
            moment = digests.moment()
            if is_shut(folder):
                self.outcome.unreadable += 1
                continue
            self.seen.add(folder)
            if self.kept and not self.settings.store and self._is_in_progress(folder):
                self.outcome.in_progress += 1
                self.home.unmark(folder)  # a mark of a deleted store
                continue
            if self._hashes(folder):
                yield Job(folder, moment, None)
                continue
            job = Job(folder, moment, self.hashes.get(bundle_iri(RUN_BASE + folder.name)))
            try:
                noted = self.home.marked(folder)
                if noted is not None and self._is_merged(job) and not self._has_ended(job):
                    self._unchanged(job, Read(None, noted.splitlines(), moment=partial(int, job.moment)))
                    continue
            except merge_job.FAULTS as error:
                self._faulty(job, merge_job.fault_of(error))
                continue
            yield job

    def _hashes(self, folder: Path) -> bool:
        """Return whether this merge executes the request of a run: the hashes of all its files would take too long
        while the store is locked."""
        return self.hashing and content_requests.is_limited(self.home, folder.name)

    def _contents(self, folder: Path) -> ContentReader | None:
        """Return an object that executes the request of a run; if it is not this merge that hashes, only the part about
        values of files."""
        if not (self.kept and content_requests.place(self.home, folder.name).exists()):
            return None
        from provio.merge import contents  # slow to import

        return contents.reader_of(self.home, folder, self.settings, hashes=self._hashes(folder))

    def _is_merged(self, job: Job) -> bool:
        if job.known is None:
            return False
        record = traces.read_head(job.folder)
        content = digests.content_hash(job.folder, record)
        return job.known == intake.hash_of(content, self.settings, job.folder, record)

    def _is_in_progress(self, folder: Path) -> bool:
        """Return whether a run is in progress; the own run, which merges itself, is if it has remaining processes."""
        with contextlib.suppress(OSError):  # the run was removed during the merge
            if folder.is_dir():
                record = traces.read_head(folder)
                return (liveness.has_living_process if folder == self.own else liveness.seems_in_progress)(
                    folder, record
                )
        return False

    def _is_seen(self, folder: Path) -> bool:
        """Return whether a run needs no merge by these rules; without a mark, it stays pending."""
        if folder in self.seen:
            return True
        waits = is_shut(folder) or (not self.settings.store and self._is_in_progress(folder))
        if waits:
            self.home.unmark(folder)
        return waits

    @staticmethod
    def _has_ended(job: Job) -> bool:
        """Return whether the end of a run must be recorded, although its files have not changed."""
        return rank_end.awaits_end(job.folder) and rank_end.has_ended(job.folder)

    def _one(self, job: Job, found: Read) -> None:
        try:
            if found.fault:
                self._faulty(job, found.fault)
            elif found.prepared is None:
                self._unchanged(job, found)
            else:
                self._put_or_read_again(job, found, found.prepared)
        except merge_job.FAULTS as error:
            self._faulty(job, merge_job.fault_of(error))

    def _put_or_read_again(self, job: Job, found: Read, prepared: Prepared) -> None:
        """Put a run into the store; if it changed between its two readings, read it again from a copy."""
        with contextlib.suppress(digests.Changed):
            self._put(job, found, prepared)
            return
        self._one(job, merge_job.read(job, self.home, self.settings, written=True, kept=self.kept))

    def _put(self, job: Job, found: Read, prepared: Prepared) -> None:
        self.unpublished = True
        with writing(self.home):
            known, self.across = self.across or (cross_run.Runs.of(self.store), cross_run.Derived(self.store)), None
            pieces = self._counted(job.folder.name, prepared.pieces)
            lines = intake.put(self.store, replace(prepared, pieces=pieces), *known)
            self.concluded[job.folder.name] += notices.concluded("\n".join(lines))
            self.across = known
        self.outcome.merged.append(job.folder.name)
        self._note(job, found)

    def _counted(self, run: str, pieces: Iterable[str]) -> Iterator[str]:
        """Pass on the pieces of a run's graph, report the number of statements so far, and count concluded gaps."""
        count = self.concluded[run] = 0
        for piece in pieces:
            yield piece
            self.concluded[run] += notices.concluded(piece)
            count += piece.count("\n")
            self.report(f", {count:,} statements")

    def _unchanged(self, job: Job, found: Read) -> None:
        self.outcome.unchanged += 1
        self._note(job, found)

    def _faulty(self, job: Job, fault: str) -> None:
        self.outcome.damages.append(f"{job.folder}: cannot be merged ({fault})")

    def _note(self, job: Job, found: Read) -> None:
        self.outcome.damages += found.damages
        if found.damages:
            self.outcome.damaged[job.folder.name] = len(found.damages)
        # The end of a process changes no file; new records of a run in progress may not change any file's time.
        moment = 0 if rank_end.awaits_end(job.folder) or self._is_in_progress(job.folder) else found.moment()
        self.marks[job.folder] = moment, "".join(" ".join(line.split()) + "\n" for line in found.damages)

    def mark(self) -> None:
        """Mark the merged runs with the moment of reading; a run that cannot be marked is checked again later."""
        with contextlib.suppress(OSError):
            for folder, (moment, damaged) in self.marks.items():
                self.home.mark(folder, moment, damaged)
            if self.rules != self.home.marked_rules() and all(map(self._is_seen, self.home.run_folders())):
                self.home.mark_rules(self.rules)


@contextlib.contextmanager
def _garbage_kept() -> Iterator[None]:
    """Suspend cyclic garbage collection; at the end, collect only the objects created in the block.

    All facts of a run are needed until its merge ends, so collections during the merge find nothing; they took a fifth
    of its time. The parts of a large run are collected with `gc.collect(0)`.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect(0)
