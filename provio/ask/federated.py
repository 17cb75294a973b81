"""Several records asked as one: a project's own and those that `stores` names in, one store of all their runs out.

What one run wrote and another read, equal content, what follows from several runs: all of it goes across records. So
they are not asked one by one; their runs are merged, by the same code, into a store of its own, `.provio/together/`.
That holds each run once, brings in what is new or changed, and forgets what none of them has any more.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox

from provio.base.errors import ProvioError, StoreError
from provio.base.records import plain, replace
from provio.base.vocab import RUN_BASE, local_name, provio
from provio.graph.lines import bundle_iri
from provio.merge import intake, removal
from provio.settings import home as homes
from provio.settings.home import Home
from provio.settings.lock import Lock
from provio.settings.schema import Config
from provio.store import Store, check_version, implied, open_reader, open_writer, user_vocabulary
from provio.system import owners

NAME = "together"


@dataclass(frozen=True)
class Served:
    """A server's store, and what its index says of each graph: the run, and the hash of what it was made from."""

    store: Store
    runs: dict[str, tuple[str, str]]


@plain(frozen=True)
class Together(Home):
    """The folder of the store of all; `sources` are the records whose runs it holds."""

    path: Path
    server: str = ""
    sources: tuple[Home, ...] = ()
    servers: tuple[Served, ...] = ()

    @property
    def known(self) -> set[str]:
        """The ids of all runs that there are."""
        here = {folder.name for folder in self.run_folders()}
        return here.union(*(map(local_name, (run for run, _ in served.runs.values())) for served in self.servers))

    def run_folders(self) -> list[Path]:
        """The run folders of all sources, oldest first; of a run that several have, the first's."""
        found: dict[str, Path] = {}
        for source in self.sources:
            for folder in source.run_folders():
                found.setdefault(folder.name, folder)
        return [found[name] for name in sorted(found)]


def of(home: Home, settings: Config, complain: Callable[[str], None]) -> Together:
    """Return the home of all that are asked together; each that cannot be read is told to `complain`, and left out."""
    found, servers = {home.path.resolve(): home}, []
    for name in settings.stores:
        try:
            if "://" in name:
                servers.append(_served(home, name, settings))
                continue
            other = _source(home, name, trusted=settings.private("stores"))
            found.setdefault(other.path.resolve(), other)
        except (ProvioError, OSError) as error:
            reason = getattr(error, "strerror", None) or error
            complain(f"stores: {name}: {reason}; not in this answer")
    together = Together(home.path / NAME, sources=tuple(found.values()), servers=tuple(servers))
    with home.closed():
        together.path.mkdir(exist_ok=True)
    return together


def holds(home: Home, settings: Config, other: Home) -> bool:
    """Tell whether a record is among those that are asked together with `home`."""
    paths = [home.path, *(_path(home, name) for name in settings.stores if "://" not in name)]
    return any(path.exists() and path.samefile(other.path) for path in paths)


def forget_gone(together: Together, settings: Config) -> None:
    """Take the runs that no source has any more out of the store; raises Busy where somebody is at it."""
    gone = _noted(together) - together.known
    if gone:
        _forget(together, gone, settings, Lock(together, wait=False))


def remove(home: Home, runs: list[str], settings: Config, *, fast: bool, progress: Callable[[str], None]) -> None:
    """Take runs away, as `removal.remove` does, and out of the store of all that are asked together with `home`."""
    removal.remove(home, runs, settings, fast=fast, progress=progress)
    together = Home(home.path / NAME)
    held = _noted(together) & set(runs)
    if held and not fast:  # else the next question does it
        _forget(together, held, replace(settings, store=""), Lock(together, wait=True), progress)


def _noted(together: Home) -> set[str]:
    try:
        return set(os.listdir(together.marks)) - {"settings"}
    except OSError:
        return set()


def _forget(
    together: Home,
    runs: set[str],
    settings: Config,
    lock: Lock,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Take runs out, and their words."""
    with together.closed(), open_writer(together, settings, True, lock) as store:
        known = {local_name(run) for run in store.indexed(provio("ofRun")).values()}
        intake.forget(store, [bundle_iri(RUN_BASE + run) for run in sorted(known & runs)])
        store.renew(progress)
        store.publish()
    for run in runs:
        (together.marks / run).unlink(missing_ok=True)


def copy_served(together: Together, settings: Config) -> None:
    """Bring in the runs of servers that are new or changed, as far as no record has them; raises Busy."""
    here = {folder.name for folder in together.run_folders()}
    if not together.known - here:
        return
    moment = time.time_ns()
    with together.closed(), open_writer(together, settings, False, Lock(together, wait=False)) as store:
        copied = []
        for served in together.servers:
            hashes = store.indexed(provio("contentHash"))
            for graph, (run, content_hash) in served.runs.items():
                if local_name(run) not in here and hashes.get(graph) != content_hash:
                    intake.copy(store, graph, run, content_hash, _document(served.store, graph))
                    copied.append(local_name(run))
        if copied:
            user_vocabulary.keep_graph(store, implied.CLASSES, implied.lines())
            store.publish()
    for name in copied:
        together.mark(Path(name), moment)


def _document(store: Store, graph: str) -> str:
    """A graph as it is stored."""
    found = store.quads(graph).quads_for_pattern(None, None, None, ox.NamedNode(graph))
    return (ox.serialize((quad.triple for quad in found), format=ox.RdfFormat.N_TRIPLES) or b"").decode()


def _served(home: Home, url: str, settings: Config) -> Served:
    if not settings.private("stores"):
        raise StoreError("a project's file names no server: name it in PROVIO_STORES, or in your own settings")
    store = open_reader(home, replace(settings, store=url))
    index = f"SELECT ?graph ?run ?hash {{ ?graph <{provio('ofRun')}> ?run ; <{provio('contentHash')}> ?hash }}"
    return Served(store, {row["graph"]: (row["run"], row["hash"]) for row in store.rows(index)})


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
