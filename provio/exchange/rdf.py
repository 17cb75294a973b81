"""RDF documents: of one run, of all runs, or of the lineage of files. In: a subject of an export. Out: a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from typing import IO, TYPE_CHECKING, BinaryIO, cast

import pyoxigraph as ox
from pyoxigraph import RdfFormat

from provio.ask.document import LineageDocument
from provio.ask.nodes import is_member
from provio.base.algorithms import batched
from provio.base.turtle import InertOutput
from provio.base.vocab import NS, PREFIXES, PROV, RDF, RUN_BASE
from provio.graph.lines import bundle_iri
from provio.store import Store, implied

if TYPE_CHECKING:
    from provio.exchange.subject import Subject


def write(subject: Subject, output: BinaryIO, form: RdfFormat) -> None:
    """Write runs, each as a named graph if the form has such; or the lineage of files, or runs in the chosen detail."""
    named = form.supports_datasets and not is_answer(subject)
    found = quads(subject, named)
    statements = found if named else unique(quad.triple for quad in found)
    lines = InertOutput(output)
    ox.serialize(statements, cast("IO[bytes]", lines), format=form, prefixes=dict(PREFIXES))
    lines.end()


def quads(subject: Subject, named: bool = False) -> Iterator[ox.Quad]:
    """Yield the statements of an export, with those that they imply, and without the values that it hides; with
    `named`, those of each run in its graph. An answer has no named graph, as it may come from several runs."""
    if is_answer(subject):
        documents = subject.documents(subject.level, subject.steps)
        found = implied.quads(chain.from_iterable(_stated(subject.reader, one) for one in documents))
    else:
        found = chain.from_iterable(subject.reader.exported(graph, not named) for graph in graphs_of(subject))
    return subject.hide.quads(found)


def is_answer(subject: Subject) -> bool:
    """Return whether an export has an answer (the lineage of files, or runs in the detail that the user chose) instead
    of all that is recorded."""
    return bool(subject.files or subject.level or subject.steps)


def graphs_of(subject: Subject) -> list[str | None]:
    """Return the names of the graphs of an export's runs; only None for all runs."""
    return [bundle_iri(RUN_BASE + run) for run in subject.runs] or [None]


def unique(triples: Iterable[ox.Triple]) -> Iterator[ox.Triple]:
    """Yield the triples without those that are already among the triples of their subject just before them: most of
    those that are there several times, in little memory."""
    for _, group in groupby(triples, key=lambda triple: triple.subject):
        yield from dict.fromkeys(group)


def _stated(store: Store, document: LineageDocument) -> Iterator[ox.Quad]:
    """Yield the statements about the nodes of a lineage, their files, processes and runs, and its edges; those about
    other nodes are omitted."""
    nodes = {node["iri"] for node in document["nodes"]} | {gap["iri"] for gap in document["gaps"]}
    nodes.add(document["target"])  # a run, even if it used no file
    nodes |= {iri for node in document["nodes"] for iri in (node.get("process"), node.get("run")) if iri}
    nodes |= {iri.partition("#")[0] for iri in nodes if is_member(iri)}  # the files of objects
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
    for node in document["nodes"]:
        if node["type"] == "Directory" and "files" in node:  # the store has no node for all files of a folder
            yield ox.Quad(ox.NamedNode(node["iri"]), ox.NamedNode(RDF + "type"), ox.NamedNode(NS + "Directory"))
            word, path = "path", node["path"]
            if "\ufffd" in path:  # not UTF-8
                word, path = "pathEncoded", "/" + node["iri"].removeprefix("file://").partition("/")[2].rstrip("/")
            yield ox.Quad(ox.NamedNode(node["iri"]), ox.NamedNode(NS + word), ox.Literal(path))
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
