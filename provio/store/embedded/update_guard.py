"""Applies SPARQL updates to the embedded store, and detects those that would change provio's own data."""

from __future__ import annotations

import hashlib
import io
from typing import IO, cast

import pyoxigraph as ox

from provio.base.errors import BadQuery
from provio.base.vocab import PREFIXES, PROV, RDF


def apply_update(store: ox.Store, sparql: str) -> None:
    """Apply an update. Raises SyntaxError, and BadQuery if it changed provio's own data: the caller must then undo
    it."""
    before = _own_digests(store)
    store.update(sparql, prefixes=PREFIXES)
    if _own_digests(store) != before:
        raise BadQuery("refused: the update would change provio's own data: name a graph of your own (GRAPH <…> { … })")


def _own_digests(store: ox.Store) -> dict[str, str]:
    """Return a digest of each of provio's graphs: the index, and the graphs that the index declares as bundles."""
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
    """A file that computes the SHA-256 of the written data and stores nothing."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Add data to the digest."""
        self.hash.update(data)
        return len(data)
