"""Queries that include runs which the store does not hold, such as runs in progress.

In: a `.provio` and these runs. Out: a `.provio` that contains both.

A run in progress is never written to the store, and a query does not take the writer's lock. Instead, the tables of
the published snapshot get a second name (a hard or symbolic link) below `.provio/live`, and the runs are merged into
this overlay. It is valid until another snapshot is published, or one of the runs records or closes something. In a
shared record an overlay could disclose data that only its user may read; there, and if it cannot be made below
`.provio`, it is made among the temporary files for this process alone.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, unquote

from provio.base.errors import Busy, StoreError
from provio.base.records import frozen, plain
from provio.base.text import moment, plural, span
from provio.merge.runs import Merge, Outcome, update_vocabulary
from provio.settings import moves
from provio.settings.home import Home
from provio.settings.lock import Lock
from provio.settings.schema import Config
from provio.store import Damaged, Store, is_earlier, open_reader, statements
from provio.store.embedded import snapshots
from provio.store.embedded.writer import StoreWriter
from provio.trace import liveness, run_source
from provio.trace.read import read_head

STATE = "state"  # the file with the snapshot and the runs of the overlay,
WORDS = "words"  # and the file with the messages about them
MOST = 40_000_000  # bytes of ended runs that a query reads without the store's lock
LARGE = 64_000_000  # bytes of N-Triples of a run; larger runs are loaded by a process of their own
SHORT = 13  # characters of a run's id in the list of runs
PATIENCE = 2.0  # seconds allowed for the copy of the index of versions
TRIES = 3  # another process may publish at the same time


@frozen
class RunInProgress:
    """A run in progress: its id and, if it runs on other hosts, these hosts and the seconds since their last sign of
    life."""

    run: str
    host: str = ""
    age: float = 0.0


def split_by_state(folders: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Divide run folders into those of ended runs and those of runs in progress."""
    ended: list[Path] = []
    live: list[Path] = []
    for folder in folders:
        (live if _is_in_progress(folder) else ended).append(folder)
    return ended, live


def _is_in_progress(folder: Path) -> bool:
    try:
        return liveness.seems_in_progress(folder, read_head(folder))
    except OSError:  # it belongs to another user and is not accessible
        return False


def newest(folders: list[Path]) -> list[Path]:
    """Return the newest of the given runs, as many as a query reads without the store's lock."""
    found, left = [], MOST
    for folder in sorted(folders, key=lambda one: one.name, reverse=True):
        left -= run_source.of(folder).extent()[0]
        if left < 0:
            break
        found.append(folder)
    return found


def _states(runs: Iterable[Path]) -> Iterator[RunInProgress]:
    """Yield the state of each run in progress."""
    for run in runs:
        with contextlib.suppress(OSError):  # it was removed in the meantime
            record = read_head(run)
            here = liveness.is_locked(run) or liveness.has_living_process(run, record)
            hosts = [] if here else liveness.hosts_at_work(run, record) or [record.get("host", "another host")]
            yield RunInProgress(run.name, ", ".join(map(unquote, hosts)), liveness.age(run) if hosts else 0.0)


def progress_note(folders: Iterable[Path]) -> tuple[str, frozenset[str]]:
    """Return a text with the time of the answer and the runs in progress, and the ids of these runs."""
    runs = list(_states(folders))
    return _moment(runs) if runs else "", frozenset(one.run for one in runs)


def _moment(runs: list[RunInProgress]) -> str:
    now = moment(datetime.now(UTC).isoformat())
    if len(runs) > 1 and not any(run.host for run in runs):
        return f"as of {now}, {plural(len(runs), 'run')} in progress"
    return f"as of {now}, " + ", ".join(
        f"run {run.run[:SHORT]} is in progress"
        + f" on {run.host}, last sign of life {span(run.age)} ago" * bool(run.host)
        for run in runs
    )


def messages_of(outcome: Outcome) -> list[str]:
    """Return the messages about a merge that accompany an answer."""
    shut = f"{plural(outcome.unreadable, 'run')} of others cannot be read yet: not in this answer"
    return [shut] * bool(outcome.unreadable) + [f"damaged: {damage}" for damage in outcome.damages]


@plain()
class Overlay:
    """A `.provio` that holds a snapshot of `of` and some runs; it is held open until `close`.

    `words` are the messages about these runs. A `passing` overlay belongs to this process alone.
    """

    home: Home
    of: Home
    held: list[int]
    words: list[str]
    passing: bool = False

    def reader(self) -> Store:
        """Open the overlay for queries; the store that is returned keeps it open."""
        reader = open_reader(self.home, beneath=self)
        reader.places = moves.places(self.of)
        return reader

    def close(self) -> None:
        """Release the overlay; delete it if it belongs to this process alone or to an earlier snapshot."""
        if not self.held:
            return
        for fd in self.held:
            os.close(fd)
        self.held.clear()
        _passing.discard(self.home.path)
        if self.passing or _base(_read(self.home.path / STATE)) != (snapshots.published(self.of) or ""):
            snapshots.delete_overlay(self.home.path)

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self.close()


_passing: set[Path] = set()  # folders that this process deletes when it ends


@atexit.register
def delete_overlays() -> None:
    """Delete the overlays of this process."""
    for place in list(_passing):
        shutil.rmtree(place, ignore_errors=True)


def state_of(home: Home, runs: Iterable[Path], settings: Config) -> str:
    """Return a text that identifies the published snapshot and the state of some runs."""
    base = snapshots.published(home) or ""
    changes = (f"{run} {_changes(run)}\n" for run in runs)
    return f"{run_source.RULES} {_chosen(settings)} {base}\n" + "".join(changes)


def _chosen(settings: Config) -> str:
    """Return a hash of the user's or project's settings that affect conclusions."""
    words = []
    if settings.ontology:
        from provio.store import user_vocabulary  # slow to import, and most records have none

        words = user_vocabulary.of(settings).lines
    chosen = settings.conclusions, sorted(map(repr, settings.interpreters.items())), words
    return hashlib.sha256(repr(chosen).encode("utf-8", "backslashreplace")).hexdigest()


def _base(state: str) -> str:
    """Return the snapshot that a state names."""
    return state.partition("\n")[0].rpartition(" ")[2]


def _changes(run: Path) -> str:
    with contextlib.suppress(OSError):
        if run.is_dir():
            return run_source.Folder(run).changes(read_head(run))
    return str(run_source.of(run).changed())


def open_overlay(
    home: Home, runs: list[Path], settings: Config, progress: Callable[[str], None] = lambda _: None
) -> Overlay:
    """Return the published snapshot with some runs in their current state; raises StoreError, NotAllowed."""
    if is_earlier(home):
        raise Busy("another process is rebuilding the store of an earlier version: try again later")
    for _ in range(TRIES):
        wanted = state_of(home, runs, settings)
        for place in _entries(home.overlays):
            if _read(place / STATE) == wanted and (fds := _hold_both(home, place, _base(wanted))):
                return Overlay(Home(place), home, fds, _read(place / WORDS).split("\n"))
        made = _make_overlay(home, runs, settings, wanted, progress)
        if made:
            return made
    raise Busy("other processes keep publishing: try again later")


def _hold_both(home: Home, place: Path, base: str) -> list[int]:
    """Hold an overlay and the snapshot that it is based on, because it may need its tables; [] if one was removed."""
    held, beneath = snapshots.hold(Home(place)), snapshots.hold(home)
    found = [one[1] for one in (held, beneath) if one]
    if held and (beneath[0] if beneath else "") == base:
        return found
    for fd in found:
        os.close(fd)
    return []


def _make_overlay(
    home: Home, runs: list[Path], settings: Config, wanted: str, progress: Callable[[str], None]
) -> Overlay | None:
    snapshots.sweep_overlays(home)
    if not home.shared:
        try:
            home.overlays.mkdir(mode=0o700, exist_ok=True)
            return _build_overlay(home, home.overlays, runs, settings, wanted, progress)
        except Damaged:
            raise
        except (OSError, StoreError):  # no permission, no space
            pass
    for left in Path(tempfile.gettempdir()).glob(f"provio-live-{os.geteuid()}.*"):
        with contextlib.suppress(OSError):
            if left.lstat().st_uid == os.geteuid() and left.is_dir():
                snapshots.delete_overlay(left)
    return _build_overlay(home, None, runs, settings, wanted, progress)


def _build_overlay(
    home: Home, parent: Path | None, runs: list[Path], settings: Config, wanted: str, progress: Callable[[str], None]
) -> Overlay | None:
    """Make an overlay; return None if the snapshot was removed in the meantime."""
    there = Home(Path(tempfile.mkdtemp(prefix=f"provio-live-{os.geteuid()}.", dir=parent)))
    lock, base, held = Lock(there, wait=False), None, None
    try:
        base = snapshots.hold(home)
        if base:
            _link_tables(home, base[0], there)
        with there.closed(), StoreWriter(there, wait=False, lock=lock) as store:
            if base and store.is_new:
                raise Damaged(f"the published snapshot in {home.path} is damaged")
            store.large = LARGE
            update_vocabulary(store, settings)
            merge = Merge(there, store, settings, kept=False)
            merge.all(runs, progress)
            store.become_snapshot()
            messages = messages_of(merge.outcome)
            for name, text in ((WORDS, "\n".join(messages)), (STATE, wanted)):
                (there.path / name).write_text(text, encoding="utf-8", errors="surrogateescape")
            held = snapshots.hold(there)
        if held is None:
            return None
    except FileNotFoundError:  # a list of the snapshot was removed
        shutil.rmtree(there.path, ignore_errors=True)
        return None
    except BaseException:
        shutil.rmtree(there.path, ignore_errors=True)
        raise
    finally:
        lock.close()
        if base and held is None:
            os.close(base[1])
    if parent is None:
        _passing.add(there.path)
    return Overlay(there, home, [held[1], *([base[1]] if base else [])], messages, parent is None)


def _link_tables(home: Home, name: str, there: Home) -> None:
    """Give the published files second names: the tables and the lists; copy the index of versions."""
    snapshots.copy(home, name, there.store)
    lists, own = home.kept / "statements", there.path / "statements"
    own.mkdir()
    for entry in os.scandir(lists) if lists.is_dir() else ():
        if entry.name.endswith(statements.ENDING) and not entry.name.endswith(statements.NEW + statements.ENDING):
            snapshots.link(entry.path, own / entry.name)
    try:
        _copy_index(lists / "versions.sqlite", own / "versions.sqlite")
    except (sqlite3.Error, OSError):  # it is rebuilt from the lists
        (own / "versions.sqlite").unlink(missing_ok=True)
    shutil.copyfile(home.kept / "store.version", there.path / "store.version")


def _copy_index(source: Path, target: Path) -> None:
    until = time.monotonic() + PATIENCE

    def waiting(*_: int) -> None:
        if time.monotonic() > until:
            raise OSError("a merge is changing the index: try again later")

    if source.exists():
        name = f"file:{quote(os.fsencode(source))}?mode=ro"
        with (
            contextlib.closing(sqlite3.connect(name, uri=True, timeout=0)) as published,
            contextlib.closing(sqlite3.connect(target)) as copy,
        ):
            published.backup(copy, pages=10_000, progress=waiting)


def _entries(folder: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(folder)]
    except OSError:
        return []


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
