"""Turtle: the triples of one run, or of all runs together (a Turtle document has no named graphs)."""

from __future__ import annotations

from pyoxigraph import RdfFormat

from provio.store import Store

TITLE = "Turtle, the union of the graphs"


def export(reader: Store, graph: str | None) -> bytes:
    """Return one run's graph (an IRI), or the union of all."""
    return reader.triples(graph, RdfFormat.TURTLE)
