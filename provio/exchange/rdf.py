"""RDF documents: of one run, of all runs, or of the lineage of files. In: a subject of an export. Out: a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, BinaryIO, cast

import pyoxigraph as ox
from pyoxigraph import RdfFormat

from provio.ask.document import LineageDocument
from provio.base.algorithms import batched
from provio.base.turtle import InertOutput
from provio.base.vocab import PREFIXES, PROV, RDF, RUN_BASE
from provio.exchange.sorted_lines import SortedLines
from provio.graph.lines import bundle_iri
from provio.store import Store, implied

if TYPE_CHECKING:
    from provio.exchange.subject import Subject


def write(subject: Subject, output: BinaryIO, form: RdfFormat) -> None:
    """Write runs, each as a named graph if the form has named graphs, or the lineage of files. TriG and Turtle are
    sorted by graph and node."""
    lines = InertOutput(output)
    named = form.supports_datasets and not subject.files
    if form == RdfFormat.N_QUADS and named:
        for block in statements(subject, named):
            lines.write(b"".join(map(quad, [*block.splitlines(True), *implied.more_lines(block)])))
    else:
        with SortedLines(implied.more_lines) as found:
            for block in statements(subject, named):
                found.write(block)
            lines_of_quads = map(quad, found) if named else (line for line in found if not line.startswith(_CLASSES))
            source = cast("IO[bytes]", _Readable(lines_of_quads))
            quads = ox.parse(source, RdfFormat.N_QUADS, lenient=True)
            every = quads if named else (one.triple for one in quads)
            ox.serialize(every, cast("IO[bytes]", lines), format=form, prefixes=dict(PREFIXES))
    lines.end()


def statements(subject: Subject, named: bool = False) -> Iterator[bytes]:
    """Yield the statements of an export as blocks of lines of N-Triples, with the name of its graph before each if
    they are `named`, and without the values that it hides. Those that they imply are missing; one may be there several
    times. The lineage of files has no names, as it may come from several runs."""
    if subject.files:
        quads = _stated(subject.reader, subject.document)
    else:
        graphs: list[str | None] = [bundle_iri(RUN_BASE + run) for run in subject.runs]
        found = chain.from_iterable(
            subject.reader.dumped(graph, named or bool(subject.hide.kinds)) for graph in graphs or [None]
        )
        if not subject.hide.kinds:
            yield from found
            return
        lines = map(quad, chain.from_iterable(block.splitlines(True) for block in found))
        quads = ox.parse(cast("IO[bytes]", _Readable(lines)), RdfFormat.N_QUADS, lenient=True)
    for some in batched(subject.hide.quads(quads), TOGETHER):
        yield "".join(_line(one, named) for one in some).encode()


def _line(one: ox.Quad, named: bool) -> str:
    graph = one.graph_name if named and isinstance(one.graph_name, ox.NamedNode) else ""
    return f"{graph}{' ' * named}{one.triple} .\n"


def quad(line: bytes) -> bytes:
    """Return a statement with its graph before it as a line of N-Quads."""
    graph, _, triple = line.partition(b" ")
    return b"%b%b .\n" % (triple[:-2], graph) if graph else triple


class _Readable:
    """A binary file that consists of lines."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines, self._left = iter(lines), b""

    def read(self, size: int) -> bytes:
        """Return the next bytes, some of `size`; none at the end."""
        if not self._left:
            self._left = b"".join(islice(self._lines, TOGETHER))
        data, self._left = self._left[:size], self._left[size:]
        return data


def _stated(store: Store, document: LineageDocument) -> Iterator[ox.Quad]:
    """Yield the statements about the nodes of a lineage, their files, processes and runs, and its edges; those about
    other nodes are omitted."""
    nodes = {node["iri"] for node in document["nodes"]} | {gap["iri"] for gap in document["gaps"]}
    nodes |= {iri for node in document["nodes"] for iri in (node.get("process"), node.get("run")) if iri}
    notes = {note["iri"] for note in document.get("notes", ())}
    nodes |= notes
    found = list(_about(store, nodes))
    people = {o.value for s, p, o in found if p == BY and s.value in notes and isinstance(o, ox.NamedNode)}
    names = {o.value for _, p, o in found if p == NAMED and isinstance(o, ox.NamedNode)}  # the files of the versions
    names |= people
    found += _about(store, names - nodes)
    nodes |= names
    for triple in found:
        inside = not isinstance(triple.object, ox.NamedNode) or triple.object.value in nodes
        if inside or triple.predicate.value == RDF + "type":
            yield ox.Quad(*triple)
    for edge in document["edges"]:
        yield ox.Quad(*(ox.NamedNode(edge[end]) for end in ("subject", "predicate", "object")))


def _about(store: Store, nodes: Iterable[str]) -> Iterator[ox.Triple]:
    """Yield the statements about nodes."""
    for some in batched(sorted(nodes), TOGETHER):
        values = " ".join(f"<{iri}>" for iri in some)
        answer = store.query(f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ VALUES ?s {{ {values} }} ?s ?p ?o }}")
        yield from answer if isinstance(answer, ox.QueryTriples) else ()


_CLASSES = f"<{implied.CLASSES}> ".encode()
NAMED = ox.NamedNode(PROV + "specializationOf")
BY = ox.NamedNode(PROV + "wasAssociatedWith")
TOGETHER = 500  # nodes of one query, and lines of one block
