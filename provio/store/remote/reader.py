"""Queries on a store on a server, with the interface of the embedded one: rows or a document out.

A reader queries exactly the graphs that the index names (`places`), and repeats the query if the index changed before
the answer was complete. Queries on single runs go to the local copy of this record's merge, or else to a copy of the
server's graphs.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import IO, TYPE_CHECKING, cast

import pyoxigraph as ox

from provio.base.errors import NothingKnown, StoreError
from provio.base.vocab import PREFIXES, PROLOGUE
from provio.settings import moves
from provio.settings.home import Home
from provio.store import INDEX, Damaged, served, statements
from provio.store.embedded.reader import GRAPH, OneGraphStore, StoreReader
from provio.store.implied import CLASSES
from provio.store.remote import places, terms
from provio.store.remote.server import JSON, TRIPLES, Server, understood
from provio.store.sparql import repeats_a_choice, without_service

if TYPE_CHECKING:
    from provio.settings.schema import Config
    from provio.store import Answer

NOTHING = places.OWN + "nothing"  # a graph that does not exist: a query without graphs would read all of them
TRIES = 100  # times that a merge may overtake a query


def connect(settings: Config, wait: bool = True) -> Server:
    """Return the server in the settings; unless `wait`, raise StoreError if it does not respond soon."""
    url = settings.store
    return Server(url, settings.servers.get(url), settings.credentials.get(url), wait)


def behind(home: Home, settings: Config) -> bool:
    """Return whether the server contains another state of a record than the one last written from here."""
    found = places.read(connect(settings)).records.get(places.record_of(home))
    return found is None or found.state != noted(served(home, settings))


def noted(home: Home) -> str:
    """Return the state in which a record was last written to its server; empty if it never was."""
    with contextlib.suppress(OSError):
        return (home.kept / "state").read_text(encoding="ascii")
    return ""


def lists_of(record: str) -> str:
    """Return the name of the graph with the lists of a record's runs, for readers without its folder."""
    return f"{record}/statements"


class _Fetched(statements.Lists):
    """The lists, read from a server."""

    def __init__(self, server: Server, index: places.Index) -> None:
        self.server, self.graphs = server, [lists_of(record) for record in index.records]

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        found = terms.rows(
            self.server.own_query(f"SELECT ?p ?o {{ <{INDEX}#{name}> ?p ?o }}", self.graphs or [NOTHING])
        )
        parts = {places.number(row["p"]): row["o"] for row in found}
        if not parts:
            raise StoreError(f"{self.server.url} has no list {name}: try again (a merge may have just ended)")
        data = base64.b64decode("".join(parts[part] for part in sorted(parts)))
        with gzip.open(io.BytesIO(data)) as file:
            yield cast("IO[bytes]", file)


class RemoteReader:
    """The graphs that the index names, open for queries; raises NothingKnown if there are none."""

    as_of, in_progress = "", frozenset[str]()  # a server receives a run only when it is merged

    def __init__(self, home: Home, settings: Config) -> None:
        self.home, self.server, self.places = served(home, settings), connect(settings), moves.places(home)
        self.index = places.read(self.server)
        if not self._runs() and not set(self.index.earlier) - {CLASSES}:
            raise NothingKnown(
                f"nothing is merged into {self.server.url} yet: run provio merge with the runs in {home.path}"
            )

    def _runs(self) -> list[str]:
        return [place for record in self.index.records.values() for place in record.of("")]

    def _answer(self, sparql: str, accept: str = JSON) -> IO[bytes]:
        """Query the graphs that the index names; repeat the query if the index changed, because the answer may then
        be partial."""
        for _ in range(TRIES):
            answer = self.server.ask(PROLOGUE + sparql, self.index.graphs or [NOTHING], accept=accept)
            if not self._changed():
                break
        return answer

    def _changed(self) -> bool:
        before, self.index = self.index, places.read(self.server)
        if before != self.index:
            vars(self).pop("local_store", None)
        return before != self.index

    def _own(self, sparql: str) -> IO[bytes]:
        with understood(self.server):
            return self._answer(sparql)

    @cached_property
    def local_store(self) -> OneGraphStore:
        """A store for queries on single runs: the local copy of this record's merge if the server contains nothing
        else, or else a copy of the server's graphs."""
        states = [record.state for record in self.index.records.values()]
        if states == [noted(self.home)] and not self.index.earlier:
            with contextlib.suppress(NothingKnown, Damaged):
                return StoreReader(self.home)
        for _ in range(TRIES):
            index, copy = self.index, self._copy()
            self.index = places.read(self.server)
            if index == self.index:
                break
        return copy

    def _copy(self) -> OneGraphStore:
        store, default = ox.Store(), ox.DefaultGraph()
        found = [(record.name(place), place) for record in self.index.records.values() for place in record.places]
        if self.index.earlier:
            found += [("", INDEX), *((graph, graph) for graph in self.index.earlier)]
        for name, place in found:
            graph = ox.NamedNode(name) if name else default
            store.bulk_load(self.server.get(place), ox.RdfFormat.N_TRIPLES, to_graph=graph, lenient=True)
        return OneGraphStore(store, lambda: _Fetched(self.server, self.index))

    def run_graphs(self) -> list[str]:
        """Return the names of the index and of each graph that a query can address separately."""
        return self.local_store.run_graphs()

    def query(self, sparql: str, graphs: Sequence[str] | None = None, named: Sequence[str] | None = None) -> Answer:
        """Query the union of all graphs, or only the given ones; raises SyntaxError for invalid SPARQL."""
        # This local parse rejects syntax errors and updates here, and calls no service.
        form = ox.Store().query(without_service(sparql), prefixes=PREFIXES)
        # Virtuoso 7 silently omits answers of a path such as `(a|b)+`.
        if not _is_plain(sparql, graphs) or (self.server.is_virtuoso and repeats_a_choice(sparql)):
            return self.local_store.query(sparql, graphs, named)
        if isinstance(form, ox.QueryTriples):
            local = ox.Store()
            local.load(input=self._answer(sparql, TRIPLES), format=ox.RdfFormat.N_TRIPLES)
            return local.query("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")
        return terms.solutions(self._answer(sparql))

    def rows(self, sparql: str, graphs: Sequence[str] | None = None) -> Iterator[dict[str, str]]:
        """Yield the solutions of a SELECT: variable → lexical value, without the unbound ones."""
        return terms.rows(self._own(sparql)) if _is_plain(sparql, graphs) else self.local_store.rows(sparql, graphs)

    def table(self, sparql: str, graphs: Sequence[str] | None = None) -> Iterator[list[str]]:
        """Yield the solutions of a SELECT as lists of lexical values, unbound ones empty."""
        return terms.table(self._own(sparql)) if _is_plain(sparql, graphs) else self.local_store.table(sparql, graphs)

    def about(self, iris: Iterable[str], graphs: Sequence[str] | None = None) -> list[tuple[str, str, str]]:
        """Return the statements about some nodes as (node, predicate, lexical value)."""
        if graphs is not None:
            return self.local_store.about(iris, graphs)
        values = " ".join(f"<{iri}>" for iri in iris)
        rows = self.rows(f"SELECT ?s ?p ?o {{ VALUES ?s {{ {values} }} ?s ?p ?o }}")
        return [(row["s"], row["p"], row["o"]) for row in rows]

    def quads(self, graph: str | None = None) -> ox.Store:
        """Return all quads, or those of one graph and of the implied classes, copied to this machine."""
        return self.local_store.quads(graph)

    def exported(self, graph: str | None, union: bool = False) -> Iterator[ox.Quad]:
        """Yield the quads of `dataset`, or the union of all graphs."""
        return self.local_store.exported(graph, union)

    def dump(self, graph: str | None, output: IO[bytes]) -> None:
        """Write the statements of one named graph, or of all graphs, as N-Triples."""
        self.local_store.dump(graph, output)

    def dataset(self, graph: str | None, form: ox.RdfFormat) -> bytes:
        """Return one named graph, or all graphs with the index, as a document of quads."""
        return self.local_store.dataset(graph, form)

    def triples(self, graph: str | None, form: ox.RdfFormat) -> bytes:
        """Return one named graph, or the union of all, as a document of triples."""
        return self.local_store.triples(graph, form)


def _is_plain(sparql: str, graphs: Sequence[str] | None) -> bool:
    """Return whether a query reads the full content of the server and names no graph: the server stores a record as
    one graph."""
    return graphs is None and not GRAPH.search(sparql)
