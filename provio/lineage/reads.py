"""Which content was read, where a file changed while it was open; what was opened and not seen read; what
of the looks after the run is no writer's word."""

from __future__ import annotations

from provio.facts import Opening
from provio.identity import Identity
from provio.lineage.growing import completed
from provio.lineage.model import SECOND, TICK, Conclusions, Input, Span, inode_of
from provio.plain import plain
from provio.run_facts import Trace


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
