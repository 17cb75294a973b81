"""Brings runs into the store: run folders in, all that each states out. Doing it again changes nothing.

A run counts as merged when the store's index has the hash of its files. What is merged is seen by nobody until it is
published, whole; a merge that was cut short is undone by the next one, which does it again.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from provio.base import gc_pause
from provio.base.records import field, plain, replace
from provio.base.vocab import RUN_BASE, provio
from provio.graph.lines import bundle_iri
from provio.merge import cross_run, intake, removal
from provio.merge import job as merge_job
from provio.merge.intake import Prepared
from provio.merge.job import Job, Read
from provio.settings.home import Home
from provio.settings.lock import Lock
from provio.settings.schema import Config
from provio.store import Writer, implied, open_writer, served, user_vocabulary, writing
from provio.system import owners
from provio.trace import collect, digests, failed_start, liveness, rank_end
from provio.trace import read as traces
from provio.trace.run_facts import Trace

BEAT = 1.0  # seconds between two signs that a merge goes on
BETWEEN = 60.0  # seconds after which a long merge publishes what it has: so much at most is done again after a kill


@plain()
class Outcome:
    """What a merge did: the ids of the runs it brought in, how many were there already, what was damaged;
    how many are of others who have not let us in, and how many go on."""

    merged: list[str] = field(default_factory=list)
    unchanged: int = 0
    damages: list[str] = field(default_factory=list)
    shut: int = 0
    going: int = 0


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
) -> Outcome:
    """Merge run folders (all by default); `known` is a trace already read, `lock` one already held, `own` the run that
    the caller is the end of. What goes on is left out, but for a server.

    A store that was lost is given all runs, whatever was asked for; `rebuild` begins one anew, beside the old one until
    it is whole. `publish` has a snapshot made even where nothing changed; what takes longer than `between` seconds is
    published in between. Raises Busy unless `wait`, StoreError.
    """
    settings = settings or Config()
    home = served(home, settings)
    lock = lock or Lock(home, wait)
    begun = failed_start.without_failed(home, home.run_folders() if folders is None else folders)
    asked = None if folders is None else begun
    late = collect.collect_here(
        home, None if asked is None else (folder.name for folder in asked), settings.capture_dir
    )
    with home.closed(), open_writer(home, settings, wait, lock, rebuild) as store, _signs_of_life(home, not rebuild):
        work = Merge(home, store, settings, known, None if rebuild else between)
        work.own = own or work.own
        work.outcome.damages += late
        work.unpublished = removal.forget(home, store)
        work.unpublished |= words(store, settings)
        work.earlier()
        lost = store.begun and (home.snapshots / "current").exists()  # of a store that was: all is merged again
        work.all(home.run_folders() if asked is None or lost else asked, progress)
        if rebuild or publish or work.unpublished or not (home.snapshots / "current").exists():
            store.publish()
        if rebuild:
            home.words_left.unlink(missing_ok=True)
        removal.clear(home)
        work.mark()
    return work.outcome


def words(store: Writer, settings: Config) -> bool:
    """Keep in the store which classes imply which, and the user's own words as they are now; tell whether these were
    others. Raises ConfigError for what is wrong with those."""
    changed = user_vocabulary.keep_graph(store, implied.CLASSES, implied.lines())
    if settings.ontology or implied.ONTOLOGY in store.indexed(provio("contentHash")):
        changed |= user_vocabulary.keep(store, user_vocabulary.of(settings))
    return changed


def _tell(progress: Callable[[str], None], how_far: str, more: str = "") -> None:
    progress(how_far + more)


@contextlib.contextmanager
def _signs_of_life(home: Home, wanted: bool) -> Iterator[None]:
    """Give the lock's file the time of now each second: who waits for it sees that the merge goes on. A rebuild, which
    publishes nothing before its end, is not to be waited for."""
    over = threading.Event()

    def give() -> None:
        while not over.wait(BEAT):
            with contextlib.suppress(OSError):
                os.utime(home.lock)

    if wanted:
        threading.Thread(target=give, daemon=True).start()
    try:
        yield
    finally:
        over.set()


class Merge:
    """A merge at work: what it has done so far, and what is known of the store. One that is not `kept` writes nothing
    into run folders."""

    def __init__(
        self, home: Home, store: Writer, settings: Config, known: Trace | None = None, between: float | None = None,
        kept: bool = True,
    ) -> None:  # fmt: skip
        self.home, self.store, self.settings, self.known, self.between = home, store, settings, known, between
        self.kept, self.own = kept, Path()
        self.hashes = store.indexed(provio("contentHash"))
        self.across: tuple[cross_run.Runs, cross_run.Derived] | None = None
        self.outcome = Outcome()
        self.marks: dict[Path, tuple[int, str]] = {}
        self.seen: set[Path] = set()
        self.unpublished = False
        self.doing = "merging" if kept else "reading what goes on"
        self.tell: Callable[..., None] = lambda *_: None

    def earlier(self) -> None:
        """Take over the runs of an earlier version's store whose folders are gone."""
        folders = {folder.name for folder in self.home.run_folders()}
        for graph, run, content_hash, document in self.store.left_behind(folders):
            intake.copy(self.store, graph, run, content_hash, document)
            self.unpublished = True

    def all(self, folders: list[Path], progress: Callable[[str], None]) -> None:
        """Merge run folders, one after the other; what fails of one costs no other. One at which a merge was killed
        comes last, after the others are published: it may need more memory than there is."""
        published, killed = time.monotonic(), self._killed_at()
        folders = sorted(folders, key=lambda folder: folder.name == killed)
        for job in self._jobs(folders, progress):
            due = job.folder.name == killed or time.monotonic() - published > (self.between or 0)
            if due and self.between is not None and not self.store.anew and self.unpublished:
                self.store.publish()
                self.unpublished, published = False, time.monotonic()
            with contextlib.suppress(OSError):
                self.home.merging.write_text(job.folder.name, encoding="utf-8", errors="surrogateescape")
            with gc_pause.kept():
                known = self.known if self.known and self.known.folder == job.folder else None
                self._one(job, merge_job.read(job, self.home, self.settings, known, kept=self.kept))
        self.home.merging.unlink(missing_ok=True)
        progress("")

    def _killed_at(self) -> str:
        """The run at which the last merge was killed, if it was."""
        try:
            return self.home.merging.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return ""

    def _jobs(self, folders: list[Path], progress: Callable[[str], None]) -> Iterator[Job]:
        """Yield the runs that the store does not hold as they are."""
        for number, folder in enumerate(folders):
            self.tell = partial(_tell, progress, f"{self.doing}: {number} of {len(folders)} runs")
            self.tell()
            moment = digests.moment()
            if owners.is_shut(folder):
                self.outcome.shut += 1
                continue
            self.seen.add(folder)
            if self.kept and not self.settings.store and self._goes_on(folder):
                self.outcome.going += 1
                self.home.unmark(folder)  # its part in a store that was begun anew
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

    def _is_merged(self, job: Job) -> bool:
        if job.known is None:
            return False
        content = digests.content_hash(job.folder, traces.read_head(job.folder))
        return job.known == intake.hash_of(content, self.settings)

    def _goes_on(self, folder: Path) -> bool:
        """Whether a run goes on: one that merges itself does where it left processes behind."""
        with contextlib.suppress(OSError):  # it was removed meanwhile
            if folder.is_dir():
                record = traces.read_head(folder)
                return (liveness.has_living_process if folder == self.own else liveness.seems_in_progress)(
                    folder, record
                )
        return False

    def _left_pending(self, folder: Path) -> bool:
        """Have a run that goes on be merged when it has ended; tell whether it is one."""
        if self.settings.store or not self._goes_on(folder):
            return False
        self.home.unmark(folder)
        return True

    @staticmethod
    def _has_ended(job: Job) -> bool:
        """Whether the end of a run is to be noted: nothing else of it has changed."""
        return rank_end.awaits_end(job.folder) and rank_end.has_ended(job.folder)

    def _one(self, job: Job, found: Read) -> None:
        try:
            if found.fault:
                self._faulty(job, found.fault)
            elif found.prepared is None:
                self._unchanged(job, found)
            else:
                self._put_or_again(job, found, found.prepared)
        except merge_job.FAULTS as error:
            self._faulty(job, merge_job.fault_of(error))

    def _put_or_again(self, job: Job, found: Read, prepared: Prepared) -> None:
        """Put a run; one that changed between its two readings is read as it is then."""
        with contextlib.suppress(digests.Changed):
            self._put(job, found, prepared)
            return
        self._one(job, merge_job.read(job, self.home, self.settings, written=True, kept=self.kept))

    def _put(self, job: Job, found: Read, prepared: Prepared) -> None:
        self.unpublished = True
        with writing(self.home):
            known, self.across = self.across or (cross_run.Runs.of(self.store), cross_run.Derived(self.store)), None
            intake.put(self.store, replace(prepared, pieces=self._counted(prepared.pieces)), *known)
            self.across = known
        self.outcome.merged.append(job.folder.name)
        self._note(job, found)

    def _counted(self, pieces: Iterable[str]) -> Iterator[str]:
        """Tell of a run how many statements are made by now."""
        count = 0
        for piece in pieces:
            yield piece
            count += piece.count("\n")
            self.tell(f", {count:,} statements")

    def _unchanged(self, job: Job, found: Read) -> None:
        self.outcome.unchanged += 1
        self._note(job, found)

    def _faulty(self, job: Job, fault: str) -> None:
        self.outcome.damages.append(f"{job.folder}: cannot be merged ({fault})")

    def _note(self, job: Job, found: Read) -> None:
        self.outcome.damages += found.damages
        # The end of processes changes no file, nor need what one that goes on records.
        moment = 0 if rank_end.awaits_end(job.folder) or self._goes_on(job.folder) else found.moment()
        self.marks[job.folder] = moment, "".join(" ".join(line.split()) + "\n" for line in found.damages)

    def mark(self) -> None:
        """Note what was merged, and when it was read; where that cannot be noted it is looked at again."""
        with contextlib.suppress(OSError):
            for folder, (moment, damaged) in self.marks.items():
                self.home.mark(folder, moment, damaged)
            if all(folder in self.seen or self._left_pending(folder) for folder in self.home.run_folders()):
                self.home.mark_settings(self.settings.conclusions)
