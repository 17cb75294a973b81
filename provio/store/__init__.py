"""What a question needs of a store: SPARQL in, rows out; the embedded Oxigraph is in `embedded`.

A reader never sees half a merge: it opens the snapshot that the last writer published.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol


class Reader(Protocol):
    """What can be asked."""

    def rows(self, sparql: str) -> Iterator[dict[str, str]]:
        """Yield the solutions of a SELECT: variable → lexical value, unbound ones left out."""

    def table(self, sparql: str) -> Iterator[list[str]]:
        """Yield them as lists of lexical values, unbound ones empty: several times as fast where there are many."""

    def about(self, iri: str) -> Iterator[tuple[str, str]]:
        """Yield what is said of one node, (predicate, lexical value): quicker than a query, where nodes are few."""
