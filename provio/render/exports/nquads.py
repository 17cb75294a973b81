"""N-Quads, each run a named graph: a store's reader in, the document's bytes out."""

from __future__ import annotations

from pyoxigraph import RdfFormat

from provio.store import Store

TITLE = "N-Quads, each run a named graph"


def export(reader: Store, graph: str | None) -> bytes:
    """Return one run's graph (an IRI), or everything."""
    return reader.dataset(graph, RdfFormat.N_QUADS)
