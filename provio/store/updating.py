"""Carries out an update of the embedded store: a text in, what it says done, or a complaint, out.

What provio keeps is not an update's to change: the runs' graphs, what follows from several of them, the index. For what
was concluded would no longer follow, and the next merge would not know. Graphs of other names may hold anything.
"""

from __future__ import annotations

import hashlib
import io
from typing import IO, cast

import pyoxigraph as ox

from provio.errors import BadQuery
from provio.vocab import PREFIXES, PROV, RDF


def update(store: ox.Store, sparql: str) -> None:
    """Carry out an update. Raises SyntaxError, and BadQuery where it changed what provio keeps: it must be undone."""
    before = _kept(store)
    store.update(sparql, prefixes=PREFIXES)
    if _kept(store) != before:
        raise BadQuery("refused: it would change what provio keeps: name a graph of your own (GRAPH <…> { … })")


def _kept(store: ox.Store) -> dict[str, str]:
    """A digest of each graph that is provio's: those that the index says are bundles, and the index."""
    kind, bundle = ox.NamedNode(RDF + "type"), ox.NamedNode(PROV + "Bundle")
    bundles = [quad.subject for quad in store.quads_for_pattern(None, kind, bundle, ox.DefaultGraph())]
    graphs: list[ox.NamedNode | ox.DefaultGraph] = [ox.DefaultGraph()]
    graphs += [graph for graph in bundles if isinstance(graph, ox.NamedNode)]
    return {str(graph): _digest(store, graph) for graph in graphs}


def _digest(store: ox.Store, graph: ox.NamedNode | ox.DefaultGraph) -> str:
    found = _Digest()
    store.dump(cast(IO[bytes], found), ox.RdfFormat.N_TRIPLES, from_graph=graph)
    return found.hash.hexdigest()


class _Digest(io.RawIOBase):
    """A file that keeps only the SHA-256 of what is written to it."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Take more in."""
        self.hash.update(data)
        return len(data)
