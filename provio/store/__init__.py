"""The store's one interface: a `.provio` and what is set in, a store open for asking or for merging out.

    Reader     what a question asks: rows of a SELECT, what is said of a node
    Store      a store open for asking: a Reader of all runs, or of the graphs named; whole answers, exports
    Writer     the one writer: whole graphs, the index, single triples of the graphs that are derived
    Confined   a Reader of some graphs of a Store and of no other
    embedded   pyoxigraph on disk      remote   any server of SPARQL 1.1

A reader never sees half a merge: what a run's graph holds counts from when the index names the graph. Nothing outside
this package names a backend.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from provio.base.errors import Busy as Busy
from provio.base.errors import StoreError
from provio.settings.home import Home
from provio.trace import run_source

if TYPE_CHECKING:
    import pyoxigraph as ox

    from provio.settings.lock import Lock
    from provio.settings.schema import Config
    from provio.store.versions import Versions

    Answer = ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples


INDEX = "https://w3id.org/provio/index"  # the name of the index where it is asked for; embedded it is the default graph


class Damaged(StoreError):
    """The store's files are not what a store is; the run folders still hold everything."""


class Reader(Protocol):
    """What can be asked. `as_of` tells, while runs go on, of which moment its answers are; `going` are these runs."""

    as_of: str
    going: frozenset[str]

    def rows(self, sparql: str) -> Iterator[dict[str, str]]:
        """Yield the solutions of a SELECT: variable → lexical value, unbound ones left out."""

    def table(self, sparql: str) -> Iterator[list[str]]:
        """Yield them as lists of lexical values, unbound ones empty: several times as fast where there are many."""

    def about(self, iri: str) -> Iterator[tuple[str, str]]:
        """Yield what is said of one node, (predicate, lexical value): quicker than a query, where nodes are few."""


class Store(Reader, Protocol):
    """A store open for asking: the union of all graphs and the index, or of the `graphs` named and no other."""

    def query(self, sparql: str, graphs: Sequence[str] | None = None, named: Sequence[str] | None = None) -> Answer:
        """Ask anything, provio's prefixes known; with GRAPH the graphs `named`, where they are others.

        Raises SyntaxError for what is not SPARQL.
        """

    def run_graphs(self) -> list[str]:
        """Return the names of all graphs, where these are to be named to be asked with GRAPH; nothing of a server."""

    def rows(self, sparql: str, graphs: Sequence[str] | None = None) -> Iterator[dict[str, str]]:
        """Yield the solutions of a SELECT, as a Reader does."""

    def table(self, sparql: str, graphs: Sequence[str] | None = None) -> Iterator[list[str]]:
        """Yield them as lists, as a Reader does."""

    def about(self, iri: str, graphs: Sequence[str] | None = None) -> Iterator[tuple[str, str]]:
        """Yield what is said of one node, as a Reader does."""

    def dataset(self, graph: str | None, form: ox.RdfFormat) -> bytes:
        """Return one named graph, or all of them with the index, as a document of quads for other tools: with the
        classes of PROV that the stored ones imply (`implied`)."""

    def triples(self, graph: str | None, form: ox.RdfFormat) -> bytes:
        """Return one named graph, or the union of all, as a document of triples for other tools, as `dataset` does."""

    def quads(self, graph: str | None = None) -> ox.Store:
        """Return all quads as they are stored, or those of one graph and of `implied.CLASSES` at least, for who asks
        more than servers answer."""


class Writer(Protocol):
    """The one writer of a store, as a context manager; `begun` tells that the store was empty, `anew` that it is made
    beside the published one."""

    begun: bool
    anew: bool

    @property
    def versions(self) -> Versions:
        """The index of the versions that the runs of this record know."""

    def listed(self, graph: str) -> str:
        """Return the name of the list of a run's graph, in the index too; empty where there is none."""

    def __enter__(self) -> Writer:
        """Return itself."""

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let others write."""

    def replace(self, graph: str, pieces: Iterable[str]) -> None:
        """Make `pieces` (N-Triples) the whole content of a graph, which the index does not know yet."""

    def index(self, lines: Iterable[str]) -> None:
        """Say in the index what is in the graphs, last of all: a run that it does not name is not merged."""

    def drop(self, graph: str) -> None:
        """Remove a graph and its index."""

    def left_behind(self, runs: Container[str]) -> Iterator[tuple[str, str, str, str]]:
        """Yield of an earlier version's store the runs that are none of these: graph, run, content hash, N-Triples."""

    def objects(self, subject: str, predicate: str) -> list[tuple[str, str]]:
        """Return the objects of a subject's property in every graph, each with its graph."""

    def subjects(self, predicate: str, object_: str | int) -> list[tuple[str, str]]:
        """Return the subjects that have this object (an IRI, or an integer) in any graph, each with its graph."""

    def members(self, graph: str, predicate: str, object_: str | None = None) -> Iterator[str]:
        """Yield the subjects that have a property in a graph."""

    def statements(self, graph: str) -> Iterator[tuple[str, str, str]]:
        """Yield all that a graph says; literals by their lexical form."""

    def about(self, graph: str, subject: str) -> Iterator[tuple[str, str, str]]:
        """Yield all that a graph says of a subject; literals by their lexical form."""

    def has(self, predicate: str) -> bool:
        """Tell whether anything is said by a property."""

    def stating(self, predicate: str, text: str) -> list[str]:
        """Return the subjects that have this text in any graph."""

    def withdraw(self, graph: str, statements: Iterable[tuple[str, str, str]]) -> None:
        """Remove all that a graph says of these subjects by these properties with these values."""

    def add(self, graph: str, lines: Iterable[str]) -> None:
        """Add N-Triples to a graph."""

    def rows(self, sparql: str) -> Iterator[dict[str, str]]:
        """Ask the union of all graphs: the solutions of a SELECT as a Reader gives them."""

    def indexed(self, predicate: str) -> dict[str, str]:
        """Return what the index says: graph → value of `predicate`."""

    def update(self, sparql: str) -> None:
        """Carry out an update, or nothing of it; raises BadQuery where it changes what is provio's, SyntaxError."""

    def renew(self, progress: Callable[[str], None]) -> None:
        """Have its tables hold no word of what was taken out, when it is published next, which is the last that is done
        with it; a server's are its own."""

    def publish(self) -> None:
        """Let readers see what was written since."""


class Confined:
    """A reader that sees some graphs and no other."""

    def __init__(self, store: Store, graphs: Sequence[str]) -> None:
        self.store = store
        self.graphs = graphs
        self.as_of, self.going = store.as_of, store.going

    def rows(self, sparql: str) -> Iterator[dict[str, str]]:
        """Yield the solutions of a SELECT."""
        return self.store.rows(sparql, self.graphs)

    def table(self, sparql: str) -> Iterator[list[str]]:
        """Yield them as lists."""
        return self.store.table(sparql, self.graphs)

    def about(self, iri: str) -> Iterator[tuple[str, str]]:
        """Yield what is said of one node."""
        return self.store.about(iri, self.graphs)


def open_reader(home: Home, settings: Config | None = None, beneath: object = None) -> Store:
    """Open the store of a `.provio` for asking; what is `beneath` is kept as long as it is open.

    Raises NothingKnown where nothing has been merged yet, Damaged where its files are broken, StoreError.
    """
    if settings and settings.store:
        from provio.store.remote.reader import RemoteReader

        return RemoteReader(home, settings)
    from provio.store.embedded import StoreReader

    return StoreReader(home, beneath)


def open_writer(
    home: Home,
    settings: Config | None,
    wait: bool,
    lock: Lock | None = None,
    anew: bool = False,
) -> Writer:
    """Open the store of a `.provio` for merging, alone: with the `lock` that the caller has, or else one of its own.

    `anew` begins an empty one beside it, which takes its place when it is published. Raises Busy where somebody else
    holds it and `wait` is false, StoreError where it cannot be opened.
    """
    if settings and settings.store:
        from provio.settings.lock import Lock
        from provio.store.remote.writer import RemoteWriter

        return RemoteWriter(served(home, settings), settings, wait, lock or Lock(home, wait), anew)
    from provio.store.embedded import StoreWriter

    return StoreWriter(home, wait, lock, anew)


@contextlib.contextmanager
def writing(home: Home) -> Iterator[None]:
    """Say of what the disk refuses what it means and what to do, as a StoreError."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"cannot write the store in {home.path} ({error.strerror or error}): make room, or see who may write "
            "there; what was published is as before, and no run is lost"
        ) from error


def served(home: Home, settings: Config | None) -> Home:
    """Return a `.provio` as one whose store is where the settings say: what is merged is noted for each store."""
    return Home(home.path, settings.store) if settings and settings.store else home


def check_version(home: Home) -> None:
    """Raise StoreError where a newer provio wrote the store of a `.provio`."""
    from provio.store import embedded

    embedded.check_version(home)


def is_earlier(home: Home) -> bool:
    """Tell whether an earlier version wrote the embedded store of a `.provio`: it is to be made again."""
    from provio.store import embedded

    return embedded.check_version(home) in embedded.EARLIER


def pending(home: Home, settings: Config) -> list[Path]:
    """Return the run folders that the store does not hold as they are now, as far as times tell."""
    found = run_source.pending(served(home, settings), settings.conclusions)
    if not settings.store:
        return home.run_folders() if is_earlier(home) else found
    from provio.store.remote.reader import behind

    return home.run_folders() if behind(home, settings) else found
