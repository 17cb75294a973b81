"""Which content was read, where a file changed while it was open; what was opened and not seen read; what
of the looks after the run is no writer's word."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from provio.base.records import plain
from provio.lineage.identity import Identity
from provio.lineage.model import SECOND, TICK, Conclusions, Input, Span, inode_of
from provio.system.statx import Facts
from provio.trace.facts import Opening, Stretch
from provio.trace.run_facts import Trace

# Files that were read while another process wrote them: openings and write spans in; which stretches of reading had
# something that no version tells of, neither the one found at opening nor the one left at closing, out.


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


@plain(frozen=True, slots=True)
class Changed:
    """What was read through an opening at whose close the file was another version than before."""

    opening: Opening
    before: Input
    after: Input


def narrow(changed: list[Changed], met: set[tuple[str, int]], conclusions: Conclusions) -> None:
    """Leave out the version that was gone before the first read began, or that nobody had begun at the last; `met` are
    the (opening, end) of those stretches of reading that met a version of their own, on the way."""
    spans: dict[tuple[str, int, int], list[Span]] = {}
    for span in conclusions.spans if changed else ():
        spans.setdefault(span.inode, []).append(span)
    for one in changed:
        writers = [
            span
            for span in spans.get(inode_of(one.opening.facts), ())
            if span.wrote_content and span.last + _apart(span, one) >= one.opening.opened
        ]
        if _gone(one, writers) < _began(one.opening):
            _leave_out(one.before, conclusions)
        elif writers and min(span.first - _apart(span, one) for span in writers) > one.after.last:
            _leave_out(one.after, conclusions)
        elif not _too_early(one, _completed(one, writers), conclusions):
            _later(one, met, conclusions)
            _say_unclear(one, writers, conclusions)


def _completed(one: Changed, writers: list[Span]) -> int:
    """Before when nobody can have read what there was at closing, for certain."""
    return completed(one.opening, writers) - max((_apart(span, one) for span in writers), default=0)


def _apart(span: Span, one: Changed) -> int:
    """By how much a writer's moments may be out of order with the reader's."""
    return 0 if span.process.host == one.opening.process.host else span.apart


def _say_unclear(one: Changed, writers: list[Span], conclusions: Conclusions) -> None:
    """Say of what another host wrote that it may have been there when the reading began, or not when that ended."""
    began = _began(one.opening)
    for span in writers:
        apart = _apart(span, one)
        if apart and (abs(span.last - began) <= apart or abs(span.first - one.after.last) <= apart):
            conclusions.clocks.doubt(one.after.version, span.process.host, one.opening.process.host)


def _too_early(one: Changed, begun: int, conclusions: Conclusions) -> bool:
    """Let what was read before the last write began, though after the file's time, which may lag by a tick, be of what
    was there before; tell whether all was."""
    moments = [moment for times in one.opening.reads() for moment in times]
    early = [moment for moment in moments if one.after.first <= moment < begun]
    if not early:
        return False
    one.before.last = max(early)
    one.after.first = min((moment for moment in moments if moment >= begun), default=one.after.last)
    if max(moments) < begun:
        _leave_out(one.after, conclusions)
    return max(moments) < begun


def _later(one: Changed, met: set[tuple[str, int]], conclusions: Conclusions) -> None:
    """Let what was there at closing be read by no stretch that met a version on the way."""
    reads = one.opening.reads()
    rest = [moment for times in reads if (one.opening.iri, times[1]) not in met for moment in times]
    later = [moment for moment in rest if moment >= one.after.first]
    if len(rest) < 2 * len(reads) and later:
        one.after.first = min(later)
    elif not later:
        _leave_out(one.after, conclusions)


def _gone(one: Changed, writers: list[Span]) -> int:
    """When what was there before was gone for certain: at the last write of those known, or by the time of the file."""
    if writers:
        return max(span.last + _apart(span, one) for span in writers)
    mtime = one.opening.at_close.mtime if one.opening.at_close else one.opening.closed
    return mtime + (TICK if mtime % SECOND else SECOND)


def _began(opening: Opening) -> int:
    """When the first read began: it is recorded when it returned."""
    return min((a.first_read - a.count("readLongest") for a in opening.accesses if a.first_read), default=0)


def _leave_out(found: Input, conclusions: Conclusions) -> None:
    inputs = conclusions.inputs[found.process.iri]
    inputs[:] = [one for one in inputs if one is not found]


def name_unread(openings: list[Opening], identity: Identity, conclusions: Conclusions) -> None:
    """Say of what was opened and not seen read that it may have been; not of what the process read or wrote anyway."""
    own = {(span.process.iri, span.inode) for span in conclusions.spans}
    for opening in openings:
        process, version = opening.process.iri, identity.version(opening.facts)
        read = any(found.version == version for found in conclusions.inputs[process])
        if not read and (process, inode_of(opening.facts)) not in own:
            path = (opening.name or b"?").decode("utf-8", "replace")
            reason = f"{path} was opened for reading and no read of it was seen: it may have been read unseen"
            conclusions.gaps.append((opening.iri + "~unread", process, reason))


def doubt(trace: Trace, spans: list[Span]) -> None:
    """What a file is after the run is not what a writer left, where others wrote on or set its times after it."""
    latest: dict[tuple[str, int, int], int] = {}
    for process in trace.processes.values():
        for event in process.events:
            facts = event.facts() if event.kind == "SetTimes" else None
            if facts and facts.mtime != event.number("previousMtimeNs", facts.mtime):
                latest[inode_of(facts)] = max(event.at, latest.get(inode_of(facts), 0))
    for span in spans:
        latest[span.inode] = max(span.last, latest.get(span.inode, 0))
    for span in spans:
        if span.opening and not span.opening.at_close and latest[span.inode] > span.end:
            span.final = None
