"""The store on a server, asked as the embedded one: a question in, rows or a document out.

A reader asks exactly the graphs that the index names (`places`), and again where they were others when it had the
answer. Of single runs it asks what this record put there, or else a copy of what the server holds.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import IO, TYPE_CHECKING, cast

import pyoxigraph as ox

from provio.base.errors import NothingKnown, StoreError
from provio.base.vocab import PREFIXES
from provio.settings.home import Home
from provio.store import INDEX, Damaged, served, statements
from provio.store.embedded import StoreReader
from provio.store.implied import CLASSES
from provio.store.one_graph import GRAPH, Apart
from provio.store.remote import places, terms
from provio.store.remote.server import JSON, PROLOGUE, TRIPLES, Server, understood
from provio.store.sparql import repeats_a_choice, without_service

if TYPE_CHECKING:
    from provio.settings.schema import Config
    from provio.store import Answer

NOTHING = places.OWN + "nothing"  # a graph that is none: to name no graph would ask all of them
TRIES = 100  # questions that a merge overtakes, one after the other


def connect(settings: Config, wait: bool = True) -> Server:
    """Return the server that is set; unless `wait`, one that does not soon answer at all is a StoreError."""
    url = settings.store
    return Server(url, settings.servers.get(url), settings.credentials.get(url), wait)


def behind(home: Home, settings: Config) -> bool:
    """Tell whether the server holds another state of a record than was put there last."""
    found = places.read(connect(settings)).records.get(places.record_of(home))
    return found is None or found.state != noted(served(home, settings))


def noted(home: Home) -> str:
    """Return the state in which a record was put on its server."""
    with contextlib.suppress(OSError):
        return (home.kept / "state").read_text(encoding="ascii")
    return ""


def lists_of(record: str) -> str:
    """Return the name of the graph that holds the lists of a record's runs, for those who have not its folder."""
    return f"{record}/statements"


class _Fetched(statements.Lists):
    """The lists as a server holds them."""

    def __init__(self, server: Server, index: places.Index) -> None:
        self.server, self.graphs = server, [lists_of(record) for record in index.records]

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        found = terms.rows(self.server.own(f"SELECT ?p ?o {{ <{INDEX}#{name}> ?p ?o }}", self.graphs or [NOTHING]))
        parts = {places.number(row["p"]): row["o"] for row in found}
        if not parts:
            raise StoreError(f"{self.server.url} has not the list {name}: ask again (a merge may have ended meanwhile)")
        data = base64.b64decode("".join(parts[part] for part in sorted(parts)))
        with gzip.open(io.BytesIO(data)) as file:
            yield cast("IO[bytes]", file)


class RemoteReader:
    """What the index names, for asking; raises NothingKnown where that is nothing."""

    as_of, going = "", frozenset[str]()  # what goes on is told to a server as it is when it is merged

    def __init__(self, home: Home, settings: Config) -> None:
        self.home, self.server = served(home, settings), connect(settings)
        self.index = places.read(self.server)
        if not self._runs() and not set(self.index.earlier) - {CLASSES}:
            raise NothingKnown(
                f"nothing is merged into {self.server.url} yet: provio merge, with runs in {home.path}, does it"
            )

    def _runs(self) -> list[str]:
        return [place for record in self.index.records.values() for place in record.of("")]

    def _answer(self, sparql: str, accept: str = JSON) -> IO[bytes]:
        """Ask what the index names; again, where it then names something else: that may have been half there."""
        for _ in range(TRIES):
            answer = self.server.ask(PROLOGUE + sparql, self.index.graphs or [NOTHING], accept=accept)
            if not self._changed():
                break
        return answer

    def _changed(self) -> bool:
        before, self.index = self.index, places.read(self.server)
        if before != self.index:
            vars(self).pop("apart", None)
        return before != self.index

    def _own(self, sparql: str) -> IO[bytes]:
        with understood(self.server):
            return self._answer(sparql)

    @cached_property
    def apart(self) -> Apart:
        """A store in which single runs can be asked: what was put there from here, where the server holds no more than
        that, or else a copy."""
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

    def _copy(self) -> Apart:
        store, default = ox.Store(), ox.DefaultGraph()
        found = [(record.name(place), place) for record in self.index.records.values() for place in record.places]
        if self.index.earlier:
            found += [("", INDEX), *((graph, graph) for graph in self.index.earlier)]
        for name, place in found:
            graph = ox.NamedNode(name) if name else default
            store.bulk_load(self.server.get(place), ox.RdfFormat.N_TRIPLES, to_graph=graph, lenient=True)
        return Apart(store, _Fetched(self.server, self.index))

    def run_graphs(self) -> list[str]:
        """Return the names by which the index and each graph can be asked alone."""
        return self.apart.run_graphs()

    def query(self, sparql: str, graphs: Sequence[str] | None = None, named: Sequence[str] | None = None) -> Answer:
        """Ask the union of all graphs, or of those named and no other; raises SyntaxError for what is not SPARQL."""
        # It says what is wrong, and that it is no update, right here, and calls nobody.
        form = ox.Store().query(without_service(sparql), prefixes=PREFIXES)
        # Virtuoso 7 leaves out answers of a path such as `(a|b)+`, and does not say so.
        if not _is_plain(sparql, graphs) or (self.server.is_virtuoso and repeats_a_choice(sparql)):
            return self.apart.query(sparql, graphs, named)
        if isinstance(form, ox.QueryTriples):
            local = ox.Store()
            local.load(input=self._answer(sparql, TRIPLES), format=ox.RdfFormat.N_TRIPLES)
            return local.query("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")
        return terms.solutions(self._answer(sparql))

    def rows(self, sparql: str, graphs: Sequence[str] | None = None) -> Iterator[dict[str, str]]:
        """Yield the solutions of a SELECT: variable → lexical value, unbound ones left out."""
        return terms.rows(self._own(sparql)) if _is_plain(sparql, graphs) else self.apart.rows(sparql, graphs)

    def table(self, sparql: str, graphs: Sequence[str] | None = None) -> Iterator[list[str]]:
        """Yield the solutions of a SELECT as lists of lexical values, unbound ones empty."""
        return terms.table(self._own(sparql)) if _is_plain(sparql, graphs) else self.apart.table(sparql, graphs)

    def about(self, iri: str, graphs: Sequence[str] | None = None) -> Iterator[tuple[str, str]]:
        """Yield what is said of one node, (predicate, lexical value)."""
        if graphs is not None:
            yield from self.apart.about(iri, graphs)
            return
        for row in self.rows(f"SELECT ?p ?o {{ <{iri}> ?p ?o }}"):
            yield row["p"], row["o"]

    def quads(self, graph: str | None = None) -> ox.Store:
        """Return all quads, or those of one graph and of the implied classes, brought here."""
        return self.apart.quads(graph)

    def dataset(self, graph: str | None, form: ox.RdfFormat) -> bytes:
        """Return one named graph, or all of them with the index, as a document of quads."""
        return self.apart.dataset(graph, form)

    def triples(self, graph: str | None, form: ox.RdfFormat) -> bytes:
        """Return one named graph, or the union of all, as a document of triples."""
        return self.apart.triples(graph, form)


def _is_plain(sparql: str, graphs: Sequence[str] | None) -> bool:
    """Whether a question asks all that the server holds, and names no graph: there a record is one."""
    return graphs is None and not GRAPH.search(sparql)
