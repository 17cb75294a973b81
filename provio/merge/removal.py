"""Takes runs away: their ids in; their graphs, what followed from them, their files and notes gone.

A run's files are first moved aside, to `.provio/removed/`: from there on it is gone, and whoever writes the store next
finishes what a kill left undone: its graph is taken out, readers see that, and only then are its files deleted.
The store's tables hold its words until they are copied without: `store.words` says so until then, for that takes long,
and is finished by the next who removes or merges by hand.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from provio.base.errors import ProvioError, StoreError
from provio.base.vocab import RUN_BASE
from provio.graph.lines import bundle_iri
from provio.merge import intake
from provio.merge.cross_run.facts import CONTENT, DERIVED
from provio.settings.home import PACKED, RUN_ID, Home
from provio.settings.lock import Lock
from provio.settings.schema import Config
from provio.store import Writer, open_writer, served, writing
from provio.trace import collect, liveness, run_source
from provio.trace.recording import NEW

UNFILLED = 3600  # seconds after which a run folder that is not filled is left of a killed process
NOTES = ("hashing", "digesting", "unpacked")  # folders of notes, a file for each run


def remove(
    home: Home,
    runs: Iterable[str],
    settings: Config,
    *,
    fast: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Take runs away, for good and seen by all when this returns; `fast` leaves their words in the store's tables.

    Raises StoreError, OSError where that cannot be: they are then as before, where the store is embedded.
    """
    runs, home = list(runs), served(home, settings)
    if not runs:
        return None if fast else finish(home, settings, progress)
    with home.closed():
        progress("waiting for the store")
        with _without_room(home, settings):
            writer = open_writer(home, settings, wait=True)
        with writer as store:
            with _without_room(home, settings), _words_left(home, not fast):
                _remove(home, store, runs, settings, progress)
            if not fast:
                _take_words(home, store, progress)
    return None


def finish(home: Home, settings: Config, progress: Callable[[str], None]) -> None:
    """Take the words of runs that are gone out of the store's tables, where a removal was killed before it did."""
    if home.words_left.exists():
        with home.closed(), open_writer(home, settings, wait=True) as store:
            _take_words(home, store, progress)


@contextlib.contextmanager
def _words_left(home: Home, left: bool) -> Iterator[None]:
    """Note that the tables will hold words of what is removed; where it is not, all is as before."""
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
    begun = aside(home)
    try:
        for run in runs:
            _set_aside(home, run)
        if forget(home, store, progress):
            progress("letting all see that they are gone")
            store.publish()
    except (ProvioError, OSError):
        if not settings.store:
            _put_back(home, set(runs).difference(begun))
        raise
    clear(home, progress)


@contextlib.contextmanager
def _without_room(home: Home, settings: Config) -> Iterator[None]:
    """Say what to do where a full disk keeps a store from being changed: no run is removed for it."""
    try:
        yield
    except (ProvioError, OSError) as error:
        if settings.store or not any(os.strerror(code) in str(error) for code in (errno.ENOSPC, errno.EDQUOT)):
            raise
        raise StoreError(
            f"no room to take runs out of the store: nothing was removed, no run is lost; make room, or delete store, "
            f"snapshots and the runs' folders in {home.path}: the store is made again of the runs that are left"
        ) from error


def _take_words(home: Home, store: Writer, progress: Callable[[str], None]) -> None:
    """Take the words of runs that are gone out of the store's tables."""
    try:
        store.renew(progress)
        store.publish()
        home.words_left.unlink(missing_ok=True)
    except (ProvioError, OSError) as error:
        left = "removed, but words of them are left in the store's tables"
        raise StoreError(f"{left} ({error}): provio merge takes them out") from error


def _put_back(home: Home, runs: Iterable[str]) -> None:
    """Undo what `_set_aside` did, as far as can be: what stays aside is taken away by the next merge."""
    for name in (name for run in runs for name in (run, run + PACKED)):
        with contextlib.suppress(OSError):
            (_aside(home) / name).rename(home.runs / name)
    with contextlib.suppress(OSError):
        _aside(home).rmdir()


def forget(home: Home, store: Writer, progress: Callable[[str], None] = lambda _: None) -> bool:
    """Take the graphs of the runs that are set aside out of the store; tell whether that changed it."""
    runs = aside(home)
    if not runs:
        return False
    gone = [bundle_iri(RUN_BASE + run) for run in runs]
    for run in runs:
        _set_aside(home, run, known=True)  # what a kill left in its place
    with writing(home):
        intake.forget(store, gone, lambda done: progress(f"taking runs out of the store: {done} of {len(gone)}"))
        if next(store.rows("SELECT ?run { ?run a provio:Run } LIMIT 1"), None) is None:
            store.drop(DERIVED)
        if next(store.statements(CONTENT), None) is None:
            store.drop(CONTENT)
    return True


def clear(home: Home, progress: Callable[[str], None] = lambda _: None) -> None:
    """Delete the files and the notes of the runs that are set aside, of which the store says no more."""
    runs = aside(home)
    for place, run in enumerate(runs):
        progress(f"deleting files of runs: {place} of {len(runs)}")
        for note in (home.marks / run, *(home.path / name / run for name in NOTES)):
            note.unlink(missing_ok=True)
        _delete(run_source.shared_memory() / run)
        collect.drop(home, run)
        taken = home.runs / (run + run_source.TAKEN)
        for left in (taken, _aside(home) / (run + PACKED), _aside(home) / run):
            _delete(left)
    with contextlib.suppress(OSError):
        _aside(home).rmdir()


def litter(home: Home) -> tuple[int, int]:
    """Return how many files broken stores and killed processes left, and how many bytes they take."""
    found = []
    for place in _litter(home):
        inside = [os.path.join(path, name) for path, _, names in os.walk(place) for name in names]
        found += [os.lstat(name) for name in (inside if place.is_dir() else [place])]
    return len(found), sum(each.st_blocks * 512 for each in found)


def sweep(home: Home) -> None:
    """Delete that, while nobody writes."""
    with contextlib.closing(Lock(home, wait=True)):
        for place in _litter(home):
            _delete(place)


def _litter(home: Home) -> list[Path]:
    broken = [*home.path.glob("store.damaged-*"), *home.runs.glob("*" + PACKED + ".new")]
    return broken + [place for new in home.runs.glob("*" + NEW) if _is_left(new) for place in (new, *_in_memory(new))]


def _is_left(new: Path) -> bool:
    """Whether a run folder was never filled: that takes milliseconds, and its maker holds it."""
    with contextlib.suppress(OSError):
        of_a_run = RUN_ID.fullmatch(new.name.removesuffix(NEW)) is not None
        return of_a_run and time.time() - new.stat().st_mtime > UNFILLED and not liveness.is_locked(new)
    return False


def _in_memory(new: Path) -> list[Path]:
    place = run_source.shared_memory() / new.name.removesuffix(NEW)
    return [place] if place.is_dir() else []


def aside(home: Home) -> list[str]:
    """Return the ids of the runs that are set aside: a removal that did not end."""
    try:
        names = {entry.name.removesuffix(PACKED) for entry in os.scandir(_aside(home))}
    except OSError:
        return []
    return sorted(name for name in names if RUN_ID.fullmatch(name))


def _set_aside(home: Home, run: str, known: bool = False) -> None:
    """Move a run's files aside; `known` says that it is noted there already."""
    _aside(home).mkdir(exist_ok=True)
    places = [place for name in (run, run + PACKED) if os.path.lexists(place := home.runs / name)]
    for place in places:
        _delete(_aside(home) / place.name)
        place.rename(_aside(home) / place.name)
    if not places and not known:
        (_aside(home) / run).mkdir(exist_ok=True)  # its files are gone already: what the store says of it goes now


def _aside(home: Home) -> Path:
    return home.path / "removed"


def _delete(place: Path) -> None:
    """Delete a file, or a folder of the caller's own; what is not there is gone."""
    with contextlib.suppress(FileNotFoundError):
        if place.is_dir() and not place.is_symlink():
            import shutil  # slow to import, and every merge loads this module

            shutil.rmtree(place)
        else:
            place.unlink()
