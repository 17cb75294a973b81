"""RDF documents of one run or of all runs, for `provio export`: one function per format. In: a store. Out: bytes."""

from __future__ import annotations

from collections.abc import Callable

from pyoxigraph import RdfFormat

from provio.store import Store


def nquads(store: Store, graph: str | None) -> bytes:
    """Return N-Quads; each run is a named graph."""
    return store.dataset(graph, RdfFormat.N_QUADS)


def trig(store: Store, graph: str | None) -> bytes:
    """Return TriG; each run is a named graph."""
    return store.dataset(graph, RdfFormat.TRIG)


def ttl(store: Store, graph: str | None) -> bytes:
    """Return Turtle: the union of the graphs, because a Turtle document has no named graphs."""
    return store.triples(graph, RdfFormat.TURTLE)


FORMATS: dict[str, Callable[[Store, str | None], bytes]] = {"nquads": nquads, "trig": trig, "ttl": ttl}
