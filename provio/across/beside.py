"""What follows from several runs beside their inodes and channels: equal content, versions of configurations, states of
what no file shows.

A run's graph in, before and after it is renewed; what that touches is said anew in the graph of such conclusions.
"""

from __future__ import annotations

from provio.across import configurations, content, states
from provio.across.known import Kept
from provio.plain import plain


@plain(frozen=True)
class Touched:
    """What runs' graphs speak of: versions by their hashes, versions of configurations, things with identifiers."""

    content: dict[str, set[str]]
    configurations: set[str]
    things: dict[str, set[str]]

    def with_(self, other: Touched) -> Touched:
        """Return both together."""
        both = self.configurations | other.configurations, self.things | other.things
        return Touched(self.content | other.content, *both)


def touched(store: Kept, *graphs: str) -> Touched:
    """Return what runs' graphs speak of."""
    own = configurations.touched(store, *graphs), states.touched(store, *graphs)
    return Touched(content.touched(store, *graphs), *own)


def renew(store: Kept, graph: str | None, before: Touched) -> bool:
    """Say anew what follows for what a run's graph speaks of (None: it is gone), or spoke of `before`; tell whether
    that is anything."""
    said = content.renew(store, graph, before.content)
    said |= configurations.renew(store, graph, before.configurations)
    return states.renew(store, graph, before.things) or said
