"""Remove runs: their graphs, all conclusions from them, their files and notes.

The files of a run are first moved to `.provio/removed/`. From then on the run counts as removed, and after a kill the
next writer of the store completes the removal: it removes the graph, publishes, and only then deletes the files.
The store's tables contain the run's terms until all statements are copied into new tables. That takes long; the file
`store.words` marks it as pending until the next removal or `provio merge` completes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from provio.base.errors import ProvioError, StoreError
from provio.base.vocab import NS, RUN_BASE
from provio.graph.lines import bundle_iri
from provio.merge import intake, kept, notices
from provio.merge.cross_run.facts import CONTENT, DERIVED
from provio.settings.home import PACKED, RUN_ID, Home
from provio.settings.lock import Lock
from provio.settings.schema import Config
from provio.store import Writer, is_earlier, open_reader, open_writer, served, writing
from provio.trace import collect, liveness, notes, run_source
from provio.trace.recording import NEW

ALL_RUNS = f"SELECT ?run {{ ?bundle <{NS}ofRun> ?run }}"
UNFILLED = 3600  # seconds after which an unfilled run folder is the remains of a killed process
NOTES = ("hashing", "digesting", "unpacked", *notices.FOLDERS)  # folders of notes, a file for each run


def remove(
    home: Home,
    runs: Iterable[str],
    settings: Config,
    *,
    fast: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Remove runs permanently and publish; `fast` leaves their terms in the store's tables.

    Raises StoreError, OSError if that fails: with an embedded store the runs are then as before.
    """
    runs, home = list(runs), served(home, settings)
    if not runs:
        return None if fast else finish(home, settings, progress)
    with home.closed():
        progress("waiting for the store")
        with _full_disk_explained(home, settings):
            writer = open_writer(home, settings, wait=True)
        with writer as store:
            with _full_disk_explained(home, settings), _mark_terms(home, not fast):
                _remove(home, store, runs, settings, progress)
            if not fast:
                _remove_terms(home, store, progress)
    return None


def finish(home: Home, settings: Config, progress: Callable[[str], None]) -> None:
    """Remove the terms of removed runs from the store's tables, if an earlier removal did not."""
    if home.words_left.exists():
        with home.closed(), open_writer(home, settings, wait=True) as store:
            _remove_terms(home, store, progress)


@contextlib.contextmanager
def _mark_terms(home: Home, left: bool) -> Iterator[None]:
    """Mark that the tables will contain terms of removed runs; undo that if the removal fails."""
    before = home.words_left.exists()
    if left:
        home.words_left.touch()
    try:
        yield
    except (ProvioError, OSError):
        if not before:
            home.words_left.unlink(missing_ok=True)
        raise


def _remove(home: Home, store: Writer, runs: list[str], settings: Config, progress: Callable[[str], None]) -> None:
    earlier = aside(home)
    try:
        for run in runs:
            _set_aside(home, run)
        if forget(home, store, progress):
            progress("publishing")
            store.publish()
    except (ProvioError, OSError):
        if not settings.store:
            _put_back(home, set(runs).difference(earlier))
        raise
    clear(home, progress)


@contextlib.contextmanager
def _full_disk_explained(home: Home, settings: Config) -> Iterator[None]:
    """Explain the remedy if a full disk prevents the change of the store; no run is then removed."""
    try:
        yield
    except (ProvioError, OSError) as error:
        if settings.store or not any(os.strerror(code) in str(error) for code in (errno.ENOSPC, errno.EDQUOT)):
            raise
        raise StoreError(
            f"no room to remove runs from the store: nothing was removed, no run is lost; make room, or delete store, "
            f"snapshots and the runs' folders in {home.path}: the store is built again from the remaining runs"
        ) from error


def _remove_terms(home: Home, store: Writer, progress: Callable[[str], None]) -> None:
    """Remove the terms of removed runs from the store's tables."""
    try:
        store.rewrite_tables(progress)
        store.publish()
        home.words_left.unlink(missing_ok=True)
    except (ProvioError, OSError) as error:
        state = "removed, but the store's tables still contain their terms"
        raise StoreError(f"{state} ({error}): run provio merge") from error


def _put_back(home: Home, runs: Iterable[str]) -> None:
    """Undo `_set_aside` as far as possible; the next merge removes the runs that stay set aside."""
    for name in (name for run in runs for name in (run, run + PACKED)):
        with contextlib.suppress(OSError):
            (_aside(home) / name).rename(home.runs / name)
    with contextlib.suppress(OSError):
        _aside(home).rmdir()


def forget(home: Home, store: Writer, progress: Callable[[str], None] = lambda _: None) -> bool:
    """Remove the graphs of the runs that are set aside from the store; return whether there were any."""
    runs = aside(home)
    if not runs:
        return False
    graphs = [bundle_iri(RUN_BASE + run) for run in runs]
    for run in runs:
        _set_aside(home, run, known=True)  # files that a killed process left in place
    with writing(home):
        intake.forget(store, graphs, lambda done: progress(f"removing runs from the store: {done} of {len(graphs)}"))
        if next(store.rows("SELECT ?run { ?run a provio:Run } LIMIT 1"), None) is None:
            store.drop(DERIVED)
        if next(store.statements(CONTENT), None) is None:
            store.drop(CONTENT)
    return True


def clear(home: Home, progress: Callable[[str], None] = lambda _: None) -> None:
    """Delete the files and notes of the runs that are set aside and no longer in the store."""
    runs = aside(home)
    notes.remove_of(home, runs)
    for place, run in enumerate(runs):
        progress(f"deleting files of runs: {place} of {len(runs)}")
        for note in (home.marks / run, home.events / f"{run}.log", *(home.path / name / run for name in NOTES)):
            note.unlink(missing_ok=True)
        _delete(run_source.shared_memory() / run)
        collect.drop(home, run)
        taken = home.runs / (run + run_source.TAKEN)
        for left in (taken, _aside(home) / (run + PACKED), _aside(home) / run):
            _delete(left)
    kept.forget(home, runs)
    with contextlib.suppress(OSError):
        _aside(home).rmdir()


def leftovers(home: Home) -> tuple[int, int]:
    """Return the number and size (bytes) of the files that damaged stores and killed processes left."""
    found = []
    for place in _leftovers(home):
        inside = [os.path.join(path, name) for path, _, names in os.walk(place) for name in names]
        found += [os.lstat(name) for name in (inside if place.is_dir() else [place])]
    return len(found), sum(each.st_blocks * 512 for each in found)


def sweep(home: Home) -> None:
    """Delete these files, under the lock."""
    with contextlib.closing(Lock(home, wait=True)):
        for place in _leftovers(home):
            _delete(place)


def _leftovers(home: Home) -> list[Path]:
    broken = [*home.path.glob("store.damaged-*"), *home.runs.glob("*" + PACKED + ".new")]
    return broken + [
        place for new in home.runs.glob("*" + NEW) if _is_abandoned(new) for place in (new, *_in_memory(new))
    ]


def _is_abandoned(new: Path) -> bool:
    """Return whether a run folder was never filled: filling it takes milliseconds, and its creator locks it."""
    with contextlib.suppress(OSError):
        of_a_run = RUN_ID.fullmatch(new.name.removesuffix(NEW)) is not None
        return of_a_run and time.time() - new.stat().st_mtime > UNFILLED and not liveness.is_locked(new)
    return False


def _in_memory(new: Path) -> list[Path]:
    place = run_source.shared_memory() / new.name.removesuffix(NEW)
    return [place] if place.is_dir() else []


def only_stored(home: Home) -> list[str]:
    """Return the ids of the runs in the embedded store without a run folder, which a rebuild loses. It keeps all runs
    of a store of an earlier version. Raises Damaged if the store cannot be read."""
    if home.server or is_earlier(home) or not (home.snapshots / "current").exists():
        return []
    found = {run.rpartition("/")[2] for (run,) in open_reader(home).table(ALL_RUNS)}
    return sorted(found.difference((folder.name for folder in home.run_folders()), aside(home)))


def aside(home: Home) -> list[str]:
    """Return the ids of the runs that are set aside, because their removal is not complete."""
    try:
        names = {entry.name.removesuffix(PACKED) for entry in os.scandir(_aside(home))}
    except OSError:
        return []
    return sorted(name for name in names if RUN_ID.fullmatch(name))


def _set_aside(home: Home, run: str, known: bool = False) -> None:
    """Move a run's files to `.provio/removed/`; `known` if the run has an entry there already."""
    _aside(home).mkdir(exist_ok=True)
    places = [place for name in (run, run + PACKED) if os.path.lexists(place := home.runs / name)]
    for place in places:
        _delete(_aside(home) / place.name)
        place.rename(_aside(home) / place.name)
    if not places and not known:
        (_aside(home) / run).mkdir(exist_ok=True)  # its files are missing already: only its graph must be removed


def _aside(home: Home) -> Path:
    return home.path / "removed"


def _delete(place: Path) -> None:
    """Delete a file or a folder, if it exists."""
    with contextlib.suppress(FileNotFoundError):
        if place.is_dir() and not place.is_symlink():
            import shutil  # slow to import, and every merge loads this module

            shutil.rmtree(place)
        else:
            place.unlink()
