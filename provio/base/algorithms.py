"""Which nodes of a directed graph each lead to the other: who leads to whom in, a number for each node out.

Strongly connected components (R. E. Tarjan, Depth-first search and linear graph algorithms, 1972), without recursion: a
chain may be long.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def components(onward: Mapping[Node, Iterable[Node]]) -> dict[Node, int]:
    """Return for each node a number: the same for those, and only those, that each lead to the other."""
    order: dict[Node, int] = {}
    lowest: dict[Node, int] = {}
    found: dict[Node, int] = {}
    open_ones: list[Node] = []
    for root in onward:
        waiting = [(root, iter(onward[root]))] if root not in order else []
        while waiting:
            node, rest = waiting[-1]
            if node not in order:
                order[node] = lowest[node] = len(order)
                open_ones.append(node)
            following = next((other for other in rest if other not in found), None)
            if following is None:
                waiting.pop()
                if waiting:
                    above = waiting[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == order[node]:
                    _close(node, open_ones, found)
            elif following in order:
                lowest[node] = min(lowest[node], order[following])
            else:
                waiting.append((following, iter(onward.get(following, ()))))
    return found


def _close(node: Node, open_ones: list[Node], found: dict[Node, int]) -> None:
    number = len(found)
    while node not in found:
        found[open_ones.pop()] = number


# Which of many numbers belong together: pairs that do in, the smallest number of its set for each out (union-find).


class Disjoint:
    """Numbers from 0 on, each alone until it is joined with others."""

    def __init__(self, size: int = 0) -> None:
        self.above = array("q", range(size))

    def add(self) -> int:
        """Return a new number."""
        self.above.append(len(self.above))
        return len(self.above) - 1

    def join(self, one: int, other: int) -> None:
        """Put two numbers into one set."""
        low, high = sorted((self.find(one), self.find(other)))
        self.above[high] = low

    def find(self, number: int) -> int:
        """Return the smallest number of the set that a number is in."""
        above = self.above
        while above[number] != number:
            above[number] = above[above[number]]
            number = above[number]
        return number
