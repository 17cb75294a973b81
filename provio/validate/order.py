"""What must come before what in, the steps that close a loop out.

A SPARQL property path would begin at each node anew, and loses the way; this looks at each step a few times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeVar

from provio.components import components

Node = TypeVar("Node")


def loops(steps: Iterable[tuple[Node, Node, bool]]) -> list[tuple[Node, Node]]:
    """Return the strict steps (before, after, strict) that lie on a loop."""
    numbers: dict[Node, int] = {}
    edges: set[tuple[int, int]] = set()
    strict: set[tuple[int, int]] = set()
    for before, after, is_strict in steps:
        edge = numbers.setdefault(before, len(numbers)), numbers.setdefault(after, len(numbers))
        edges.add(edge)
        if is_strict:
            strict.add(edge)
    left = _peeled(edges) if strict else set()
    if not left:
        return []
    onward: dict[int, list[int]] = defaultdict(list)
    for one, other in left:
        onward[one].append(other)
    part = components(onward)
    names = list(numbers)
    return [(names[a], names[b]) for a, b in sorted(strict & left) if part[a] == part[b]]


def _peeled(edges: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the edges that are left when every node that nothing leads to was taken away, again and again."""
    leads: dict[int, list[int]] = defaultdict(list)
    arrivals: dict[int, int] = defaultdict(int)
    for before, after in edges:
        leads[before].append(after)
        arrivals[after] += 1
    free = [node for node in leads if not arrivals[node]]
    gone = set(free)
    while free:
        for after in leads.get(free.pop(), ()):
            arrivals[after] -= 1
            if not arrivals[after]:
                gone.add(after)
                free.append(after)
    return {edge for edge in edges if edge[0] not in gone}
