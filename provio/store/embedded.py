"""The embedded store: pyoxigraph on disk, one writer under a lock, published to readers as hard-linked snapshots.

(pyoxigraph lets one process open a store for writing, and reading beside a writer is undefined; `backup` is cheap.)
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import IO, cast

import pyoxigraph as ox

from provio.errors import NothingKnown, StoreError, remedy
from provio.home import Home, share
from provio.lock import Lock
from provio.store import INDEX, Damaged, snapshots, spool, writing
from provio.store.spool import Part, Spool
from provio.vocab import PREFIXES

VERSION = "1"
SMALL = 2_000_000  # bytes of N-Triples that are no table of their own
LARGE = 8 * spool.PIECE  # bytes of them that are loaded apart: less is rewritten too seldom to pay for it
KEPT = 8_000_000  # bytes of such that RocksDB holds in memory, and in its log, before they become one
CURRENT = "CURRENT"  # the file by which RocksDB finds all others: a folder without it holds no store
PIECE = 100_000  # quads that are copied at once
ADDRESSES = 448 << 20  # bytes of address space that RocksDB and its threads were seen to take
# Bytes of N-Triples after which the store is closed and opened again: until then RocksDB keeps one of twelve in memory.
FRESH = 150_000_000


class StoreWriter:
    """The one writer: a context manager that holds the lock of a `.provio`.

    A store that is damaged is put aside and begun anew (`begun` is then true), for the run folders hold everything.
    Raises Busy where somebody else holds it and `wait` is false, StoreError where the store cannot be opened.
    """

    def __init__(self, home: Home, wait: bool, lock: Lock | None = None, anew: bool = False) -> None:
        self.home = home
        self.anew = anew
        self.lock = lock or Lock(home, wait)
        self.path = _Path(home.path)
        self.changed = False
        self.kept = self.loaded = 0
        self.rewritten: Callable[[], None] = lambda: None  # waits until all is that RocksDB does by itself
        try:
            _check_links(home)
            with writing(home):
                _check_version(home)
                if home.unfinished.exists():
                    snapshots.restore(home)
                if home_new(home).exists():
                    snapshots.take_away(home_new(home))  # it was never whole
            self.begun = anew or not (home.store / CURRENT).exists()
            self.store = self._open()
            if self.begun and not anew:
                snapshots.take_away(home.marks)  # of a store that is gone: what is not in this is pending
        except BaseException:
            self.lock.close()
            raise

    def _open(self) -> ox.Store:
        try:
            return self._opened_store()
        except Damaged:
            self.begun = True
            self._folder.rename(self._folder.with_name(f"store.damaged-{time.time_ns()}"))
            return self._opened_store()

    def _opened_store(self) -> ox.Store:
        store = _opened(ox.Store, self.path / self._folder.name, self._folder)
        for entry in os.scandir(self._folder):
            if entry.name.startswith("LOG.old."):  # RocksDB keeps a thousand of them, of 140 KB
                os.unlink(entry)
        return store

    @property
    def _folder(self) -> Path:
        return home_new(self.home) if self.anew else self.home.store

    def _change(self) -> None:
        """Note that from here on the store holds what is not published."""
        if not self.changed and not self.anew:
            self.home.unfinished.touch()
        self.changed = True

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        self.path.close()
        share(self.home, self.home.store)
        share(self.home, self.home.snapshots)
        self.lock.close()

    def replace(self, graph: str, pieces: Iterable[str]) -> None:
        """Make `pieces` (N-Triples) the whole content of a graph, which the index does not know yet."""
        self.drop(graph)
        size = pieces.size if isinstance(pieces, Spool) else 0
        if isinstance(pieces, Spool) and size > LARGE:
            self._load_apart(graph, pieces)
            return
        for piece in pieces.parts() if isinstance(pieces, Spool) and size >= SMALL else pieces:
            self._load(ox.NamedNode(graph), piece)

    def _load_apart(self, graph: str, pieces: Spool) -> None:
        """Load a graph of several tables while this process has the store closed."""
        from provio.store import loading  # dear, and most runs are small

        self._close()
        held = [fd for fd in (self.lock.fd, self.path.fd) if fd >= 0]  # nobody else opens it before that has ended
        try:
            loading.load(self.path / self._folder.name, graph, pieces.file, held)
        finally:
            self.store = self._opened_store()
            self.kept = self.loaded = 0
            self.rewritten = loading.settle

    def _load(self, graph: ox.NamedNode, piece: str | Part) -> None:
        """Load a piece: a small one as no table of its own, which costs ten times as much and has others rewritten."""
        if self.loaded > FRESH:
            self._open_again()
        if isinstance(piece, str) and len(piece) < SMALL:
            self.loaded += len(piece)
            self.store.load(input=piece.encode(), format=ox.RdfFormat.N_TRIPLES, to_graph=graph, lenient=True)
            self._keep(len(piece))
        else:
            self.loaded += len(piece) if isinstance(piece, str) else piece.left
            content = piece.encode() if isinstance(piece, str) else cast("IO[bytes]", piece)
            self.store.bulk_load(content, ox.RdfFormat.N_TRIPLES, to_graph=graph, lenient=True)

    def _open_again(self) -> None:
        """Have RocksDB let go of what it holds in memory."""
        self._close()
        self.store = self._opened_store()
        self.kept = self.loaded = 0

    def _close(self) -> None:
        vars(self).pop("store", None)  # none where it could not be opened again

    def _keep(self, size: int) -> None:
        """Have what RocksDB holds in memory written, where many small graphs have come together."""
        self.kept += size
        if self.kept > KEPT:
            self.store.flush()
            self.kept = 0

    def index(self, lines: Iterable[str]) -> None:
        """Say in the default graph what is in the others, last of all: a run that it does not name is not merged."""
        self._change()
        self.store.load(input="".join(lines).encode(), format=ox.RdfFormat.N_TRIPLES)

    def drop(self, graph: str) -> None:
        """Remove a graph and its index."""
        self._change()
        name = ox.NamedNode(graph)
        for quad in list(self.store.quads_for_pattern(name, None, None, ox.DefaultGraph())):
            self.store.remove(quad)
        self.store.remove_graph(name)

    def objects(self, subject: str, predicate: str) -> list[tuple[str, str]]:
        """Return the objects of a subject's property in every graph, each with its graph."""
        return [
            (_value(quad.object), quad.graph_name.value)
            for quad in self.store.quads_for_pattern(ox.NamedNode(subject), ox.NamedNode(predicate), None, None)
            if isinstance(quad.graph_name, ox.NamedNode)
        ]

    def subjects(self, predicate: str, object_: str | int) -> list[tuple[str, str]]:
        """Return the subjects that have this object (an IRI, or an integer) in any graph, each with its graph."""
        term = ox.Literal(object_) if isinstance(object_, int) else ox.NamedNode(object_)
        return [
            (_value(quad.subject), quad.graph_name.value)
            for quad in self.store.quads_for_pattern(None, ox.NamedNode(predicate), term, None)
            if isinstance(quad.graph_name, ox.NamedNode)
        ]

    def members(self, graph: str, predicate: str, object_: str | None = None) -> Iterator[str]:
        """Yield the subjects that have a property in a graph."""
        term = ox.NamedNode(object_) if object_ else None
        for quad in self.store.quads_for_pattern(None, ox.NamedNode(predicate), term, ox.NamedNode(graph)):
            yield _value(quad.subject)

    def statements(self, graph: str) -> Iterator[tuple[str, str, str]]:
        """Yield all that a graph says; literals by their lexical form."""
        for quad in self.store.quads_for_pattern(None, None, None, ox.NamedNode(graph)):
            yield _value(quad.subject), quad.predicate.value, _value(quad.object)

    def about(self, graph: str, subject: str) -> Iterator[tuple[str, str, str]]:
        """Yield all that a graph says of a subject; literals by their lexical form."""
        for quad in self.store.quads_for_pattern(ox.NamedNode(subject), None, None, ox.NamedNode(graph)):
            yield subject, quad.predicate.value, _value(quad.object)

    def has(self, predicate: str) -> bool:
        """Tell whether anything is said by a property."""
        return next(iter(self.store.quads_for_pattern(None, ox.NamedNode(predicate), None, None)), None) is not None

    def stating(self, predicate: str, text: str) -> list[str]:
        """Return the subjects that have this text in any graph."""
        found = self.store.quads_for_pattern(None, ox.NamedNode(predicate), ox.Literal(text), None)
        return [_value(quad.subject) for quad in found]

    def withdraw(self, graph: str, statements: Iterable[tuple[str, str, str]]) -> None:
        """Remove all that a graph says of these subjects by these properties with these values."""
        self._change()
        name = ox.NamedNode(graph)
        for subject, predicate, value in statements:
            found = self.store.quads_for_pattern(ox.NamedNode(subject), ox.NamedNode(predicate), None, name)
            for quad in [quad for quad in found if _value(quad.object) == value]:
                self.store.remove(quad)

    def add(self, graph: str, lines: Iterable[str]) -> None:
        """Add N-Triples to a graph."""
        text = "".join(lines).encode()
        if text:
            self._change()
            self.store.load(input=text, format=ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode(graph))

    def rows(self, sparql: str) -> Iterator[dict[str, str]]:
        """Ask the union of all graphs: the solutions of a SELECT as `StoreReader.rows` gives them."""
        yield from _rows(self.store.query(sparql, prefixes=PREFIXES, use_default_graph_as_union=True))

    def indexed(self, predicate: str) -> dict[str, str]:
        """Return what the index says: graph → value of `predicate`."""
        query = f"SELECT ?graph ?value {{ ?graph <{predicate}> ?value }}"
        return {row["graph"]: row["value"] for row in _rows(self.store.query(query))}

    def update(self, sparql: str) -> None:
        """Carry out an update, or nothing of it."""
        from provio.store import updating

        self._change()  # what is not published is undone by the next writer
        updating.update(self.store, sparql)

    def renew(self, progress: Callable[[str], None]) -> None:
        """Copy all that is said into a store made anew, which takes this one's place when it is published: tables keep
        every word that was ever in them."""
        folder, total, done = home_new(self.home), len(self.store), 0
        with writing(self.home):
            try:
                fresh = ox.Store(self.path / folder.name)
                quads = iter(self.store)
                while piece := list(islice(quads, PIECE)):
                    fresh.bulk_extend(piece)
                    done += len(piece)
                    progress(f"taking their words out of the store: {100 * done // total} %")
            except OSError:
                snapshots.take_away(folder)
                raise
        progress("")
        self.store, self.anew = fresh, True

    def publish(self) -> None:
        """Make a snapshot and let readers see it; a store that was made anew takes the old one's place."""
        self.rewritten()
        with writing(self.home):
            if self.anew:
                self.home.unfinished.touch()
            snapshots.publish(self.home, lambda name: self.store.backup(self.path / f"snapshots/{name}"))
            if self.anew:
                snapshots.take_away(self.home.store)
                home_new(self.home).rename(self.home.store)
            self.home.unfinished.unlink(missing_ok=True)
        self.changed = False


class StoreReader:
    """The published snapshot, for asking.

    Raises NothingKnown where nothing has been merged yet, Damaged where the snapshot's files are broken.
    """

    def __init__(self, home: Home) -> None:
        with contextlib.suppress(OSError):  # who asks needs no room
            _check_version(home)
        held = snapshots.hold(home)
        if held is None:
            recorded = len(home.run_folders())
            said = f"{recorded} recorded in {home.path}, none merged: provio merge says why" if recorded else ""
            raise NothingKnown(
                said or f"nothing is recorded in {home.path} yet: record something (provio run -- COMMAND)"
            )
        self.path = _Path(home.path)
        name, self.held = held
        self.store = _opened(ox.Store.read_only, self.path / f"snapshots/{name}", home.snapshots / name)

    def __del__(self) -> None:
        """Let the snapshot go."""
        if hasattr(self, "held"):
            os.close(self.held)

    def query(
        self, sparql: str, graphs: Sequence[str] | None = None, named: Sequence[str] | None = None
    ) -> ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples:
        """Ask the union of all graphs, or of those named and no other, provio's prefixes known.

        Raises SyntaxError for what is not SPARQL.
        """
        if graphs is None:
            return self.store.query(sparql, prefixes=PREFIXES, use_default_graph_as_union=True)
        default: list[ox.NamedNode | ox.BlankNode | ox.DefaultGraph] = [
            ox.DefaultGraph() if graph == INDEX else ox.NamedNode(graph) for graph in graphs
        ]
        asked: list[ox.NamedNode | ox.BlankNode] = [
            ox.NamedNode(graph) for graph in (graphs if named is None else named)
        ]
        return self.store.query(sparql, prefixes=PREFIXES, default_graph=default, named_graphs=asked)

    def rows(self, sparql: str, graphs: Sequence[str] | None = None) -> Iterator[dict[str, str]]:
        """Yield the solutions of a SELECT: variable → lexical value, unbound ones left out."""
        yield from _rows(self.query(sparql, graphs))

    def table(self, sparql: str, graphs: Sequence[str] | None = None) -> Iterator[list[str]]:
        """Yield the solutions of a SELECT as lists of lexical values, unbound ones empty."""
        answer = self.query(sparql, graphs)
        if not isinstance(answer, ox.QuerySolutions):
            raise TypeError("table needs a SELECT")
        from provio.store import csv_answer  # dear, and a merge needs none

        names = answer.variables
        lines = csv_answer.cells(answer)
        if lines is not None:
            yield from lines
            return
        for row in cast("ox.QuerySolutions", self.query(sparql, graphs)):
            yield ["" if row[name] is None else _value(row[name]) for name in names]

    def about(self, iri: str, graphs: Sequence[str] | None = None) -> Iterator[tuple[str, str]]:
        """Yield what is said of one node, (predicate, lexical value)."""
        for graph in [None] if graphs is None else map(ox.NamedNode, graphs):
            for quad in self.store.quads_for_pattern(ox.NamedNode(iri), None, None, graph):
                yield quad.predicate.value, _value(quad.object)

    def dataset(self, graph: str | None, form: ox.RdfFormat) -> bytes:
        """Return one named graph, or all of them with the index, as a document of quads."""
        quads = self.store.quads_for_pattern(None, None, None, ox.NamedNode(graph) if graph else None)
        return ox.serialize(quads, format=form, prefixes=PREFIXES) or b""

    def triples(self, graph: str | None, form: ox.RdfFormat) -> bytes:
        """Return one named graph, or the union of all, as a document of triples."""
        quads = self.store.quads_for_pattern(None, None, None, ox.NamedNode(graph) if graph else None)
        union = dict.fromkeys(quad.triple for quad in quads)
        return ox.serialize(union, format=form, prefixes=PREFIXES) or b""

    def quads(self, graph: str | None = None) -> ox.Store:  # noqa: ARG002 - all are at hand
        """Return the store itself."""
        return self.store


def _value(term: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> str:
    return str(term) if isinstance(term, ox.Triple) else term.value


def _rows(solutions: object) -> Iterator[dict[str, str]]:
    if not isinstance(solutions, ox.QuerySolutions):
        raise TypeError("rows needs a SELECT")
    names = [variable.value for variable in solutions.variables]
    for solution in solutions:
        yield {name: solution[name].value for name in names if solution[name] is not None}


class _Path:
    """A `.provio` by a name that is UTF-8, as RocksDB wants it: its own, or that of a descriptor open on it."""

    def __init__(self, home: Path) -> None:
        self.fd = -1
        self.name = str(home)
        try:
            self.name.encode()
        except UnicodeEncodeError:
            self.fd = os.open(home, os.O_PATH | os.O_CLOEXEC)
            self.name = f"/proc/self/fd/{self.fd}"

    def __truediv__(self, name: str) -> str:
        return f"{self.name}/{name}"

    def close(self) -> None:
        """Let the descriptor go."""
        if self.fd >= 0:
            os.close(self.fd)


def home_new(home: Home) -> Path:
    """Where a store that is made anew lies until it is whole."""
    return home.path / "store.new"


def _check_room(shown: Path) -> None:
    """Raise StoreError where RocksDB, which ends a process that it cannot have its threads in, would do so."""
    import resource  # seldom wanted

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    if limit - taken < ADDRESSES:
        raise StoreError(
            f"cannot open the store {shown}: it takes {ADDRESSES >> 20} MB of address space, and a limit leaves "
            f"{max(0, limit - taken) >> 20}: allow more (ulimit -v)"
        )


def _opened(how: Callable[[str], ox.Store], path: str, shown: Path) -> ox.Store:
    _check_room(shown)
    try:
        return how(path)
    except OSError as error:
        what = remedy(error, "make room, or see who may write there")
        why = str(error).partition(". Run")[0]  # it has a remedy of its own
        raise StoreError(f"cannot open the store {shown} ({why}): {what}") from error
    except Exception as error:
        raise Damaged(f"the store {shown} is damaged ({error}): delete it, provio merge makes it again") from error


def _check_links(home: Home) -> None:
    """Refuse to write through links: stores are renamed and deleted whole, and a link may have come with a checkout."""
    for folder in (home.store, home.snapshots):
        if folder.is_symlink():
            raise StoreError(
                f"{folder} is a symbolic link: delete it, and where the store is to lie elsewhere put all of "
                f"{home.path} there (PROVIO_HOME, or a link to the whole)"
            )


def check_version(home: Home) -> str:
    """Return the version of a store, nothing where there is none yet; raises StoreError for a newer one."""
    try:
        found = (home.path / "store.version").read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:
        found = ""
    if found not in ("", VERSION):
        raise StoreError(f"the store in {home.path} has version {found!r}, this provio knows {VERSION}: update provio")
    return found


def _check_version(home: Home) -> None:
    """Refuse a store that a newer provio wrote; note the version of a new one."""
    note = home.path / "store.version"
    if not check_version(home) and os.access(home.path, os.W_OK):
        new = home.path / f"store.version.{threading.get_native_id()}"  # threads open a store at once
        try:
            new.write_text(VERSION + "\n", encoding="ascii")
            new.replace(note)
        except OSError:
            new.unlink(missing_ok=True)
            raise
