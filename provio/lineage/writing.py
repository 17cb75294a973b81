"""Search the write spans of an inode by time: those that observed a version, enclose a moment, or emptied the file.

The searches take logarithmic time, because a log may have as many spans as versions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from operator import itemgetter

from provio.lineage.model import SECOND, Conclusions, Span, Version

Inode = tuple[str, int, int]
FEW = 16  # spans: a linear search is faster up to here


class Writing:
    """The spans of one inode; all results are in their order."""

    def __init__(self, spans: list[Span]) -> None:
        self.spans = spans

    def saw(self, version: Version) -> list[Span]:
        """Return the spans that observed a version at their end."""
        return [span for span in self._left.get((version.facts.mtime, version.facts.size), ()) if span.saw(version)]

    def enclosing(self, version: Version) -> list[Span]:
        """Return the spans that enclose a version's time."""
        spans = self.spans
        if len(spans) > FEW:
            mtime, error = version.facts.mtime, spans[0].clock_error
            spans = self._in_order(self._by_end.reaching(min(mtime + SECOND, version.seen) + error, mtime - error))
        return [span for span in spans if span.encloses(version)]

    def emptied_by(self, moment: int, host: str) -> tuple[int, Span | None]:
        """Return when the file was last certainly emptied by a moment of a host's clock, and by which span; (0, None)
        for never."""
        place = bisect_right(self._emptied, moment, key=itemgetter(0))
        while place:
            at, number = self._emptied[place - 1]
            span = self.spans[number]
            if at <= moment - (0 if span.process.host == host else span.clock_error):
                return at, span
            place -= 1
        return 0, None

    def between(self, since: int, moment: int) -> list[Span]:
        """Return the spans that had started by `moment` and ended after `since`."""
        if len(self.spans) > FEW:
            return self._in_order(self._by_last.reaching(moment, since + 1))
        return [span for span in self.spans if span.last > since and span.first <= moment]

    def _in_order(self, numbers: Iterator[int]) -> list[Span]:
        return [self.spans[number] for number in sorted(numbers)]

    @cached_property
    def _left(self) -> dict[tuple[int, int], list[Span]]:
        found: dict[tuple[int, int], list[Span]] = {}
        for span in self.spans:
            if span.final:
                found.setdefault((span.final.mtime, span.final.size), []).append(span)
        return found

    @cached_property
    def _emptied(self) -> list[tuple[int, int]]:
        return sorted((span.truncated, number) for number, span in enumerate(self.spans) if span.truncated)

    @cached_property
    def _by_last(self) -> Stretches:
        return Stretches([(span.first, span.last) for span in self.spans])

    @cached_property
    def _by_end(self) -> Stretches:
        return Stretches([(span.first, max(span.last, span.end)) for span in self.spans])


class Stretches:
    """Intervals of time (first, last) by their start, with the latest end over each two, four, eight … of them."""

    def __init__(self, stretches: list[tuple[int, int]]) -> None:
        ordered = sorted((first, last, number) for number, (first, last) in enumerate(stretches))
        self.firsts = [first for first, _, _ in ordered]
        self.numbers = [number for _, _, number in ordered]
        self.latest = [[last for _, last, _ in ordered]]
        while len(self.latest[-1]) > 1:
            below = self.latest[-1]
            self.latest.append([max(below[place : place + 2]) for place in range(0, len(below), 2)])

    def reaching(self, moment: int, until: int) -> Iterator[int]:
        """Yield the number of each interval that had started by `moment` and ends at `until` or later, the last to
        start first."""
        started = bisect_right(self.firsts, moment)
        open_ = [(len(self.latest) - 1, 0)]
        while open_:
            level, place = open_.pop()
            if place << level >= started or self.latest[level][place] < until:
                continue
            if level == 0:
                yield self.numbers[place]
                continue
            below = 2 * place
            open_ += [(level - 1, one) for one in (below, below + 1) if one < len(self.latest[level - 1])]


def writings(conclusions: Conclusions) -> dict[Inode, Writing]:
    """Return the spans of each inode that was written."""
    spans: dict[Inode, list[Span]] = {}
    for span in conclusions.spans:
        spans.setdefault(span.inode, []).append(span)
    return {inode: Writing(known) for inode, known in spans.items()}
