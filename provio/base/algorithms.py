"""Algorithms: strongly connected components, disjoint sets (union-find), and batches.

The components are computed with R. E. Tarjan's algorithm (Depth-first search and linear graph algorithms, 1972),
without recursion, because a chain may be long.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)
Item = TypeVar("Item")


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists of at most `size`."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def components(onward: Mapping[Node, Iterable[Node]]) -> dict[Node, int]:
    """Return a component number for each node: two nodes have the same number if and only if each is reachable from
    the other."""
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


class Disjoint:
    """Disjoint sets of the numbers from 0 (union-find); each number starts in a set of its own."""

    def __init__(self, size: int = 0) -> None:
        self.above = array("q", range(size))

    def add(self) -> int:
        """Return a new number, in a set of its own."""
        self.above.append(len(self.above))
        return len(self.above) - 1

    def join(self, one: int, other: int) -> None:
        """Merge the sets of two numbers."""
        low, high = sorted((self.find(one), self.find(other)))
        self.above[high] = low

    def find(self, number: int) -> int:
        """Return the smallest number of the set that contains `number`."""
        above = self.above
        while above[number] != number:
            above[number] = above[above[number]]
            number = above[number]
        return number
