"""Files that were read while another process wrote them: openings and write spans in; which stretches of reading had
something that no version tells of, neither the one found at opening nor the one left at closing, out."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from provio.facts import Opening, Stretch
from provio.lineage.model import TICK, Span, inode_of
from provio.run_facts import Trace
from provio.statx import Facts


def read_on_the_way(trace: Trace, spans: list[Span]) -> Iterator[tuple[Opening, Stretch, Facts]]:
    """Yield (opening, stretch of its reading, what the file was by the end of it as far as can be told)."""
    by_inode: dict[tuple[str, int, int], list[Span]] = {}
    for span in spans:
        by_inode.setdefault(span.inode, []).append(span)
    writers = {inode: Writers(written) for inode, written in by_inode.items()}
    for opening in trace.openings():
        facts = opening.facts
        written = writers.get(inode_of(facts))
        if opening.kind == "FileVersion" and not opening.writable and written:
            for stretch, size in _beyond(opening, written.completed(opening)):
                latest = written.at_work(opening.process.host, opening.opened, stretch.last)
                if latest is not None:
                    left = opening.at_close.mtime if opening.at_close else stretch.last
                    mtime = min(stretch.last, latest, left)
                    yield opening, stretch, facts.at(mtime, mtime, size)


class Writers:
    """The write spans of one inode, asked by each of its readers: what they ask is found without going through all."""

    def __init__(self, spans: list[Span]) -> None:
        self.spans = spans
        self.left: dict[tuple[int, int], list[Span]] | None = None
        self.begun: dict[tuple[tuple[int, int], str], int] = {}
        self.courses: dict[str, Courses] = {}

    def completed(self, opening: Opening) -> int:
        """Before when nobody can have read what there was at closing: its mtime, or the beginning of its last write,
        where that is known by the reader's clock (the kernel's for mtimes may lag by a tick); 0 where nobody saw it."""
        left = opening.at_close
        if not left:
            return 0
        key, host = (left.mtime, left.size), opening.process.host
        if (key, host) not in self.begun:
            self.begun[key, host] = max((_last_write(span, host) for span in self._that_left(key)), default=0)
        begun = self.begun[key, host]
        return begun if left.mtime < begun <= left.mtime + TICK else left.mtime

    def _that_left(self, key: tuple[int, int]) -> Sequence[Span]:
        if self.left is None:
            self.left = {}
            for span in self.spans:
                if span.final:
                    self.left.setdefault((span.final.mtime, span.final.size), []).append(span)
        return self.left.get(key, ())

    def at_work(self, host: str, since: int, until: int) -> int | None:
        """Return when a span last wrote that may have gone on between two moments of a host, the latest of them; None
        where none may have."""
        if host not in self.courses:
            self.courses[host] = Courses(
                (span.first - apart, span.end + apart, span.last)
                for span in self.spans
                for apart in [0 if span.process.host == host else span.apart]
            )
        return self.courses[host].latest(since, until)


def completed(opening: Opening, written: list[Span]) -> int:
    """Return what `Writers.completed` does, of these spans."""
    return Writers(written).completed(opening)


class Courses:
    """What goes on from one moment to another and has a value: a Fenwick tree (https://doi.org/10.1002/spe.4380240306)
    by the beginnings, of lists by the ends, each with the greatest value from there on."""

    def __init__(self, courses: Iterable[tuple[int, int, int]]) -> None:
        found = sorted(courses)
        self.begins = [begin for begin, _, _ in found]
        self.nodes = [self._node(found[place - (place & -place) : place]) for place in range(1, len(found) + 1)]

    @staticmethod
    def _node(found: list[tuple[int, int, int]]) -> tuple[list[int], list[int]]:
        by_end = sorted((end, value) for _, end, value in found)
        greatest = list(accumulate((value for _, value in reversed(by_end)), max))
        return [end for end, _ in by_end], greatest[::-1]

    def latest(self, since: int, until: int) -> int | None:
        """Return the greatest value of what begins by `until` and does not end before `since`."""
        found: int | None = None
        place = bisect_right(self.begins, until)
        while place:
            ends, greatest = self.nodes[place - 1]
            at = bisect_left(ends, since)
            if at < len(ends):
                found = greatest[at] if found is None else max(found, greatest[at])
            place -= place & -place
        return found


def _last_write(span: Span, host: str) -> int:
    """When the last write of a span began, by the clock of a host; 0 where that is not known for certain."""
    opening = span.opening
    if not opening or span.process.host != host or span.mapped or opening.copied_from or opening.members:
        return 0
    writes = [access for access in opening.accesses if access.last_write]
    if max((access.last_write for access in writes), default=0) != span.last:
        return 0
    longest = [access.count("writeLongest") for access in writes]
    return span.last - max(longest) if all(longest) else 0


def _beyond(opening: Opening, completed: int) -> Iterator[tuple[Stretch, int]]:
    """Yield the stretches that read more than there was at opening, before what there was at closing had been written,
    with how much they had read by then."""
    stretches = [stretch for access in opening.accesses for stretch in access.stretches("read")]
    done = 0
    for stretch in sorted(stretches, key=lambda one: one.last):
        done += stretch.size
        left = opening.at_close and completed <= stretch.last
        if done > opening.facts.size and not left:
            yield stretch, done
