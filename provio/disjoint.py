"""Which of many numbers belong together: pairs that do in, the smallest number of its set for each out (union-find)."""

from __future__ import annotations

from array import array


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
