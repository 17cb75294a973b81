"""Decide which content was read of a file that changed while it was open.

Also, add gaps for files that were opened and not observed to be read, and discard a file's state after the run where
it is not the state that a writer left.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from provio.base.records import plain
from provio.lineage.identity import Identity, without_task
from provio.lineage.model import SECOND, TICK, Conclusions, Input, Span, inode_of
from provio.system.statx import Facts
from provio.trace.facts import Opening, Stretch
from provio.trace.run_facts import Trace

# Intermediate contents: read while another process wrote the file, and different from the versions at opening and
# close.


def read_on_the_way(trace: Trace, spans: list[Span]) -> Iterator[tuple[Opening, Stretch, Facts]]:
    """Yield (opening, stretch of reading, best known facts of the file at the stretch's end) for each intermediate
    content."""
    by_inode: dict[tuple[str, int, int], list[Span]] = {}
    for span in spans:
        by_inode.setdefault(span.inode, []).append(span)
    writers = {inode: Writers(written) for inode, written in by_inode.items()}
    for opening in trace.openings():
        facts = opening.facts
        written = writers.get(inode_of(facts))
        if opening.kind != "FileVersion" or not written:
            continue
        back = list(_read_back(opening, written.through_inherited)) if opening.writable else []
        yield from back
        if not (back or opening.iri in written.openings):
            for stretch, size in _beyond(opening, written.completed(opening)):
                latest = written.at_work(opening.process.host, opening.opened, stretch.last)
                if latest is not None and (size > opening.facts.size or latest >= opening.opened):
                    left = opening.at_close.mtime if opening.at_close else stretch.last
                    mtime = min(stretch.last, latest, left)
                    yield opening, stretch, facts.at(mtime, mtime, max(size, facts.size))


def _read_back(opening: Opening, spans: list[Span]) -> Iterator[tuple[Opening, Stretch, Facts]]:
    """Yield such contents for an opening that can also write: a fork wrote through the descriptor that it inherited."""
    own, done = without_task(opening.process.iri), 0
    stretches = [stretch for access in opening.accesses for stretch in access.stretches("read")] if spans else []
    others = [span for span in spans if without_task(span.process.iri) != own] if stretches else []
    for stretch in sorted(stretches, key=lambda one: one.last):
        done += stretch.size
        moments = [
            min(span.last, stretch.last, span.final.mtime if span.final else span.last)
            for span in others
            if span.process.host == opening.process.host and span.first <= stretch.last and span.last >= opening.opened
        ]
        if moments:
            yield opening, stretch, opening.facts.at(max(moments), max(moments), max(done, opening.facts.size))


class Writers:
    """The write spans of one inode, indexed for the lookups of its many readers."""

    def __init__(self, spans: list[Span]) -> None:
        self.spans = spans
        self.through_inherited = [s for s in spans if s.wrote_content and s.opening and s.opening.inherited]
        self.openings = {span.opening.iri for span in spans if span.opening and span.wrote_content}
        self.left: dict[tuple[int, int], list[Span]] | None = None
        self.write_starts: dict[tuple[tuple[int, int], str], int] = {}
        self.courses: dict[str, Courses] = {}

    def completed(self, opening: Opening) -> int:
        """Return the moment before which no process can have read the state at the opening's close (ns since 1970).

        It is the mtime of that state, or the start of its last write where that is known by the reader's clock (the
        kernel's clock for mtimes may lag by a tick); 0 where the state was not observed.
        """
        left = opening.at_close
        if not left:
            return 0
        key, host = (left.mtime, left.size), opening.process.host
        if (key, host) not in self.write_starts:
            self.write_starts[key, host] = max((_last_write(span, host) for span in self._that_left(key)), default=0)
        start = self.write_starts[key, host]
        return start if left.mtime < start <= left.mtime + TICK else left.mtime

    def _that_left(self, key: tuple[int, int]) -> Sequence[Span]:
        if self.left is None:
            self.left = {}
            for span in self.spans:
                if span.final:
                    self.left.setdefault((span.final.mtime, span.final.size), []).append(span)
        return self.left.get(key, ())

    def at_work(self, host: str, since: int, until: int) -> int | None:
        """Return the latest write of the spans that may have been active between two moments of a host; None if there
        are none."""
        if host not in self.courses:
            self.courses[host] = Courses(
                (span.first - clock_error, span.end + clock_error, _latest(span))
                for span in self.spans
                for clock_error in [0 if span.process.host == host else span.clock_error]
            )
        return self.courses[host].latest(since, until)


def _latest(span: Span) -> int:
    """Return when a span wrote last: the kernel's clock for mtimes may lag by a tick."""
    return min(span.last, span.final.mtime) if span.final and span.final.mtime >= span.last - TICK else span.last


def completed(opening: Opening, written: list[Span]) -> int:
    """Return `Writers.completed` for these spans."""
    return Writers(written).completed(opening)


class Courses:
    """Intervals with a value: a Fenwick tree (https://doi.org/10.1002/spe.4380240306) by their starts, with lists by
    their ends and the greatest value from each end on."""

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
        """Return the greatest value of the intervals that start by `until` and do not end before `since`; None if
        there are none."""
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
    """Return when the last write of a span started, by the clock of a host; 0 where that is not known for certain."""
    opening = span.opening
    if not opening or span.process.host != host or span.mapped or opening.copied_from or opening.members:
        return 0
    writes = [access for access in opening.accesses if access.last_write]
    if max((access.last_write for access in writes), default=0) != span.last:
        return 0
    longest = [access.count("writeLongest") for access in writes]
    return span.last - max(longest) if all(longest) else 0


def _beyond(opening: Opening, completed: int) -> Iterator[tuple[Stretch, int]]:
    """Yield (stretch, bytes read by its end) for the stretches that read more bytes than the file had at opening,
    before the content at close had been written, and for all of them where no close was observed."""
    stretches = [stretch for access in opening.accesses for stretch in access.stretches("read")]
    done = 0
    for stretch in sorted(stretches, key=lambda one: one.last):
        done += stretch.size
        left = opening.at_close and completed <= stretch.last
        if (done > opening.facts.size or not opening.closed) and not left:
            yield stretch, done


@plain(frozen=True, slots=True)
class Changed:
    """The inputs of an opening with a different version at its close: the version before, and the one after."""

    opening: Opening
    before: Input
    after: Input


def narrow(changed: list[Changed], met: set[tuple[str, int]], conclusions: Conclusions) -> None:
    """Remove the input of a version that no longer existed when the first read started, or that no writer had started
    by the last read.

    `met` are the (opening, end) of the stretches of reading with an intermediate content as a version of their own.
    """
    spans: dict[tuple[str, int, int], list[Span]] = {}
    for span in conclusions.spans if changed else ():
        spans.setdefault(span.inode, []).append(span)
    for one in changed:
        writers = [
            span
            for span in spans.get(inode_of(one.opening.facts), ())
            if span.wrote_content and span.last + _clock_error(span, one) >= one.opening.opened
        ]
        if _end_of_earlier(one, writers) < _began(one.opening):
            _leave_out(one.before, conclusions)
        elif writers and min(span.first - _clock_error(span, one) for span in writers) > one.after.last:
            _leave_out(one.after, conclusions)
        elif not _too_early(one, _completed(one, writers), conclusions):
            _later(one, met, conclusions)
            _add_unclear(one, writers, conclusions)


def _completed(one: Changed, writers: list[Span]) -> int:
    """Return the moment before which it is certain that no process can have read the state at close."""
    return completed(one.opening, writers) - max((_clock_error(span, one) for span in writers), default=0)


def _clock_error(span: Span, one: Changed) -> int:
    """Return by how much a writer's moments may be out of order with the reader's (ns)."""
    return 0 if span.process.host == one.opening.process.host else span.clock_error


def _add_unclear(one: Changed, writers: list[Span], conclusions: Conclusions) -> None:
    """Record where it is not clear if the content of another host existed when the reading started, or only after its
    end."""
    began = _began(one.opening)
    for span in writers:
        clock_error = _clock_error(span, one)
        if clock_error and (abs(span.last - began) <= clock_error or abs(span.first - one.after.last) <= clock_error):
            conclusions.clocks.doubt(one.after.version, span.process.host, one.opening.process.host)


def _too_early(one: Changed, write_start: int, conclusions: Conclusions) -> bool:
    """Assign the reads before the last write, which started at `write_start`, to the earlier version; return whether
    these are all reads.

    Such reads may follow the file's mtime, which may lag by a tick.
    """
    moments = [moment for times in one.opening.reads() for moment in times]
    early = [moment for moment in moments if one.after.first <= moment < write_start]
    if not early:
        return False
    one.before.last = max(early)
    one.after.first = min((moment for moment in moments if moment >= write_start), default=one.after.last)
    if max(moments) < write_start:
        _leave_out(one.after, conclusions)
    return max(moments) < write_start


def _later(one: Changed, met: set[tuple[str, int]], conclusions: Conclusions) -> None:
    """Exclude stretches of reading that have an intermediate version from the reads of the version at close."""
    reads = one.opening.reads()
    rest = [moment for times in reads if (one.opening.iri, times[1]) not in met for moment in times]
    later = [moment for moment in rest if moment >= one.after.first]
    if len(rest) < 2 * len(reads) and later:
        one.after.first = min(later)
    elif not later:
        _leave_out(one.after, conclusions)


def _end_of_earlier(one: Changed, writers: list[Span]) -> int:
    """Return when the earlier version had certainly ended: at the last known write, or by the file's mtime."""
    if writers:
        return max(span.last + _clock_error(span, one) for span in writers)
    mtime = one.opening.at_close.mtime if one.opening.at_close else one.opening.closed
    return mtime + (TICK if mtime % SECOND else SECOND)


def _began(opening: Opening) -> int:
    """Return when the first read started: a read is recorded when it returns."""
    return min((a.first_read - a.count("readLongest") for a in opening.accesses if a.first_read), default=0)


def _leave_out(found: Input, conclusions: Conclusions) -> None:
    inputs = conclusions.inputs[found.process.iri]
    inputs[:] = [one for one in inputs if one is not found]


def name_unread(openings: list[Opening], trace: Trace, identity: Identity, conclusions: Conclusions) -> None:
    """Add a gap for each opening without an observed read, unless the process read, copied or wrote the file
    elsewhere, in any Task, or passed the descriptor to another process, which read it."""
    if not openings:
        return
    sent = _Sent(trace, identity)
    openings = [opening for opening in openings if not sent(opening)]
    wanted: set[object] = {identity.version(opening.facts) for opening in openings}
    wanted.update(inode_of(opening.facts) for opening in openings)
    used = [(iri, one.version) for iri, inputs in conclusions.inputs.items() for one in inputs if one.version in wanted]
    wrote = [(span.process.iri, one) for span in conclusions.spans for one in (span.inode, *span.sources)]
    own = {(without_task(iri), one) for iri, one in [*used, *wrote] if one in wanted}
    for opening in openings:
        process, version = opening.process.iri, identity.version(opening.facts)
        if own.isdisjoint((without_task(process), one) for one in (version, inode_of(opening.facts))):
            path = (opening.name or b"?").decode("utf-8", "replace")
            reason = f"{path} was opened for reading and no read of it was seen: it may have been read unseen"
            conclusions.gaps.append((opening.iri + "~unread", process, reason))


class _Sent:
    """Finds the openings of which the descriptor was sent over a local connection to a process that read the file.

    The receiver has an inherited opening of the same version, and had read from the connection before it used it.
    """

    def __init__(self, trace: Trace, identity: Identity) -> None:
        self.identity = identity
        self.read: dict[str, dict[str, Opening]] = {}  # version → process → its last such opening
        self.sockets: dict[str, list[Opening]] = {}
        for one in trace.openings():
            if one.kind == "Socket":
                self.sockets.setdefault(one.process.iri, []).append(one)
            elif one.inherited and one.kind == "FileVersion" and (one.reads() or one.copied_to):
                known = self.read.setdefault(identity.version(one.facts), {})
                known[one.process.iri] = max(known.get(one.process.iri, one), one, key=lambda one: one.opened)

    def __call__(self, opening: Opening) -> bool:
        """Return whether an opening is one of them."""
        return opening.process.iri in self.sockets and any(
            one.opened >= opening.opened and one.process is not opening.process and self._met(opening, one)
            for one in self.read.get(self.identity.version(opening.facts), {}).values()
        )

    def _met(self, sent: Opening, received: Opening) -> bool:
        """Return whether the process of `sent` wrote, after it opened the file, into a local connection from which the
        process of `received` read before its own opening."""
        return sent.process.host == received.process.host and any(
            _joined(near, far)
            and any(last >= sent.opened for _, last in near.writes())
            and any(first <= received.opened for first, _ in far.reads())
            for near in self.sockets.get(sent.process.iri, ())
            for far in self.sockets.get(received.process.iri, ())
        )


def _joined(near: Opening, far: Opening) -> bool:
    """Return whether two openings may be the ends of one local connection."""
    by_inode = near.connection.peer_inode == far.facts.inode or far.connection.peer_inode == near.facts.inode
    return by_inode or far.connection.peer_pid == near.process.pid or near.connection.peer_pid == far.process.pid


def doubt(trace: Trace, spans: list[Span]) -> None:
    """Discard the state of a file after the run as the final state of a span if later writes or set times changed the
    file."""
    latest: dict[tuple[str, int, int], int] = {}
    for process in trace.processes.values():
        for event in process.events:
            facts = event.facts() if event.kind == "SetTimes" else None
            if facts and facts.mtime != event.number("previousMtimeNs", facts.mtime):
                latest[inode_of(facts)] = max(event.at, latest.get(inode_of(facts), 0))
    for span in spans:
        latest[span.inode] = max(span.last, latest.get(span.inode, 0))
    for span in spans:
        if span.opening and span.final is span.opening.settled and latest[span.inode] > span.end:
            span.final = None
