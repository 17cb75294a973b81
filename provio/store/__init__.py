"""Interface of the store: opens the store of a `.provio`, as its settings configure it, for queries or for a merge.

    Reader     the operations of a query: rows of a SELECT, the statements about a node
    Store      a store open for queries: a Reader of all runs or of the given graphs; full answers, exports
    Writer     the only writer: complete graphs, the index, single triples of the derived graphs
    Confined   a Reader of some graphs of a Store and of no others
    embedded   pyoxigraph on disk      remote   any SPARQL 1.1 server

A reader never sees a partial merge: the content of a run's graph counts from the moment at which the index names the
graph. No module outside this package names a backend.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Protocol

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


INDEX = "https://w3id.org/provio/index"  # the index's name in queries; in the embedded store it is the default graph


class Damaged(StoreError):
    """The files of the store are not those of a valid store; the run folders still contain everything."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"{problem}: provio merge --rebuild builds it again")
        self.problem = problem


@contextlib.contextmanager
def undamaged() -> Iterator[None]:
    """Raise Damaged if the store finds a block with another checksum in this block of statements."""
    try:
        yield
    except RuntimeError as error:
        if not str(error).startswith("Corruption: "):
            raise
        raise Damaged(f"the store is damaged ({error})") from error


class Reader(Protocol):
    """The operations of a query. `in_progress` contains the runs in progress, and `as_of` is then the moment that the
    answers describe. `places` are the present folders of the runs' projects, and those that were relocated."""

    as_of: str
    in_progress: frozenset[str]
    places: tuple[bytes, ...]

    def rows(self, sparql: str) -> Iterator[dict[str, str]]:
        """Yield the solutions of a SELECT: variable → lexical value, without the unbound ones."""

    def table(self, sparql: str) -> Iterator[list[str]]:
        """Yield the solutions as lists of lexical values, unbound ones empty; several times as fast as `rows` for
        many solutions."""

    def about(self, iris: Iterable[str]) -> list[tuple[str, str, str]]:
        """Return the statements about a few nodes as (node, predicate, lexical value); faster than a query."""


class Store(Reader, Protocol):
    """A store open for queries: the union of all graphs and the index, or only the given `graphs`."""

    def query(self, sparql: str, graphs: Sequence[str] | None = None, named: Sequence[str] | None = None) -> Answer:
        """Run any query, with provio's prefixes declared; GRAPH matches the graphs in `named`, if they differ from
        `graphs`.

        Raises SyntaxError for invalid SPARQL.
        """

    def run_graphs(self) -> list[str]:
        """Return the names of all graphs, for queries that must name the graphs that GRAPH matches."""

    def rows(self, sparql: str, graphs: Sequence[str] | None = None) -> Iterator[dict[str, str]]:
        """Yield the solutions of a SELECT, like `Reader.rows`."""

    def table(self, sparql: str, graphs: Sequence[str] | None = None) -> Iterator[list[str]]:
        """Yield the solutions as lists, like `Reader.table`."""

    def about(self, iris: Iterable[str], graphs: Sequence[str] | None = None) -> list[tuple[str, str, str]]:
        """Return the statements about a few nodes, like `Reader.about`."""

    def exported(self, graph: str | None, union: bool = False) -> Iterator[ox.Quad]:
        """Yield the quads of `dataset`, or the union of all graphs, without holding them in memory."""

    def dump(self, graph: str | None, output: IO[bytes]) -> None:
        """Write the statements of one named graph, or of all with the index, as N-Triples, without those that they
        imply; a statement of several graphs may be there several times. It is the fastest way to read all of them."""

    def dataset(self, graph: str | None, form: ox.RdfFormat) -> bytes:
        """Return one named graph, or all of them with the index, as a document of quads for other tools. It includes
        the PROV classes that the stored classes imply (`implied`)."""

    def triples(self, graph: str | None, form: ox.RdfFormat) -> bytes:
        """Return one named graph, or the union of all, as a document of triples for other tools, like `dataset`."""

    def quads(self, graph: str | None = None) -> ox.Store:
        """Return all quads as they are stored, or those of one graph and at least those of `implied.CLASSES`, for
        questions that servers cannot answer."""


class Writer(Protocol):
    """The only writer of a store, a context manager. `is_new` is true if the store was empty, `rebuild` if the
    writer builds a new store next to the published one."""

    is_new: bool
    rebuild: bool

    @property
    def versions(self) -> Versions:
        """The index of the versions that the runs of this record know."""

    def listed(self, graph: str) -> str:
        """Return the name of the list of a run's graph, which the index contains too; empty if there is none."""

    def __enter__(self) -> Writer:
        """Return the writer itself."""

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the store for other writers."""

    def replace(self, graph: str, pieces: Iterable[str]) -> None:
        """Replace the content of a graph that the index does not name yet with `pieces` (N-Triples)."""

    def index(self, lines: Iterable[str]) -> None:
        """Add the index entries of the graphs, as the last step: a run that the index does not name is not merged."""

    def drop(self, graph: str) -> None:
        """Remove a graph and its index entries."""

    def runs_only_in_earlier_version(self, runs: Container[str]) -> Iterator[tuple[str, str, str, str]]:
        """Yield the runs that are in the store of an earlier version but not in `runs`: graph, run, content hash,
        N-Triples."""

    def objects(self, subject: str, predicate: str) -> list[tuple[str, str]]:
        """Return the objects of a subject's property in all graphs, each with its graph."""

    def subjects(self, predicate: str, object_: str | int) -> list[tuple[str, str]]:
        """Return the subjects that have this object (an IRI or an integer) in any graph, each with its graph."""

    def members(self, graph: str, predicate: str, object_: str | None = None) -> Iterator[str]:
        """Yield the subjects that have a property in a graph."""

    def statements(self, graph: str) -> Iterator[tuple[str, str, str]]:
        """Yield all statements of a graph; literals as their lexical form."""

    def about(self, graph: str, subject: str) -> Iterator[tuple[str, str, str]]:
        """Yield all statements of a graph about a subject; literals as their lexical form."""

    def has(self, predicate: str) -> bool:
        """Return whether any statement uses a property."""

    def subjects_with_text(self, predicate: str, text: str) -> list[str]:
        """Return the subjects that have this text as a value of a property in any graph."""

    def remove_statements(self, graph: str, statements: Iterable[tuple[str, str, str]]) -> None:
        """Remove the given statements (subject, property, value) from a graph."""

    def add(self, graph: str, lines: Iterable[str]) -> None:
        """Add N-Triples to a graph."""

    def rows(self, sparql: str) -> Iterator[dict[str, str]]:
        """Query the union of all graphs; yield the solutions of a SELECT like `Reader.rows`."""

    def indexed(self, predicate: str) -> dict[str, str]:
        """Return the index entries of a property: graph → value of `predicate`."""

    def update(self, sparql: str) -> None:
        """Apply an update completely or not at all; raises BadQuery if it changes provio's own data, SyntaxError."""

    def rewrite_tables(self, progress: Callable[[str], None]) -> None:
        """Remove all terms of deleted statements from the store's tables; this takes effect at the next `publish`,
        which must be the last operation of the writer. A server manages its own tables."""

    def publish(self) -> None:
        """Make the changes so far visible to readers."""


class Confined:
    """A reader that sees some graphs and no others."""

    def __init__(self, store: Store, graphs: Sequence[str]) -> None:
        self.store = store
        self.graphs = graphs
        self.as_of, self.in_progress, self.places = store.as_of, store.in_progress, store.places

    def rows(self, sparql: str) -> Iterator[dict[str, str]]:
        """Yield the solutions of a SELECT."""
        return self.store.rows(sparql, self.graphs)

    def table(self, sparql: str) -> Iterator[list[str]]:
        """Yield the solutions as lists."""
        return self.store.table(sparql, self.graphs)

    def about(self, iris: Iterable[str]) -> list[tuple[str, str, str]]:
        """Return the statements about a few nodes."""
        return self.store.about(iris, self.graphs)


def open_reader(home: Home, settings: Config | None = None, beneath: object = None) -> Store:
    """Open the store of a `.provio` for queries; keep a reference to `beneath` while it is open.

    Raises NothingKnown if nothing has been merged yet, Damaged if the files are broken, StoreError.
    """
    if settings and settings.store:
        from provio.store.remote.reader import RemoteReader

        return RemoteReader(home, settings)
    from provio.store.embedded.reader import StoreReader

    return StoreReader(home, beneath)


def open_writer(
    home: Home,
    settings: Config | None,
    wait: bool,
    lock: Lock | None = None,
    rebuild: bool = False,
) -> Writer:
    """Open the store of a `.provio` exclusively for a merge, under the caller's `lock` or else a lock of its own.

    `rebuild` builds an empty store next to the existing one and replaces that at publication. Raises Busy if another
    process holds the lock and `wait` is false, StoreError if the store cannot be opened.
    """
    if settings and settings.store:
        from provio.settings.lock import Lock
        from provio.store.remote.writer import RemoteWriter

        return RemoteWriter(served(home, settings), settings, wait, lock or Lock(home, wait), rebuild)
    from provio.store.embedded.writer import StoreWriter

    return StoreWriter(home, wait, lock, rebuild)


@contextlib.contextmanager
def writing(home: Home) -> Iterator[None]:
    """Convert an OSError of a write in this block to a StoreError that explains the cause and the remedy."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"cannot write the store in {home.path} ({error.strerror or error}): make room, or check the "
            "permissions; the published store is unchanged, and no run is lost"
        ) from error


def served(home: Home, settings: Config | None) -> Home:
    """Return the `.provio` as a Home for the store in the settings: each store has its own record of the merged
    runs."""
    return Home(home.path, settings.store) if settings and settings.store else home


def check_version(home: Home) -> None:
    """Raise StoreError if a newer provio wrote the store of a `.provio`."""
    from provio.store.embedded import snapshots

    snapshots.check_version(home)


def is_earlier(home: Home) -> bool:
    """Return whether an earlier version wrote the embedded store of a `.provio`; such a store must be built again."""
    from provio.store.embedded import snapshots

    return snapshots.check_version(home) in snapshots.EARLIER


def pending(home: Home, settings: Config, earlier: bool | None = None) -> list[Path]:
    """Return the run folders with changes that are not in the store, as far as modification times show it; `earlier`
    is the result of `is_earlier`, if the caller has it."""
    if settings.store:
        from provio.store.remote.reader import behind

        outdated = behind(home, settings)
    else:
        outdated = is_earlier(home) if earlier is None else earlier
    return home.run_folders() if outdated else run_source.pending(served(home, settings), settings.conclusions)
