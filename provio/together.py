"""Several records asked as one: a project's own and those that `stores` names in, one store of all their runs out.

What one run wrote and another read, equal content, what follows from several runs: all of it goes across records. So
they are not asked one by one; their runs are merged, by the same code, into a store of its own, `.provio/together/`.
That holds each run once, brings in what is new or changed, and forgets what none of them has any more.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from provio import home as homes
from provio import intake, owners
from provio.config import Config
from provio.errors import ProvioError, StoreError
from provio.facts import RUN_BASE
from provio.graph import bundle_iri
from provio.home import Home
from provio.lock import Lock
from provio.store import check_version, open_writer
from provio.vocab import local_name, provio

NAME = "together"


@dataclass(frozen=True)
class Together(Home):
    """The folder of the store of all; `sources` are the records whose runs it holds."""

    sources: tuple[Home, ...] = ()

    def run_folders(self) -> list[Path]:
        """The run folders of all sources, oldest first; of a run that several have, the first's."""
        found: dict[str, Path] = {}
        for source in self.sources:
            for folder in source.run_folders():
                found.setdefault(folder.name, folder)
        return [found[name] for name in sorted(found)]


def of(home: Home, settings: Config, complain: Callable[[str], None]) -> Home:
    """Return the home of all that are asked together: `home` itself where `stores` names none.

    Each that cannot be read is told to `complain`, and left out.
    """
    if not settings.stores:
        return home
    found = {home.path.resolve(): home}
    for name in settings.stores:
        try:
            other = _source(home, name, trusted=settings.private("stores"))
            found.setdefault(other.path.resolve(), other)
        except (ProvioError, OSError) as error:
            reason = getattr(error, "strerror", None) or error
            complain(f"stores: {name}: {reason}; not in this answer")
    together = Together(home.path / NAME, sources=tuple(found.values()))
    with home.closed():
        together.path.mkdir(exist_ok=True)
    return together


def holds(home: Home, settings: Config, other: Home) -> bool:
    """Tell whether a record is among those that are asked together with `home`."""
    paths = [home.path, *(_path(home, name) for name in settings.stores)]
    return any(path.exists() and path.samefile(other.path) for path in paths)


def forget_gone(together: Home, settings: Config) -> None:
    """Take the runs that no source has any more out of the store; raises Busy where somebody is at it."""
    here = {folder.name for folder in together.run_folders()}
    if not together.marks.is_dir() or not set(os.listdir(together.marks)) - here - {"settings"}:
        return
    with together.closed(), open_writer(together, settings, False, Lock(together, wait=False)) as store:
        known = {local_name(run) for run in store.indexed(provio("ofRun")).values()}
        for run in sorted(known - here):
            intake.forget(store, bundle_iri(RUN_BASE + run))
        store.publish()
    for note in set(os.listdir(together.marks)) - here - {"settings"}:
        (together.marks / note).unlink()


def _path(home: Home, name: str) -> Path:
    """The `.provio` that a setting means: it, or the folder that holds it, relative to the project's folder."""
    path = Path(os.path.abspath(home.project / os.path.expanduser(name)))
    return path / homes.NAME if (path / homes.NAME).is_dir() else path


def _source(home: Home, name: str, trusted: bool) -> Home:
    path = _path(home, name)
    if not (path / "runs").is_dir():
        os.listdir(path)  # says why, where that is the reason
        raise StoreError("is no .provio, nor has one")
    if not trusted and not owners.is_ours(path.stat()):
        raise StoreError(f"belongs to user {path.stat().st_uid}: name it in PROVIO_STORES to use it all the same")
    os.listdir(path / "runs")
    check_version(Home(path))
    return Home(path)
