"""Graphs of the store that hold words and no record: the user's ontology, or which classes imply which; lines in."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from provio import turtle
from provio.store import Writer
from provio.vocab import PROV, RDF, provio


def keep(store: Writer, graph: str, lines: Sequence[str]) -> bool:
    """Make these lines (N-Triples) the content of a graph, or drop it where there are none; return whether it had
    another."""
    digest = hashlib.sha256("".join(sorted(lines)).encode()).hexdigest() if lines else ""
    if store.indexed(provio("contentHash")).get(graph, "") == digest:
        return False
    if not lines:
        store.drop(graph)
        return True
    store.replace(graph, ["".join(lines)])
    bundle = f"<{graph}> <{RDF}type> <{PROV}Bundle> .\n"
    store.index([bundle, f"<{graph}> <{provio('contentHash')}> {turtle.literal(digest)} .\n"])
    return True
