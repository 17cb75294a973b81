"""RDF documents: of one run, of all runs, or of the lineage of files. In: a subject of an export. Out: a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO

import pyoxigraph as ox
from pyoxigraph import RdfFormat

from provio.ask.document import LineageDocument
from provio.base.algorithms import batched
from provio.base.turtle import inert
from provio.base.vocab import PREFIXES, PROV, RDF, RUN_BASE
from provio.graph.lines import bundle_iri
from provio.store import Store, implied

if TYPE_CHECKING:
    from provio.exchange.subject import Subject


def write(subject: Subject, output: BinaryIO, form: RdfFormat) -> None:
    """Write runs, each as a named graph if the form has named graphs, or the lineage of files."""
    if subject.files:
        data = lineage(subject.reader, subject.document, form)
    else:
        graph = bundle_iri(RUN_BASE + subject.runs[0]) if subject.runs else None
        reader = subject.reader
        data = reader.dataset(graph, form) if form.supports_datasets else reader.triples(graph, form)
    output.write(inert(data))


def lineage(store: Store, document: LineageDocument, form: RdfFormat) -> bytes:
    """Return the statements of the record about the nodes of a lineage, their files, processes and runs, and its edges.
    They are in the default graph, as they may come from several runs. Statements about other nodes are omitted."""
    statements = dict.fromkeys(quad.triple for quad in implied.quads(_stated(store, document)))
    return ox.serialize(statements, format=form, prefixes={**PREFIXES}) or b""


def _stated(store: Store, document: LineageDocument) -> Iterator[ox.Quad]:
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


NAMED = ox.NamedNode(PROV + "specializationOf")
BY = ox.NamedNode(PROV + "wasAssociatedWith")
TOGETHER = 500  # nodes of one query
