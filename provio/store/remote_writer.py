"""Writes a store on a server: a run's graph and what follows from it in, one update that says both out.

A graph is put there before the index names it; one that the index names already is put beside it and moved there. What
changes in the derived graphs waits for the index, and goes with it; where that would be several steps, they are written
anew beside what there was (`switched`). Single triples are asked for by the subject, each
once; the derived graphs are kept here, for nobody else writes them meanwhile.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from provio.errors import BadQuery
from provio.implied import CLASSES
from provio.store import INDEX, terms
from provio.store.lease import Lease
from provio.store.remote import PROLOGUE, asked, connect, held, indexed, understood, whole
from provio.store.server import LINES
from provio.store.switched import KEPT, following, place_of
from provio.store.versions import Versions
from provio.vocab import NS, PROV, RDF, RUN_BASE

if TYPE_CHECKING:
    from provio.config import Config
    from provio.lock import Lock

INODE = NS + "inode"
OF_VERSIONS = (PROV + "wasGeneratedBy", PROV + "wasRevisionOf")  # what each is asked for
STAGED = "/staged"
PIECE = 500  # triples in one operation of an update: Virtuoso takes no more than some thousands
Said = list[tuple[str, str, str]]  # a term's value, another's or a predicate, and the graph


class RemoteWriter:
    """The one writer: a context manager that holds the server's lease, and a lock. Raises Busy where `wait` is false.

    `anew` has all runs of the `.provio` put there again; those of others stay.
    """

    def __init__(self, settings: Config, lock: Lock, wait: bool, anew: bool = False) -> None:
        self.lock, self.anew = lock, anew
        try:
            self.server = connect(settings, wait)
            self.lease = Lease(self.server, wait)
        except BaseException:
            lock.close()
            raise
        try:
            self._look()
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def _look(self) -> None:
        """See what is there, and bring here what is derived."""
        self.graphs = set(indexed(self.server))
        self.place = place_of(self.graphs)  # where each derived graph is found
        self.graphs = self.graphs - set(self.place.values()) | self.place.keys()
        self._tidy()
        self.whole = whole(self.server, self.graphs)
        self.begun = self.anew or not self.graphs - {CLASSES}
        self.staged: dict[str, str] = {}
        self.near = ox.Store()
        for graph in self.graphs & set(KEPT):
            self.near.load(
                self.server.get(self.place[graph]), format=ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode(graph)
            )
        self.changes: list[str] = []
        self.derived: dict[str, list[str]] = {}  # derived graph → what changes in it
        self.kept: dict[Any, Said] = {}
        self.latest = ""
        self.versions = Versions(Path(":memory:"))

    def _tidy(self) -> None:
        """Drop runs' graphs that a merge which was killed put there, and the index never named. (Virtuoso would take
        long to tell what it holds, and asks by a list of graphs anyhow.)"""
        found = held(self.server) - self.graphs if self.server.is_oxigraph else set()
        left = [graph for graph in found if re.fullmatch(re.escape(RUN_BASE) + "[^/]+/bundle(/staged)?", graph)]
        if left:
            self.server.update([f"DROP SILENT GRAPH <{graph}>" for graph in left])

    def __enter__(self) -> RemoteWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.lease.end()
        finally:
            self.lock.close()

    def replace(self, graph: str, pieces: Iterable[str]) -> None:
        """Make `pieces` (N-Triples) the content of a graph, which readers see from the next `index` on."""
        place = graph + STAGED if graph in self.graphs else graph
        with tempfile.TemporaryFile() as file:
            file.writelines(piece.encode() for piece in pieces)
            file.seek(0)
            self.lease.hold()
            self.server.put(place, file)
        if place != graph:
            self.staged[place] = graph
        self.graphs.discard(graph)
        self.graphs.add(place)
        self.kept.clear()
        self.latest = place

    def listed(self, graph: str) -> str:
        """Return the name of the list."""
        return graph

    def index(self, lines: Iterable[str]) -> None:
        """Carry out what waits, and say in the index what is in the graphs, last, in one update."""
        for place, graph in self.staged.items():
            self._say(_unindexed(graph), *self._moved(place, graph))
        text = "".join(lines)
        for graph, place in self.place.items():
            text = text.replace(f"<{graph}>", f"<{place}>")
        self._insert(INDEX, [text])
        self.publish()

    def drop(self, graph: str) -> None:
        """Remove a graph and its index, for readers with the next `index` or `publish`."""
        for place in [place for place, staged in self.staged.items() if staged == graph]:
            self._say(f"DROP SILENT GRAPH <{place}>")
            self.graphs.discard(place)
            del self.staged[place]
        place = self.place.get(graph, graph)
        gone = [_unindexed(place), f"DROP SILENT GRAPH <{place}>"]
        if graph in KEPT:
            self.derived[graph] = gone
        else:
            self._say(*gone)
        self.whole = False  # until then it is there, and in the union
        self.graphs.discard(graph)
        self.near.remove_graph(ox.NamedNode(graph))
        self.kept.clear()

    def left_behind(self, runs: Container[str]) -> Iterator[tuple[str, str, str, str]]:  # noqa: ARG002
        """Yield nothing: a server's graphs stay as they are."""
        yield from ()

    def objects(self, subject: str, predicate: str) -> list[tuple[str, str]]:
        """Return the objects of a subject's property in every graph, each with its graph."""
        if predicate in OF_VERSIONS and ("v", subject) in self.kept:
            there = self.kept["v", subject]
        else:
            there = self._statements(subject)
        found = [(value, graph) for p, value, graph in there if p == predicate]
        return found + [(value, graph) for _, _, value, graph in self._near(subject, predicate)]

    def _statements(self, subject: str) -> Said:
        """What the runs' graphs say of a subject."""
        if ("s", subject) not in self.kept:
            query = f"SELECT ?p ?o ?g {{ GRAPH ?g {{ <{subject}> ?p ?o }} }}"
            self.kept["s", subject] = [(row["p"], row["o"], row["g"]) for row in self.rows(query)]
        return self.kept["s", subject]

    def subjects(self, predicate: str, object_: str | int) -> list[tuple[str, str]]:
        """Return the subjects that have this object (an IRI, or an integer) in any graph, each with its graph."""
        key = (predicate, object_)
        if predicate == INODE and key not in self.kept and self.latest:
            self._fetch_inodes()
        if key not in self.kept:
            term = str(object_) if isinstance(object_, int) else f"<{object_}>"
            query = f"SELECT ?s ?g {{ GRAPH ?g {{ ?s <{predicate}> {term} }} }}"
            self.kept[key] = [(row["s"], "", row["g"]) for row in self.rows(query)]
        there = [(subject, graph) for subject, _, graph in self.kept[key]]
        return there + [(s, graph) for s, _, value, graph in self._near(None, predicate) if value == str(object_)]

    def _fetch_inodes(self) -> None:
        """Ask at once for all versions of the inodes that the latest graph speaks of, and what each is asked for."""
        inodes, self.latest = f"GRAPH <{self.latest}> {{ ?v <{INODE}> ?n }}", ""
        found: dict[Any, Said] = {}
        for row in self.rows(f"SELECT DISTINCT ?n ?s ?g {{ {inodes} GRAPH ?g {{ ?s <{INODE}> ?n }} }}"):
            found.setdefault((INODE, int(row["n"])), []).append((row["s"], "", row["g"]))
            found.setdefault(("v", row["s"]), [])
        words = f"VALUES ?p {{ {' '.join(f'<{word}>' for word in OF_VERSIONS)} }}"
        versions = f"{inodes} GRAPH ?h {{ ?s <{INODE}> ?n }} GRAPH ?g {{ ?s ?p ?o }} {words}"
        for row in self.rows(f"SELECT DISTINCT ?s ?p ?o ?g {{ {versions} }}"):
            found.setdefault(("v", row["s"]), []).append((row["p"], row["o"], row["g"]))
        self.kept.update(found)

    def members(self, graph: str, predicate: str, object_: str | None = None) -> Iterator[str]:
        """Yield the subjects that have a property in a graph."""
        term = f"<{object_}>" if object_ else "?o"
        for row in self.rows(f"SELECT ?s {{ GRAPH <{graph}> {{ ?s <{predicate}> {term} }} }}"):
            yield row["s"]

    def statements(self, graph: str) -> Iterator[tuple[str, str, str]]:
        """Yield all that a derived graph says; literals by their lexical form."""
        for subject, predicate, value, found in self._near(None, None):
            if found == graph:
                yield subject, predicate, value

    def about(self, graph: str, subject: str) -> Iterator[tuple[str, str, str]]:
        """Yield all that a derived graph says of a subject; literals by their lexical form."""
        for _, predicate, value, found in self._near(subject, None):
            if found == graph:
                yield subject, predicate, value

    def has(self, predicate: str) -> bool:
        """Tell whether anything is said by a property."""
        return bool(next(self.rows(f"SELECT ?s {{ GRAPH ?g {{ ?s <{predicate}> ?o }} }} LIMIT 1"), None))

    def stating(self, predicate: str, text: str) -> list[str]:
        """Return the subjects that have this text in any graph."""
        query = f"SELECT ?s {{ GRAPH ?g {{ ?s <{predicate}> {ox.Literal(text)} }} }}"
        return [row["s"] for row in self.rows(query)]

    def withdraw(self, graph: str, statements: Iterable[tuple[str, str, str]]) -> None:
        """Remove all that a derived graph says of these subjects by these properties with these values."""
        gone, name = [], ox.NamedNode(graph)
        for subject, predicate, value in statements:
            found = self.near.quads_for_pattern(ox.NamedNode(subject), ox.NamedNode(predicate), None, name)
            gone += [quad for quad in found if _value(quad.object) == value]
        for quad in dict.fromkeys(gone):
            self.near.remove(quad)
        lines = [f"{quad.triple} .\n" for quad in dict.fromkeys(gone)]
        self.derived.setdefault(graph, []).extend(self._pieces("DELETE", self.place.get(graph, graph), lines))

    def add(self, graph: str, lines: Iterable[str]) -> None:
        """Add N-Triples to a derived graph."""
        known = list(lines)
        self.near.load("".join(known).encode(), format=ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode(graph))
        self.derived.setdefault(graph, []).extend(self._pieces("INSERT", self.place.get(graph, graph), known))

    def rows(self, sparql: str) -> Iterator[dict[str, str]]:
        """Ask the union of the runs' graphs: the solutions of a SELECT as a reader gives them."""
        self.lease.hold()
        for place, graph in self.staged.items():
            sparql = sparql.replace(f"<{graph}>", f"<{place}>")
        if self.whole and not self.staged:
            with understood(self.server):
                answer = self.server.ask(PROLOGUE + sparql, union=True)
        else:
            answer = asked(self.server, sparql, sorted(self.graphs - set(KEPT)))
        for row in terms.rows(answer):
            if "g" in row:
                if row["g"] not in self.graphs or row["g"] in KEPT:
                    continue
                row["g"] = self.staged.get(row["g"], row["g"])
            yield row

    def indexed(self, predicate: str) -> dict[str, str]:
        """Return what the index says: graph → value of `predicate`; nothing where all is to be put there anew."""
        if self.anew:
            return {}
        query = f"SELECT ?graph ?value {{ GRAPH <{INDEX}> {{ ?graph <{predicate}> ?value }} }}"
        rows = terms.rows(asked(self.server, query, [INDEX]))
        return {row["graph"]: row["value"] for row in rows if row["graph"] in self.graphs}

    def update(self, sparql: str) -> None:  # noqa: ARG002
        """Refuse: whether an update changes what is provio's is known after it, and a server takes nothing back."""
        raise BadQuery(
            f"provio updates only the store on this disk, where it can undo what would change a run: send it to "
            f"{self.server.url}{self.server.endpoints.update} yourself"
        )

    def renew(self, progress: Callable[[str], None]) -> None:
        """Do nothing: what a server's tables keep is its own."""

    def publish(self) -> None:
        """Carry out what waits."""
        if self.changes or self.derived:
            self.lease.hold()
            derived = [one for changes in self.derived.values() for one in changes]
            if self.server.is_virtuoso and sum(one.count("\n") for one in (*derived, *self.changes)) > LINES // 2:
                derived = [one for graph in list(self.derived) for one in self._switched(graph)]
                self.server.update([*self.changes, *derived])
            else:
                self.server.update([*derived, *self.changes])
            self.derived = {}
        left = list(self.staged) if self.server.is_oxigraph else []
        self.graphs = self.graphs - set(self.staged) | set(self.staged.values())
        self.changes, self.staged = [], {}
        if left:
            self.server.update([f"DROP SILENT GRAPH <{place}>" for place in left])

    def _moved(self, place: str, graph: str) -> list[str]:
        """What makes a graph what is at `place`. In one transaction Oxigraph takes many times as long for a triple as
        otherwise, so that it is told to change what differs; what was at `place` is dropped after it."""
        if not self.server.is_oxigraph:
            return [f"MOVE <{place}> TO <{graph}>"]
        here, there = (f"GRAPH <{name}> {{ ?s ?p ?o }}" for name in (graph, place))
        return [
            f"DELETE {{ {here} }} WHERE {{ {here} MINUS {{ {there} }} }}",
            f"INSERT {{ {here} }} WHERE {{ {there} MINUS {{ {here} }} }}",
        ]

    def _switched(self, graph: str) -> list[str]:
        """Write a derived graph anew under the next name; return what has the index name that one."""
        last = self.place.get(graph, graph)
        if not any(self.near.quads_for_pattern(None, None, None, ox.NamedNode(graph))):
            return [_unindexed(last), f"DROP SILENT GRAPH <{last}>"]
        place = self.place[graph] = following(last)
        with tempfile.TemporaryFile() as file:
            self.near.dump(file, ox.RdfFormat.N_TRIPLES, from_graph=ox.NamedNode(graph))
            file.seek(0)
            self.server.put(place, file)
        before = following(place, -2)
        bundle = f"<{place}> <{RDF}type> <{PROV}Bundle> ."
        switch = [_unindexed(last), f"INSERT DATA {{ GRAPH <{INDEX}> {{ {bundle} }} }}"]
        return [*switch, *([f"DROP SILENT GRAPH <{before}>"] if before else [])]

    def _say(self, *operations: str) -> None:
        self.changes += operations

    def _insert(self, graph: str, lines: Iterable[str]) -> None:
        self._say(*self._pieces("INSERT", graph, lines))

    @staticmethod
    def _pieces(word: str, graph: str, lines: Iterable[str]) -> list[str]:
        triples = [line + "\n" for line in "".join(lines).split("\n") if line]  # a text may hold other ends of lines
        pieces = ("".join(triples[start : start + PIECE]) for start in range(0, len(triples), PIECE))
        return [f"{word} DATA {{ GRAPH <{graph}> {{ {piece} }} }}" for piece in pieces]

    def _near(self, subject: str | None, predicate: str | None) -> Iterator[tuple[str, str, str, str]]:
        """What the derived graphs say: subject, predicate, value, graph."""
        node, word = (ox.NamedNode(iri) if iri else None for iri in (subject, predicate))
        for quad in self.near.quads_for_pattern(node, word, None, None):
            yield _value(quad.subject), quad.predicate.value, _value(quad.object), _value(quad.graph_name)


def _value(term: Any) -> str:
    return str(getattr(term, "value", term))


def _unindexed(graph: str) -> str:
    return f"DELETE {{ GRAPH <{INDEX}> {{ <{graph}> ?p ?o }} }} WHERE {{ GRAPH <{INDEX}> {{ <{graph}> ?p ?o }} }}"
