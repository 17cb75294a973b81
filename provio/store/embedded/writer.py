"""Writes the embedded store: loads and removes graphs, keeps the list of each run, and publishes.

The writer closes the store before it publishes: no table changes while it is being linked, and a snapshot contains no
table that the store does not contain.
"""

from __future__ import annotations

import io
import os
import time
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import pyoxigraph as ox

from provio.base.algorithms import batched
from provio.base.vocab import NS, PREFIXES, RDF
from provio.settings.home import Home, share
from provio.settings.lock import Lock
from provio.store import Damaged, statements, writing
from provio.store.embedded import compaction, snapshots
from provio.store.embedded.reader import rows_of, runs_of_earlier_version, value_of
from provio.store.embedded.snapshots import (
    EARLIER,
    StorePath,
    check_links,
    check_version,
    ensure_version,
    new_store_folder,
    note_version,
    opened,
)
from provio.store.embedded.update_guard import apply_update
from provio.store.statements import graph_of, list_name, list_names

if TYPE_CHECKING:
    from provio.store.versions import Versions

SMALL = 2_000_000  # bytes of N-Triples below which no separate table is written
LARGE = 16_000_000  # bytes of N-Triples above which a separate process loads the run
KEPT = 8_000_000  # bytes of small graphs that RocksDB keeps in memory and in its log before they become a table
CURRENT = "CURRENT"  # the file through which RocksDB finds all others: a folder without it contains no store
PIECE = 100_000  # quads that are copied at once
SHARED = frozenset({NS + "identifier", RDF + "type"})  # properties that are queried for shared nodes only


class StoreWriter:
    """The only writer: a context manager that holds the lock of a `.provio`.

    It moves a damaged store out of the way and starts an empty one (`is_new` is then true), because the run folders
    contain everything. Raises Busy if another process holds the lock and `wait` is false, StoreError if the store
    cannot be opened.
    """

    def __init__(self, home: Home, wait: bool, lock: Lock | None = None, rebuild: bool = False) -> None:
        self.home = home
        self.rebuild = rebuild
        self.lock = lock or Lock(home, wait)
        self.path = StorePath(home.kept)
        self.lists = statements.Lists(home.kept)
        self.written: list[str] = []  # lists that are not published yet
        self.new_lists: dict[str, str] = {}  # the lists of runs that the index does not name yet
        self.changed = self.dropped = False
        self.kept = 0
        self.large = LARGE
        self.rewritten: Callable[[], None] = lambda: None  # waits for RocksDB's own compactions
        try:
            check_links(home)
            with writing(home):
                ensure_version(home)
                if home.unfinished.exists():
                    snapshots.restore(home)
                if new_store_folder(home).exists():
                    snapshots.delete_folder(new_store_folder(home))  # it was never complete
            self.rebuild = rebuild = rebuild or check_version(home) in EARLIER
            self.is_new = rebuild or not (home.store / CURRENT).exists()
            self._open()
            if self.is_new and not rebuild:
                snapshots.delete_folder(home.marks)  # they describe a removed store: all runs are pending again
        except BaseException:
            self.lock.close()
            raise

    def _open(self) -> None:
        try:
            _ = self.store
        except Damaged:
            self.is_new = True
            self._folder.rename(self._folder.with_name(f"store.damaged-{time.time_ns()}"))
            _ = self.store

    @cached_property
    def store(self) -> ox.Store:
        """The store, opened on demand."""
        store = opened(ox.Store, self.path / self._folder.name, self._folder)
        for entry in os.scandir(self._folder):
            if entry.name.startswith("LOG.old."):  # RocksDB keeps a thousand of them, 140 KB each
                os.unlink(entry)
        return store

    @property
    def _folder(self) -> Path:
        return new_store_folder(self.home) if self.rebuild else self.home.store

    def _change(self) -> None:
        """Record that the store contains unpublished changes from here on."""
        if not self.changed and not self.rebuild:
            self.home.unfinished.touch()
        self.changed = True

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        if "versions" in vars(self):
            self.versions.close()
        self.path.close()
        share(self.home, self.home.store)
        share(self.home, self.home.snapshots)
        share(self.home, self.lists.folder)
        self.lock.close()

    def replace(self, graph: str, pieces: Iterable[str]) -> None:
        """Replace the content of a graph that the index does not name yet with `pieces` (N-Triples).

        All runs are in the default graph, and each has a list of its statements about shared nodes.
        """
        self.drop(graph)
        run = statements.run_of_graph(graph)
        if run is None:
            for piece in pieces:
                data = piece.encode()
                self.touched(ox.NamedNode(graph), data)
                self._load(ox.NamedNode(graph), data)
            return
        kept = self.lists.new(run)
        self.new_lists[graph] = kept.name  # the list that removes the loaded data again after an error
        try:
            self._load_run(kept, pieces)
        finally:
            kept.close()

    def _load_run(self, kept: statements.List, pieces: Iterable[str]) -> None:
        """Load the graph of a run: a small one at once, a large one piece by piece as the pieces are produced."""
        listed = (self._listed(kept, piece.encode()) for piece in pieces)
        first, size = deque[bytes](), 0
        for data in listed:
            first.append(data)
            size += len(data)
            if size > self.large:
                held = (first.popleft() for _ in range(len(first)))  # frees each piece once it is loaded
                self._load_in_child(chain(held, listed))
                return
        whole = b"".join(first)
        first.clear()
        self._load(ox.DefaultGraph(), whole)

    def _listed(self, kept: statements.List, data: bytes) -> bytes:
        """Add the statements of a piece about shared nodes to the run's list, and return the piece as bytes."""
        from provio.store.versions import notes_in

        kept.add(data)
        self.versions.add(kept.name, notes_in(data))
        self.touched(ox.DefaultGraph(), data)
        return data

    def _load_in_child(self, pieces: Iterable[bytes]) -> None:
        """Load a large run in another process while this process has the store closed."""
        from provio.store.embedded import loading  # slow to import, and most runs are small

        self._close()
        held = [fd for fd in (self.lock.fd, self.path.fd) if fd >= 0]  # keep the lock until the loader ends
        try:
            loading.load(self.path / self._folder.name, pieces, held)
        finally:
            _ = self.store  # RocksDB compacts the loaded data from here on
            self.rewritten = compaction.wait

    def _load(self, graph: ox.NamedNode | ox.DefaultGraph, data: bytes) -> None:
        """Load a piece; a small one does not become a table of its own, which costs ten times as much and causes
        compactions of other tables."""
        if len(data) < SMALL:
            self.store.load(input=data, format=ox.RdfFormat.N_TRIPLES, to_graph=graph, lenient=True)
            self._keep(len(data))
        else:
            self.store.bulk_load(io.BytesIO(data), ox.RdfFormat.N_TRIPLES, to_graph=graph, lenient=True)

    def _close(self) -> None:
        vars(self).pop("store", None)
        self.kept = 0

    def _keep(self, size: int) -> None:
        """Flush RocksDB's memory to a table once many small graphs have accumulated."""
        self.kept += size
        if self.kept > KEPT:
            self.store.flush()
            self.kept = 0

    def index(self, lines: Iterable[str]) -> None:
        """Add the index entries to the default graph, as the last step: a run that the index does not name is not
        merged."""
        self._change()
        text = "".join(lines).encode()
        self.store.load(input=text, format=ox.RdfFormat.N_TRIPLES)
        self.touched(ox.DefaultGraph(), text)
        for graph in list(self.new_lists):
            name = list_name(self.store, graph)
            if name:
                self.versions.rename(self.new_lists[graph], name)
                self.lists.settle(self.new_lists.pop(graph), name)
                self.settled_lists[graph] = name
                self.written.append(name)

    def drop(self, graph: str) -> None:
        """Remove a graph and its index entries; of a run, the statements that no other run makes."""
        self._change()
        run = statements.run_of_graph(graph)
        if run is not None:
            name = self.listed(graph)
            if name:
                self.versions.drop(name)
                self.new_lists.pop(graph, None)
                self.settled_lists.pop(graph, None)
                self.dropped = True
                self.remove(statements.only_of(self.store, self.lists, run, name, self.list_names()))
            return
        name_ = ox.NamedNode(graph)
        self.remove(self.store.quads_for_pattern(name_, None, None, ox.DefaultGraph()))
        self.dropped |= self.store.contains_named_graph(name_)
        self.remove(self.store.quads_for_pattern(None, None, None, name_))
        self.store.remove_graph(name_)

    def remove(self, quads: Iterable[ox.Quad]) -> None:
        """Remove statements."""
        for quad in list(quads):
            self.store.remove(quad)

    def touched(self, graph: ox.NamedNode | ox.DefaultGraph, data: bytes) -> None:
        """Receive the N-Triples that are added to a graph; does nothing here."""

    def listed(self, graph: str) -> str:
        """Return the name of the list of a run's graph; empty if the graph is not in the store."""
        return self.new_lists.get(graph) or self.settled_lists.get(graph) or ""

    @cached_property
    def versions(self) -> Versions:
        """The index of the versions in the lists, as published."""
        from provio.store.versions import (
            Versions,
            notes_in,  # slow to import, and queries do not use it
        )

        self.lists.folder.mkdir(exist_ok=True)
        found, settled = Versions(self.lists.folder / "versions.sqlite"), set(self.settled_lists.values())
        for name in found.ids.keys() - settled:
            found.drop(name)
        for name in settled - found.ids.keys():
            for notes in self.lists.pieces(name):
                found.add(name, notes_in(notes))
        return found

    def list_names(self) -> list[str]:
        """Return the names of the lists of all runs."""
        return [*self.settled_lists.values(), *self.new_lists.values()]

    @cached_property
    def settled_lists(self) -> dict[str, str]:
        """The names of the lists of all runs that the index names, by their graphs."""
        return list_names(self.store)

    def runs_only_in_earlier_version(self, runs: Container[str]) -> Iterator[tuple[str, str, str, str]]:
        """Yield the runs that are in the store of an earlier version but not in `runs`: graph, run, content hash,
        N-Triples."""
        return runs_of_earlier_version(self.home, runs)

    def objects(self, subject: str, predicate: str) -> list[tuple[str, str]]:
        """Return the objects of a subject's property in all graphs, each with its graph (that of its run)."""
        found = self.store.quads_for_pattern(ox.NamedNode(subject), ox.NamedNode(predicate), None, None)
        return [(value_of(quad.object), graph_of(quad)) for quad in found]

    def subjects(self, predicate: str, object_: str | int) -> list[tuple[str, str]]:
        """Return the subjects that have this object (an IRI or an integer) in any graph, each with its graph."""
        term = ox.Literal(object_) if isinstance(object_, int) else ox.NamedNode(object_)
        found = self.store.quads_for_pattern(None, ox.NamedNode(predicate), term, None)
        return [(value_of(quad.subject), graph_of(quad)) for quad in found]

    def members(self, graph: str, predicate: str, object_: str | None = None) -> Iterator[str]:
        """Yield the subjects that have a property in the graph of a run."""
        run = statements.run_of_graph(graph)
        name = self.listed(graph)
        if run is None or not name:
            return
        if predicate not in SHARED:
            term = ox.NamedNode(object_) if object_ else None
            for quad in self.store.quads_for_pattern(None, ox.NamedNode(predicate), term, ox.DefaultGraph()):
                if statements.owner(quad) == run:
                    yield value_of(quad.subject)
            return
        yield from self.lists.subjects(name, f"<{predicate}> {f'<{object_}> ' if object_ else ''}")

    def statements(self, graph: str) -> Iterator[tuple[str, str, str]]:
        """Yield all statements of a graph; literals as their lexical form."""
        for quad in self.store.quads_for_pattern(None, None, None, ox.NamedNode(graph)):
            yield value_of(quad.subject), quad.predicate.value, value_of(quad.object)

    def about(self, graph: str, subject: str) -> Iterator[tuple[str, str, str]]:
        """Yield all statements of a graph about a subject; literals as their lexical form."""
        for quad in self.store.quads_for_pattern(ox.NamedNode(subject), None, None, ox.NamedNode(graph)):
            yield subject, quad.predicate.value, value_of(quad.object)

    def has(self, predicate: str) -> bool:
        """Return whether any statement uses a property."""
        return next(iter(self.store.quads_for_pattern(None, ox.NamedNode(predicate), None, None)), None) is not None

    def subjects_with_text(self, predicate: str, text: str) -> list[str]:
        """Return the subjects that have this text as a value of a property in any graph."""
        found = self.store.quads_for_pattern(None, ox.NamedNode(predicate), ox.Literal(text), None)
        return [value_of(quad.subject) for quad in found]

    def remove_statements(self, graph: str, statements: Iterable[tuple[str, str, str]]) -> None:
        """Remove the given statements (subject, property, value) from a graph."""
        self._change()
        name = ox.NamedNode(graph)
        for subject, predicate, value in statements:
            found = self.store.quads_for_pattern(ox.NamedNode(subject), ox.NamedNode(predicate), None, name)
            self.remove(quad for quad in found if value_of(quad.object) == value)

    def add(self, graph: str, lines: Iterable[str]) -> None:
        """Add N-Triples to a graph."""
        text = "".join(lines).encode()
        if text:
            self._change()
            self.store.load(input=text, format=ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode(graph))
            self.touched(ox.NamedNode(graph), text)

    def rows(self, sparql: str) -> Iterator[dict[str, str]]:
        """Query the union of all graphs; yield the solutions of a SELECT like `StoreReader.rows`."""
        yield from rows_of(self.store.query(sparql, prefixes=PREFIXES, use_default_graph_as_union=True))

    def indexed(self, predicate: str) -> dict[str, str]:
        """Return the index entries of a property: graph → value of `predicate`."""
        found = self.store.quads_for_pattern(None, ox.NamedNode(predicate), None, ox.DefaultGraph())
        return {value_of(quad.subject): value_of(quad.object) for quad in found}

    def update(self, sparql: str) -> None:
        """Apply an update completely or not at all."""
        self._change()  # the next writer undoes unpublished changes
        self.dropped = True  # possibly
        apply_update(self.store, sparql)

    def rewrite_tables(self, progress: Callable[[str], None]) -> None:
        """Copy all statements into a new store, which replaces this one when it is published: the tables of a store
        keep every term that was ever in them."""
        folder, total, done = new_store_folder(self.home), len(self.store), 0
        with writing(self.home):
            try:
                fresh = ox.Store(self.path / folder.name)
                for piece in batched(self.store, PIECE):
                    fresh.bulk_extend(piece)
                    done += len(piece)
                    progress(f"removing their terms from the store: {100 * done // total} %")
            except OSError:
                snapshots.delete_folder(folder)
                raise
        progress("")
        self.store, self.rebuild = fresh, True

    def publish(self) -> None:
        """Publish a snapshot for readers; a new store (`rebuild`) replaces the old one."""
        self.rewritten()
        lists = self.list_names()
        with writing(self.home):
            if self.rebuild:
                self.home.unfinished.touch()
            self.store.flush()
            if self.dropped:
                compaction.compact(self.store, self._folder)
            self._close()
            for log in self._folder.glob("*.log"):  # its content is in tables
                log.unlink()
            self.lists.sync(self.written)
            self.written.clear()
            if "versions" in vars(self):
                self.versions.commit()
            snapshots.publish(self.home, self._folder)
            if self.rebuild:
                snapshots.delete_folder(self.home.store)
                new_store_folder(self.home).rename(self.home.store)
                note_version(self.home)
                self.rebuild = False
            self.home.unfinished.unlink(missing_ok=True)
            self.lists.delete_except(lists)
        self.changed = self.dropped = False

    def become_snapshot(self) -> None:
        """Turn the store itself into the only snapshot, as the last operation: it is never written again."""
        self.rewritten()
        self.store.flush()
        self._close()
        for log in self._folder.glob("*.log"):
            log.unlink()
        self.home.snapshots.mkdir()
        self._folder.rename(self.home.snapshots / "1")
        (self.home.snapshots / "current").symlink_to("1")
