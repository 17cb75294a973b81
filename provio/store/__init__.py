"""One interface to a SPARQL store: graphs in, answers out; the embedded Oxigraph is in `embedded`.

A reader never sees half a merge: it opens the snapshot that the last writer published.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

Row = Mapping[str, str]


class Term(Protocol):
    """An RDF term of an answer."""

    value: str


class Reader(Protocol):
    """What can be asked."""

    def rows(self, sparql: str) -> Iterator[dict[str, str]]:
        """Yield the solutions of a SELECT: variable → lexical value, unbound ones left out."""


class Writer(Protocol):
    """What merge needs."""

    def replace(self, graph: str, pieces: Iterable[str], index: Iterable[str]) -> None:
        """Make `pieces` (N-Triples) the whole content of a graph, and `index` what the default graph says of it."""

    def drop(self, graph: str) -> None:
        """Remove a graph and its index."""

    def publish(self) -> None:
        """Let readers see it."""
