"""The embedded store: pyoxigraph on disk, one writer under a lock, published to readers as hard-linked snapshots.

(pyoxigraph lets one process open a store for writing, and reading beside a writer is undefined; `backup` is cheap.)
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from types import TracebackType

import pyoxigraph as ox

from provio.errors import NothingKnown, StoreError
from provio.home import Home
from provio.vocab import PREFIXES

VERSION = "1"


class Busy(StoreError):
    """Another process is merging."""


class StoreWriter:
    """The one writer: a context manager that holds the lock of a `.provio`.

    Raises Busy where somebody else holds it and `wait` is false, StoreError where the store cannot be opened.
    """

    def __init__(self, home: Home, wait: bool) -> None:
        self.home = home
        self.lock = _locked(home, wait)
        try:
            _check_version(home)
            self.store = ox.Store(str(home.store))
        except OSError as error:
            os.close(self.lock)
            raise StoreError(
                f"cannot open the store {home.store} ({error}): delete it, provio merge makes it again"
            ) from error

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        del self.store
        os.close(self.lock)

    def replace(self, graph: str, pieces: Iterable[str], index: Iterable[str]) -> None:
        """Make `pieces` (N-Triples) the whole content of a graph, and `index` what the default graph says of it.

        The index comes last: a run whose index is missing counts as not merged.
        """
        self.drop(graph)
        name = ox.NamedNode(graph)
        for piece in pieces:
            self.store.bulk_load(input=piece.encode(), format=ox.RdfFormat.N_TRIPLES, to_graph=name, lenient=True)
        self.store.load(input="".join(index).encode(), format=ox.RdfFormat.N_TRIPLES)

    def drop(self, graph: str) -> None:
        """Remove a graph and its index."""
        name = ox.NamedNode(graph)
        for quad in list(self.store.quads_for_pattern(name, None, None, ox.DefaultGraph())):
            self.store.remove(quad)
        self.store.remove_graph(name)

    def indexed(self, predicate: str) -> dict[str, str]:
        """Return what the index says: graph → value of `predicate`."""
        query = f"SELECT ?graph ?value {{ ?graph <{predicate}> ?value }}"
        return {row["graph"]: row["value"] for row in _rows(self.store.query(query))}

    def publish(self) -> None:
        """Make a snapshot and let readers see it; older ones go once no reader can be opening them."""
        self.store.flush()
        snapshots = self.home.snapshots
        snapshots.mkdir(mode=0o700, exist_ok=True)
        numbers = [int(entry.name) for entry in os.scandir(snapshots) if entry.name.isdigit()]
        number = max(numbers, default=0) + 1
        self.store.backup(str(snapshots / str(number)))
        link = snapshots / "current.new"
        link.unlink(missing_ok=True)
        link.symlink_to(str(number))
        link.replace(snapshots / "current")
        for old in sorted(numbers)[:-1]:
            shutil.rmtree(snapshots / str(old), ignore_errors=True)


class StoreReader:
    """The published snapshot, for asking. Raises NothingKnown where nothing has been merged yet."""

    def __init__(self, home: Home) -> None:
        _check_version(home)
        snapshot = home.snapshots / "current"
        if not snapshot.exists():
            raise NothingKnown(
                f"nothing is recorded in {home.path} yet: record something first (provio run -- COMMAND)"
            )
        try:
            self.store = ox.Store.read_only(str(snapshot.resolve()))
        except OSError as error:
            raise StoreError(f"cannot open the store {snapshot} ({error}): provio merge makes it again") from error

    def query(self, sparql: str) -> ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples:
        """Ask the union of all graphs; raises SyntaxError for what is not SPARQL."""
        return self.store.query(sparql, use_default_graph_as_union=True)

    def rows(self, sparql: str) -> Iterator[dict[str, str]]:
        """Yield the solutions of a SELECT: variable → lexical value, unbound ones left out."""
        yield from _rows(self.query(sparql))

    def dataset(self, graph: str | None, form: ox.RdfFormat) -> bytes:
        """Return one named graph, or all of them with the index, as a document of quads."""
        quads = self.store.quads_for_pattern(None, None, None, ox.NamedNode(graph) if graph else None)
        return ox.serialize(quads, format=form, prefixes=PREFIXES) or b""

    def triples(self, graph: str | None, form: ox.RdfFormat) -> bytes:
        """Return one named graph, or the union of all, as a document of triples."""
        quads = self.store.quads_for_pattern(None, None, None, ox.NamedNode(graph) if graph else None)
        union = dict.fromkeys(quad.triple for quad in quads)
        return ox.serialize(union, format=form, prefixes=PREFIXES) or b""


def _rows(solutions: object) -> Iterator[dict[str, str]]:
    if not isinstance(solutions, ox.QuerySolutions):
        raise TypeError("rows needs a SELECT")
    names = [variable.value for variable in solutions.variables]
    for solution in solutions:
        yield {name: solution[name].value for name in names if solution[name] is not None}


def _locked(home: Home, wait: bool) -> int:
    fd = os.open(home.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(fd)
        raise Busy(f"the store {home.store} is busy: the run is kept and merged by the next question") from None
    return fd


def _check_version(home: Home) -> None:
    """Refuse a store that a newer provio wrote; note the version of a new one."""
    note = home.path / "store.version"
    try:
        found = note.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        if home.path.is_dir() and os.access(home.path, os.W_OK):
            note.write_text(VERSION + "\n", encoding="ascii")
        return
    if found != VERSION:
        raise StoreError(f"the store in {home.path} has version {found}, this provio knows {VERSION}: update provio")
