"""What follows from several runs beside their inodes and channels: equal content, and versions of configurations.

A run's graph in, before and after it is renewed; what that touches is said anew in the graph of such conclusions.
"""

from __future__ import annotations

from provio.across import configurations, content
from provio.across.known import Kept
from provio.plain import plain


@plain(frozen=True)
class Touched:
    """What runs' graphs speak of: versions by their hashes, and versions of configurations."""

    content: dict[str, set[str]]
    configurations: set[str]

    def with_(self, other: Touched) -> Touched:
        """Return both together."""
        return Touched(self.content | other.content, self.configurations | other.configurations)


def touched(store: Kept, *graphs: str) -> Touched:
    """Return what runs' graphs speak of."""
    return Touched(content.touched(store, *graphs), configurations.touched(store, *graphs))


def renew(store: Kept, graph: str | None, before: Touched) -> bool:
    """Say anew what follows for what a run's graph speaks of (None: it is gone), or spoke of `before`; tell whether
    that is anything."""
    said = content.renew(store, graph, before.content)
    return configurations.renew(store, graph, before.configurations) or said
