"""The store on a server, asked as the embedded one: a question in, rows or a document out.

The index, which the embedded store has in its default graph, is a graph of its own. A reader asks exactly the graphs
that the index names; a run's graph is put there first, and named in the index last, in one update with what follows
from it.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pyoxigraph as ox

from provio import implied
from provio.errors import NothingKnown, StoreError
from provio.graph_lines import bundle_iri
from provio.sparql import repeats_a_choice, without_service
from provio.store import INDEX, terms
from provio.store.server import JSON, TRIPLES, Server
from provio.store.switched import place_of
from provio.vocab import NS, PREFIXES, PROV, RDF, RUN_BASE

if TYPE_CHECKING:
    from provio.config import Config
    from provio.home import Home
    from provio.store import Answer

LEASE = "https://w3id.org/provio/lease"
OWN = "https://w3id.org/provio/"  # what graphs of provio's are named
NOTHING = OWN + "nothing"  # a graph that is none: to name no graph would ask all of them
PROLOGUE = "".join(f"PREFIX {name}: <{iri}> " for name, iri in PREFIXES.items())


def connect(settings: Config, wait: bool = True) -> Server:
    """Return the server that is set; unless `wait`, one that does not soon answer at all is a StoreError."""
    url = settings.store
    return Server(url, settings.servers.get(url), settings.credentials.get(url), wait)


def missing(home: Home, settings: Config) -> list[Path]:
    """Return the run folders that the server's index does not name."""
    known = set(indexed(connect(settings)))
    return [folder for folder in home.run_folders() if bundle_iri(RUN_BASE + folder.name) not in known]


def indexed(server: Server) -> list[str]:
    """Return the graphs that the index names."""
    query = f"SELECT ?graph {{ GRAPH <{INDEX}> {{ ?graph <{RDF}type> <{PROV}Bundle> }} }}"
    return [row["graph"] for row in terms.rows(asked(server, query, [INDEX]))]


def held(server: Server) -> set[str]:
    """Return the names of all graphs that Oxigraph's server holds."""
    return {row["g"] for row in terms.rows(server.ask("SELECT ?g { GRAPH ?g {} }"))}


def whole(server: Server, graphs: Iterable[str]) -> bool:
    """Whether the union of all that Oxigraph's server holds is the union of these graphs and the index."""
    if not server.is_oxigraph:
        return False
    named = held(server) - {INDEX, LEASE}
    unnamed = any(terms.rows(server.ask("SELECT ?s { ?s ?p ?o } LIMIT 1")))
    return named == set(graphs) and not unnamed


def asked(server: Server, sparql: str, default: Sequence[str], named: Sequence[str] | None = None) -> IO[bytes]:
    """Ask what is provio's own question."""
    with understood(server):
        return server.ask(PROLOGUE + sparql, default, default if named is None else named)


@contextlib.contextmanager
def understood(server: Server) -> Iterator[None]:
    """A server that does not understand provio's own questions is at fault."""
    try:
        yield
    except SyntaxError as error:
        raise StoreError(f"{server.url} does not understand a query: {error}") from error


class RemoteReader:
    """What the index names, for asking; raises NothingKnown where that is nothing."""

    def __init__(self, home: Home, settings: Config) -> None:
        self.server = connect(settings)
        self.graphs = sorted(indexed(self.server))
        self.place = {graph: place for graph, place in place_of(self.graphs).items() if graph != place}
        self.state = self._state() if whole(self.server, self.graphs) else None
        if not set(self.graphs) - {implied.CLASSES}:
            raise NothingKnown(
                f"nothing is merged into {self.server.url} yet: provio merge, with runs in {home.path}, does it"
            )

    def _state(self) -> str | None:
        """What tells one state of the index from any other; None while somebody merges."""
        query = f"""SELECT ?all {{ {{ SELECT (MD5(GROUP_CONCAT(CONCAT(STR(?g), ?h))) AS ?all) {{
            GRAPH <{INDEX}> {{ ?g <{NS}contentHash> ?h }} }} }}
            FILTER NOT EXISTS {{ GRAPH <{LEASE}> {{ ?s ?p ?o }} }} }}"""
        return next((row["all"] for row in terms.rows(asked(self.server, query, (), (INDEX, LEASE)))), None)

    def _answer(
        self, sparql: str, graphs: Sequence[str] | None, named: Sequence[str] | None = None, accept: str = JSON
    ) -> IO[bytes]:
        """Ask the union where nobody has merged since it was that of the graphs named: a list of many takes long."""
        if graphs is None and self.state and not re.search(r"\bGRAPH\b", sparql, re.IGNORECASE):
            answer = self.server.ask(PROLOGUE + sparql, accept=accept, union=True)
            if self._state() == self.state:
                return answer
            self.state = None
        for graph, place in self.place.items():
            sparql = sparql.replace(f"<{graph}>", f"<{place}>")
        return self._named(self.server.ask(PROLOGUE + sparql, *self._graphs(graphs, named), accept=accept))

    def _named(self, answer: IO[bytes]) -> IO[bytes]:
        """An answer in which derived graphs have their own names."""
        if not self.place:
            return answer
        text = answer.read()
        for graph, place in self.place.items():
            text = text.replace(f'"{place}"'.encode(), f'"{graph}"'.encode())
            text = text.replace(f"<{place}>".encode(), f"<{graph}>".encode())
        return io.BytesIO(text)

    def _own(self, sparql: str, graphs: Sequence[str] | None) -> IO[bytes]:
        with understood(self.server):
            return self._answer(sparql, graphs)

    def _graphs(self, graphs: Sequence[str] | None, named: Sequence[str] | None) -> tuple[Sequence[str], Sequence[str]]:
        """What is asked without GRAPH, and with it: the index is no named graph of the embedded store either. Of
        provio's own graphs none is asked that the index does not name: it may be half there."""
        if graphs is None:
            return [INDEX, *self.graphs], self.graphs
        whole = set(self.graphs)
        graphs = [self.place.get(graph, graph) for graph in graphs]
        named = named if named is None else [self.place.get(graph, graph) for graph in named]
        default = [graph for graph in graphs if graph in whole or graph == INDEX or not graph.startswith(OWN)]
        named = graphs if named is None else named
        asked = [graph for graph in named if graph in whole or not graph.startswith(OWN)]
        return default or [NOTHING], asked or [NOTHING]

    def run_graphs(self) -> list[str]:
        """Return nothing: a server's graphs have their names."""
        return []

    def query(self, sparql: str, graphs: Sequence[str] | None = None, named: Sequence[str] | None = None) -> Answer:
        """Ask the union of all graphs, or of those named and no other; raises SyntaxError for what is not SPARQL."""
        # It says what is wrong, and that it is no update, right here, and calls nobody.
        form = ox.Store().query(without_service(sparql), prefixes=PREFIXES)
        if isinstance(form, ox.QueryTriples):
            local = ox.Store()
            local.load(input=self._answer(sparql, graphs, named, TRIPLES), format=ox.RdfFormat.N_TRIPLES)
            return local.query("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")
        if self.server.is_virtuoso and repeats_a_choice(sparql):
            return self._here(sparql, graphs, named)
        return terms.solutions(self._answer(sparql, graphs, named))

    def _here(self, sparql: str, graphs: Sequence[str] | None, named: Sequence[str] | None) -> Answer:
        """Ask a copy of the graphs: Virtuoso 7 leaves out answers of a path such as `(a|b)+`, and does not say so."""
        default, asked = self._graphs(graphs, named)
        local = ox.Store()
        chosen = [[ox.NamedNode(self._own_name(name)) for name in names] for names in (default, asked)]
        for name in {*default, *asked} - {NOTHING}:
            graph = ox.NamedNode(self._own_name(name))
            local.bulk_load(input=self.server.get(name), format=ox.RdfFormat.N_TRIPLES, to_graph=graph, lenient=True)
        return local.query(sparql, prefixes=PREFIXES, default_graph=list(chosen[0]), named_graphs=list(chosen[1]))

    def rows(self, sparql: str, graphs: Sequence[str] | None = None) -> Iterator[dict[str, str]]:
        """Yield the solutions of a SELECT: variable → lexical value, unbound ones left out."""
        return terms.rows(self._own(sparql, graphs))

    def table(self, sparql: str, graphs: Sequence[str] | None = None) -> Iterator[list[str]]:
        """Yield the solutions of a SELECT as lists of lexical values, unbound ones empty."""
        return terms.table(self._own(sparql, graphs))

    def about(self, iri: str, graphs: Sequence[str] | None = None) -> Iterator[tuple[str, str]]:
        """Yield what is said of one node, (predicate, lexical value)."""
        for row in self.rows(f"SELECT ?p ?o {{ <{iri}> ?p ?o }}", graphs):
            yield row["p"], row["o"]

    def quads(self, graph: str | None = None) -> ox.Store:
        """Return all quads, or those of one graph and of the implied classes, brought here."""
        local = ox.Store()
        for name in self.graphs if graph is None else [self.place.get(graph, graph), implied.CLASSES]:
            own = ox.NamedNode(self._own_name(name))
            local.bulk_load(input=self.server.get(name), format=ox.RdfFormat.N_TRIPLES, to_graph=own, lenient=True)
        if graph is None:
            local.load(input=self._named(self.server.get(INDEX)), format=ox.RdfFormat.N_TRIPLES)
        return local

    def _own_name(self, name: str) -> str:
        return next((graph for graph, place in self.place.items() if place == name), name)

    def dataset(self, graph: str | None, form: ox.RdfFormat) -> bytes:
        """Return one named graph, or all of them with the index, as a document of quads."""
        return ox.serialize(implied.quads(self.quads(graph)), format=form, prefixes=PREFIXES) or b""

    def triples(self, graph: str | None, form: ox.RdfFormat) -> bytes:
        """Return one named graph, or the union of all, as a document of triples."""
        union = dict.fromkeys(quad.triple for quad in implied.quads(self.quads(graph)))
        return ox.serialize(union, format=form, prefixes=PREFIXES) or b""
