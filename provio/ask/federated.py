"""Queries across several records: the project's own and those in the setting `stores` in, one store of all their runs
out.

Dependencies cross the borders of records: files that one run wrote and another read, equal content, conclusions from
several runs. Therefore the records are not queried one by one. The same code merges their runs into a separate store,
`.provio/together/`. That store holds each run once, takes in new and changed runs, and removes the runs that no
record has any more.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox

from provio.base.errors import ProvioError, StoreError
from provio.base.records import replace
from provio.base.vocab import RUN_BASE, local_name, provio
from provio.graph.lines import bundle_iri
from provio.merge import intake, removal
from provio.settings import home as homes
from provio.settings.home import Home
from provio.settings.lock import Lock
from provio.settings.schema import Config
from provio.store import Store, check_version, implied, open_reader, open_writer, user_vocabulary

NAME = "together"


@dataclass(frozen=True)
class Served:
    """The store of a server; `runs` maps each graph in its index to the run and the hash of the source data."""

    store: Store
    runs: dict[str, tuple[str, str]]


class Together(Home):
    """The folder of the combined store; `sources` are the records whose runs it holds, `servers` further ones."""

    def __init__(self, path: Path, sources: tuple[Home, ...], servers: tuple[Served, ...] = ()) -> None:
        super().__init__(path)
        self.sources, self.servers = sources, servers

    @property
    def records(self) -> tuple[Path, ...]:
        """The `.provio` folders whose runs the store contains."""
        return tuple(source.path for source in self.sources)

    @property
    def known(self) -> set[str]:
        """Return the ids of all runs of the sources and servers."""
        here = {folder.name for folder in self.run_folders()}
        return here.union(*(map(local_name, (run for run, _ in served.runs.values())) for served in self.servers))

    def run_folders(self) -> list[Path]:
        """Return the run folders of all sources, oldest first; for a run in several sources the folder of the first."""
        found: dict[str, Path] = {}
        for source in self.sources:
            for folder in source.run_folders():
                found.setdefault(folder.name, folder)
        return [found[name] for name in sorted(found)]

    def run_folder(self, run: str) -> Path:
        """Return the folder of a run, of the first source that has it."""
        return next((folder for folder in self.run_folders() if folder.name == run), self.runs / run)

    def notes_folders(self) -> list[Path]:
        """Return the folders with the notes of users, of all sources."""
        return [source.notes for source in self.sources]


def combined_home(home: Home, settings: Config, complain: Callable[[str], None]) -> Together:
    """Return the home of the combined store; a source that cannot be read is reported to `complain` and omitted."""
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
    """Return whether a record is one of those that are queried together with `home`."""
    paths = [home.path, *(_path(home, name) for name in settings.stores if "://" not in name)]
    return any(path.exists() and path.samefile(other.path) for path in paths)


def forget_removed(together: Together, settings: Config) -> None:
    """Remove the runs that no source has any more from the store; raises Busy if another process is writing to it."""
    removed = _noted(together) - together.known
    if removed:
        _forget(together, removed, settings, Lock(together, wait=False))


def remove(home: Home, runs: list[str], settings: Config, *, fast: bool, progress: Callable[[str], None]) -> None:
    """Remove runs as `removal.remove` does, and also from the store of all records queried together with `home`."""
    removal.remove(home, runs, settings, fast=fast, progress=progress)
    together = Home(home.path / NAME)
    affected = _noted(together) & set(runs)
    if affected and not fast:  # with `fast` the next query does it
        _forget(together, affected, replace(settings, store=""), Lock(together, wait=True), progress)


def _noted(together: Home) -> set[str]:
    try:
        return set(filter(homes.RUN_ID.fullmatch, os.listdir(together.marks)))
    except OSError:
        return set()


def _forget(
    together: Home,
    runs: set[str],
    settings: Config,
    lock: Lock,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Remove runs from the store, and their marks."""
    with together.closed(), open_writer(together, settings, True, lock) as store:
        known = {local_name(run) for run in store.indexed(provio("ofRun")).values()}
        intake.forget(store, [bundle_iri(RUN_BASE + run) for run in sorted(known & runs)])
        store.rewrite_tables(progress)
        store.publish()
    for run in runs:
        (together.marks / run).unlink(missing_ok=True)


def copy_served(together: Together, settings: Config) -> None:
    """Copy the new or changed runs of servers that no record on this machine has; raises Busy."""
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
            user_vocabulary.replace_graph(store, implied.CLASSES, implied.lines())
            store.publish()
    for name in copied:
        together.mark(Path(name), moment)


def _document(store: Store, graph: str) -> str:
    """Return a graph as stored."""
    found = store.quads(graph).quads_for_pattern(None, None, None, ox.NamedNode(graph))
    return (ox.serialize((quad.triple for quad in found), format=ox.RdfFormat.N_TRIPLES) or b"").decode()


def _served(home: Home, url: str, settings: Config) -> Served:
    if not settings.private("stores"):
        raise StoreError("a project's file names no server: name it in PROVIO_STORES, or in your own settings")
    store = open_reader(home, replace(settings, store=url))
    index = f"SELECT ?graph ?run ?hash {{ ?graph <{provio('ofRun')}> ?run ; <{provio('contentHash')}> ?hash }}"
    return Served(store, {row["graph"]: (row["run"], row["hash"]) for row in store.rows(index)})


def _path(home: Home, name: str) -> Path:
    """Return the `.provio` of a setting (the folder itself, or its parent), relative to the project's folder."""
    path = Path(os.path.abspath(home.project / os.path.expanduser(name)))
    return path / homes.NAME if (path / homes.NAME).is_dir() else path


def _source(home: Home, name: str, trusted: bool) -> Home:
    path = _path(home, name)
    if not (path / "runs").is_dir():
        os.listdir(path)  # raises the OSError with the reason, if there is one
        raise StoreError("is neither a .provio nor contains one")
    if not trusted and not homes.is_ours(path.stat()):
        raise StoreError(f"belongs to user {path.stat().st_uid}: name it in PROVIO_STORES to use it anyway")
    os.listdir(path / "runs")
    check_version(Home(path))
    return Home(path)
