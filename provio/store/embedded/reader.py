"""Opens the published snapshot of the embedded store for queries.

The snapshot contains all runs in one graph. A query is on all runs, or on some, which are separated in memory: each
run's statements about shared nodes are in its list (`statements`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from operator import methodcaller
from typing import IO, TYPE_CHECKING, cast

import pyoxigraph as ox

from provio.base.algorithms import batched
from provio.base.errors import NothingKnown
from provio.base.records import pattern
from provio.base.vocab import NS, PREFIXES, PROV, RDF, RUN_BASE
from provio.graph.lines import BUNDLE as RUN_GRAPH
from provio.graph.lines import notes_iri
from provio.settings import moves
from provio.settings.home import Home
from provio.store import INDEX, Damaged, implied, undamaged
from provio.store.embedded import snapshots

if TYPE_CHECKING:
    from provio.store import statements

GRAPH = pattern(r"(?i)\bgraph\b")
BUNDLE = ox.NamedNode(PROV + "Bundle")
CLASSES = ox.NamedNode(implied.CLASSES)
TOGETHER = 256  # runs whose nodes are searched in one pass
PIECE = 1 << 20  # characters of an answer that are split into rows at once


class OneGraphStore:
    """A store and the lists of its runs (`open_lists`), open for queries.

    A query of all runs at once needs neither the lists nor the module that reads them, which is slow to import.
    """

    as_of, in_progress = "", frozenset[str]()
    places: tuple[bytes, ...] = ()

    def __init__(self, store: ox.Store, open_lists: Callable[[], statements.Lists]) -> None:
        self.store, self._open_lists = store, open_lists
        self._made: tuple[set[str], ox.Store] | None = None

    @cached_property
    def lists(self) -> statements.Lists:
        """The lists of the runs."""
        return self._open_lists()

    def query(
        self, sparql: str, graphs: Sequence[str] | None = None, named: Sequence[str] | None = None
    ) -> ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples:
        """Query the union of all graphs, or only the given ones, with provio's prefixes declared.

        Raises SyntaxError for invalid SPARQL.
        """
        if graphs is None:
            return self.store.query(sparql, prefixes=PREFIXES, use_default_graph_as_union=True)
        from provio.store import statements

        if not GRAPH.search(sparql) and statements.list_names(self.store).keys() <= set(graphs):
            others = [ox.NamedNode(graph) for graph in graphs if statements.run_of_graph(graph) is None]
            return self.store.query(sparql, prefixes=PREFIXES, default_graph=[ox.DefaultGraph(), *others])
        default: list[ox.NamedNode | ox.BlankNode | ox.DefaultGraph] = [
            ox.DefaultGraph() if graph == INDEX else ox.NamedNode(graph) for graph in graphs
        ]
        named_graphs: list[ox.NamedNode | ox.BlankNode] = [
            ox.NamedNode(graph) for graph in (graphs if named is None else named)
        ]
        store = self._of_runs({*graphs, *(named or ())})
        return store.query(sparql, prefixes=PREFIXES, default_graph=default, named_graphs=named_graphs)

    def run_graphs(self) -> list[str]:
        """Return the names of the index and of each graph that a query can address separately."""
        from provio.store import statements

        separate = map(value_of, self.store.named_graphs())
        return [INDEX, *dict.fromkeys((*separate, *statements.list_names(self.store)))]

    def _of_runs(self, graphs: set[str]) -> ox.Store:
        """Return a store in memory with these graphs, each run in a separate graph; it is cached for the next
        query."""
        if self._made is None or self._made[0] != graphs:
            store = ox.Store()
            for graph in graphs:
                store.bulk_extend(self._quads_of(graph))
            self._made = graphs, store
        return self._made[1]

    def _quads_of(self, graph: str, known: Mapping[str, Iterable[str]] | None = None) -> Iterator[ox.Quad]:
        """Yield the quads of a graph; for a run, its statements under the name of its graph. `known` are nodes of
        several runs (`statements.apart`)."""
        if graph == INDEX:
            yield from self._index()
            return
        name = ox.NamedNode(graph)
        for subject, predicate, value in self._triples_of(graph, known):
            yield ox.Quad(subject, predicate, value, name)

    def _triples_of(self, graph: str, known: Mapping[str, Iterable[str]] | None = None) -> Iterator[ox.Triple]:
        from provio.store import statements

        run, name = statements.run_of_graph(graph), ox.NamedNode(graph)
        if run is None or self.store.contains_named_graph(name):
            yield from (quad.triple for quad in self.store.quads_for_pattern(None, None, None, name))
            return
        listed = statements.list_name(self.store, graph)
        for quad in statements.run_quads(self.store, self.lists, run, listed, known and known[run]) if listed else ():
            if quad.subject != name or quad.predicate.value == RDF + "type":  # otherwise it is an index entry
                yield quad.triple

    def rows(self, sparql: str, graphs: Sequence[str] | None = None) -> Iterator[dict[str, str]]:
        """Yield the solutions of a SELECT: variable → lexical value, without the unbound ones."""
        with undamaged():
            yield from rows_of(self.query(sparql, graphs))

    def table(self, sparql: str, graphs: Sequence[str] | None = None) -> Iterator[list[str]]:
        """Yield the solutions of a SELECT as lists of lexical values, unbound ones empty."""
        answer = self.query(sparql, graphs)
        if not isinstance(answer, ox.QuerySolutions):
            raise TypeError("table needs a SELECT")
        names = answer.variables
        with undamaged():
            lines = cells(answer)
        if lines is not None:
            return lines
        solutions = cast("ox.QuerySolutions", self.query(sparql, graphs))
        return (["" if row[name] is None else value_of(row[name]) for name in names] for row in solutions)

    def about(self, iris: Iterable[str], graphs: Sequence[str] | None = None) -> list[tuple[str, str, str]]:
        """Return the statements about some nodes as (node, predicate, lexical value)."""
        store = self.store if graphs is None else self._of_runs(set(graphs))
        names = [None] if graphs is None else [ox.NamedNode(graph) for graph in graphs]
        with undamaged():
            return [
                (iri, quad.predicate.value, value_of(quad.object))
                for iri in iris
                for name in names
                for quad in store.quads_for_pattern(ox.NamedNode(iri), None, None, name)
            ]

    def read_all(self) -> None:
        """Read each statement through each order in which the store keeps it; raises Damaged for a damaged block."""
        with undamaged():
            for quad in self.store:
                for place in (
                    (quad.subject, None, quad.object),
                    (None, quad.predicate, quad.object),
                    (quad.subject, quad.predicate, None, quad.graph_name),
                ):
                    next(self.store.quads_for_pattern(*place), None)

    def exported(self, graph: str | None, union: bool = False) -> Iterator[ox.Quad]:
        """Yield the quads of one run and its notes, or of all graphs with the index, and those that they imply; for a
        `union` of all graphs, a statement of several runs only once."""
        return implied.quads(self._union() if union and graph is None else self._all_quads(graph))

    def dump(self, graph: str | None, output: IO[bytes]) -> None:
        """Write the statements of one run and its notes, or of all graphs with the index, as N-Triples."""
        if graph is not None:
            triples = chain.from_iterable(map(self._triples_of, _with_notes(graph)))
            ox.serialize(triples, output, format=ox.RdfFormat.N_TRIPLES)
            return
        for name in self._graphs():
            self.store.dump(output, ox.RdfFormat.N_TRIPLES, from_graph=name)

    def dataset(self, graph: str | None, form: ox.RdfFormat) -> bytes:
        """Return the graphs of one run and its notes, or all graphs with the index, as a document of quads."""
        return ox.serialize(self.exported(graph), format=form, prefixes=PREFIXES) or b""

    def triples(self, graph: str | None, form: ox.RdfFormat) -> bytes:
        """Return the graphs of one run and its notes, or the union of all, as a document of triples."""
        union = (quad.triple for quad in self.exported(graph, union=True))
        return ox.serialize(union, format=form, prefixes=PREFIXES) or b""

    def _all_quads(self, graph: str | None) -> Iterator[ox.Quad]:
        if graph is not None:
            yield from chain.from_iterable(map(self._quads_of, _with_notes(graph)))
            return
        from provio.store import statements

        for names in batched(self.run_graphs(), TOGETHER):
            known = statements.apart(self.store, filter(None, map(statements.run_of_graph, names)))
            for name in names:
                yield from self._quads_of(name, known)

    def _union(self) -> Iterator[ox.Quad]:
        for name in self._graphs():
            yield from self.store.quads_for_pattern(None, None, None, name)

    def _graphs(self) -> list[ox.DefaultGraph | ox.NamedNode | ox.BlankNode]:
        return [ox.DefaultGraph(), *(name for name in self.store.named_graphs() if name != CLASSES)]

    def _index(self) -> Iterator[ox.Quad]:
        for bundle in list(bundles(self.store)):
            yield from self.store.quads_for_pattern(bundle, None, None, ox.DefaultGraph())

    def quads(self, graph: str | None = None) -> ox.Store:
        """Return the store itself, or one with the graph of a run."""
        return self.store if graph is None else self._of_runs({graph, implied.CLASSES})


class StoreReader(OneGraphStore):
    """The published snapshot, open for queries; it keeps a reference to `beneath`.

    Raises NothingKnown if nothing has been merged yet, Damaged if the files of the snapshot are broken.
    """

    def __init__(self, home: Home, beneath: object = None) -> None:
        self.beneath = beneath
        with contextlib.suppress(OSError):  # a query needs no disk space
            snapshots.ensure_version(home)
        held = snapshots.hold(home)
        if held is None:
            recorded = len(home.run_folders())
            if recorded:
                raise NothingKnown(f"{recorded} recorded in {home.path}, none merged: provio merge shows the reason")
            raise NothingKnown(f"nothing is recorded in {home.path} yet: use provio run -- COMMAND")
        name, fd = held
        self.release = partial(snapshots.release, home, name, fd)
        folder, shown = home.kept, home.snapshots / name
        self.path = snapshots.StorePath(folder)
        store = snapshots.opened(ox.Store.read_only, self.path / f"snapshots/{name}", shown)
        super().__init__(store, partial(_lists, home))
        self.places = moves.places(home)

    def __del__(self) -> None:
        """Release the snapshot."""
        if hasattr(self, "release"):
            self.release()


def _with_notes(graph: str) -> list[str]:
    """Return a graph and, for that of a run, the graph of its notes."""
    return [graph, notes_iri(graph.removesuffix(RUN_GRAPH))] if graph.endswith(RUN_GRAPH) else [graph]


def _lists(home: Home) -> statements.Lists:
    from provio.store import statements

    return statements.Lists(home.kept)


def bundles(store: ox.Store) -> Iterator[ox.NamedNode]:
    """Yield the names in the index: those of the runs' graphs and of the other graphs."""
    for quad in store.quads_for_pattern(None, ox.NamedNode(RDF + "type"), BUNDLE, ox.DefaultGraph()):
        if isinstance(quad.subject, ox.NamedNode):
            yield quad.subject


def value_of(term: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> str:
    """Return the text of a term: an IRI without brackets, the lexical form of a literal."""
    return str(term) if isinstance(term, ox.Triple) else term.value


def cells(answer: ox.QuerySolutions) -> Iterator[list[str]] | None:
    """Return the rows of an answer as lists of cells; None if an IRI in it contains a comma.

    Going through CSV is several times as fast as solution by solution. But Oxigraph quotes only texts that contain a
    comma, not IRIs, and the IRI of a file contains the commas of its name: the cell boundaries of such a row are
    ambiguous.
    """
    width = len(answer.variables)
    text = (answer.serialize(format=ox.QueryResultsFormat.CSV) or b"").decode()
    if '"' not in text and text.count(",") == (width - 1) * text.count("\r\n"):
        whole = len(text) <= PIECE
        return map(methodcaller("split", ","), text.split("\r\n")[1:-1] if whole else _lines(text))
    import csv  # slow to import, and rarely needed
    import io

    csv.field_size_limit(1 << 31)  # a command line may have some MB: ARG_MAX
    if any(len(row) != width for row in csv.reader(io.StringIO(text, newline=""))):
        return None
    rows = csv.reader(io.StringIO(text, newline=""))
    next(rows)
    return rows


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a long text without quotes, except the header."""

    def pieces() -> Iterator[list[str]]:
        start = text.index("\r\n") + 2
        while start < len(text):
            last = text.find("\r\n", start + PIECE)
            end = len(text) if last < 0 else last + 2
            yield text[start:end].split("\r\n")[:-1]
            start = end

    return chain.from_iterable(pieces())


def rows_of(solutions: object) -> Iterator[dict[str, str]]:
    """Yield the solutions of a SELECT: variable → lexical value, without the unbound ones."""
    if not isinstance(solutions, ox.QuerySolutions):
        raise TypeError("rows needs a SELECT")
    names = [variable.value for variable in solutions.variables]
    for solution in solutions:
        yield {name: solution[name].value for name in names if solution[name] is not None}


def runs_of_earlier_version(home: Home, runs: Container[str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the runs that are in the published snapshot of an earlier version but not in `runs`: graph, run, content
    hash, N-Triples."""
    if snapshots.check_version(home) not in snapshots.EARLIER:
        return
    try:
        reader = StoreReader(home)
    except (NothingKnown, Damaged):
        return
    found = rows_of(reader.store.query(f"SELECT ?g ?run ?hash {{ ?g <{NS}ofRun> ?run ; <{NS}contentHash> ?hash }}"))
    for row in found:
        if row["run"].removeprefix(RUN_BASE) not in runs:
            quads = list(reader.store.quads_for_pattern(None, None, None, ox.NamedNode(row["g"])))
            quads = quads or list(reader._quads_of(row["g"]))  # from a publication that was killed before its end
            document = ox.serialize((quad.triple for quad in quads), format=ox.RdfFormat.N_TRIPLES) or b""
            yield row["g"], row["run"], row["hash"], document.decode()
