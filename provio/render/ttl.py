"""The lineage document as Turtle: the asserted triples and the types of their ends, for other tools."""

from __future__ import annotations

import pyoxigraph as ox

from provio.ask.document import LineageDocument
from provio.base.turtle import inert
from provio.base.vocab import PREFIXES, RDF, RDFS
from provio.store.implied import types


def render(document: LineageDocument) -> str:
    """Return the document's edges and nodes as Turtle."""
    triples = [
        ox.Triple(ox.NamedNode(edge["subject"]), ox.NamedNode(edge["predicate"]), ox.NamedNode(edge["object"]))
        for edge in document["edges"]
    ]
    for node in document["nodes"]:
        subject = ox.NamedNode(node["iri"])
        triples += [ox.Triple(subject, ox.NamedNode(RDF + "type"), ox.NamedNode(iri)) for iri in types(node["type"])]
        triples.append(ox.Triple(subject, ox.NamedNode(RDFS + "label"), ox.Literal(node["label"])))
    data = ox.serialize(dict.fromkeys(triples), format=ox.RdfFormat.TURTLE, prefixes={**PREFIXES})
    return inert(data or b"").decode()
