"""Which spans concern a version or a time: the write spans of an inode in, those of them out, without a look at each.

A log may have been opened ten thousand times, one of its writers may have held it open all the while, and each of ten
thousand readers may have found it as another version.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from operator import itemgetter

from provio.lineage.model import SECOND, Conclusions, Span, Version

Inode = tuple[str, int, int]
FEW = 16  # spans: each is looked at sooner than they are put in order


class Writing:
    """The spans of one inode; what is found is in their order."""

    def __init__(self, spans: list[Span]) -> None:
        self.spans = spans

    def saw(self, version: Version) -> list[Span]:
        """Those whose end saw a version."""
        return [span for span in self._left.get((version.facts.mtime, version.facts.size), ()) if span.saw(version)]

    def enclosing(self, version: Version) -> list[Span]:
        """Those that enclose a version's time."""
        spans = self.spans
        if len(spans) > FEW:
            mtime, apart = version.facts.mtime, spans[0].apart
            spans = self._in_order(self._by_end.reaching(min(mtime + SECOND, version.seen) + apart, mtime - apart))
        return [span for span in spans if span.encloses(version)]

    def emptied_by(self, moment: int, host: str) -> tuple[int, Span | None]:
        """When the file was last emptied by a moment for certain, and by which span; 0 for never. The moment is by the
        clock of a host."""
        place = bisect_right(self._emptied, moment, key=itemgetter(0))
        while place:
            at, number = self._emptied[place - 1]
            span = self.spans[number]
            if at <= moment - (0 if span.process.host == host else span.apart):
                return at, span
            place -= 1
        return 0, None

    def between(self, since: int, moment: int) -> list[Span]:
        """Those that went on after `since` and had begun by a moment."""
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
    def _by_last(self) -> _Stretches:
        return _Stretches([(span.first, span.last) for span in self.spans])

    @cached_property
    def _by_end(self) -> _Stretches:
        return _Stretches([(span.first, max(span.last, span.end)) for span in self.spans])


class _Stretches:
    """Stretches of time, (first, last), by their beginning; over each two, four, eight … of them the latest end."""

    def __init__(self, stretches: list[tuple[int, int]]) -> None:
        ordered = sorted((first, last, number) for number, (first, last) in enumerate(stretches))
        self.firsts = [first for first, _, _ in ordered]
        self.numbers = [number for _, _, number in ordered]
        self.latest = [[last for _, last, _ in ordered]]
        while len(self.latest[-1]) > 1:
            below = self.latest[-1]
            self.latest.append([max(below[place : place + 2]) for place in range(0, len(below), 2)])

    def reaching(self, moment: int, until: int) -> Iterator[int]:
        """Yield the number of each that had begun by a moment and goes on until another, or longer."""
        begun = bisect_right(self.firsts, moment)
        open_ = [(len(self.latest) - 1, 0)]
        while open_:
            level, place = open_.pop()
            if place << level >= begun or self.latest[level][place] < until:
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
