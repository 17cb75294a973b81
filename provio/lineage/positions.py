"""Place the parts of a pipe or connection at byte positions: the data is first in, first out.

Where every byte is accounted for, a stretch of reading contains the bytes between two positions and comes from the
stretches of writing at these positions, independent of their times. A stream of the C library has a buffer: its bytes
enter the pipe later than they are written, or never, and its reader may take more bytes than it uses. Where several
processes use an end, the positions are then as wide as this allows.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate

from provio.base.records import field, pattern, plain
from provio.trace.facts import Access, Opening, Process

ENDLESS = 1 << 63
# The functions that read or write at once; others, and functions whose names were not recorded, may have a buffer.
DIRECT = pattern(
    r"_*(p?(read|write)(v2?|64|v64|v64v2)?|recv(from|msg|mmsg)?|send(to|msg|mmsg)?|v?dprintf|syscall|"
    r"vmsplice|splice|tee|sendfile(64)?|copy_file_range)(_chk)?"
)


@plain(slots=True)
class Part:
    """One stretch of writing or reading of a process; its bytes are between the positions `low` and `high`.

    `opening` is the IRI of the opening. `buffered`: by a stream. `arrived`: the moment at which all bytes of a buffered
    write were in the pipe, 0 if they may have been lost. `returned`: the call returned, so that the size is known.
    """

    process: Process
    first: int
    last: int
    size: int
    path: bytes | None
    low: int = 0
    high: int = ENDLESS
    opening: str = ""
    buffered: bool = False
    arrived: int = 0
    returned: bool = True

    def reaches(self, read: Part) -> bool:
        """Return whether a part that was read may contain bytes that were written here."""
        return self.first <= read.last and self.low < read.high and read.low < self.high


@plain()
class Channel:
    """A pipe, or one direction of a connection; `placed`: all its bytes are accounted for; `terminal`: of a
    pseudo-terminal, which changes the ends of lines and returns an echo; `loses`: unread bytes may be lost: in a FIFO
    that is opened again, and in packets."""

    name: str
    kind: str
    writes: list[Part] = field(default_factory=list)
    reads: list[Part] = field(default_factory=list)
    unreturned: list[Part] = field(default_factory=list)  # writes that may have been the last actions of processes
    placed: bool = True
    terminal: bool = False
    loses: bool = False


def place(channel: Channel, watched: bool) -> None:
    """Set the positions of a channel's parts, if all its bytes are accounted for; count the writes that did not return
    among the writes, unless readers got only data that was written before them. `watched`: so was each program."""
    channel.placed = channel.placed and watched
    if channel.unreturned:
        _fill(channel)
    channel.writes.sort(key=lambda part: part.first)
    channel.reads.sort(key=lambda part: part.first)
    channel.placed = channel.placed and _adds_up(channel)
    if channel.placed:
        _position(_written(channel.writes))
        _position(_read(channel.reads))


def _fill(channel: Channel) -> None:
    """Add the writes that did not return. A single one wrote at most the bytes that readers got, without those that
    were written before it."""
    last = channel.unreturned[0]
    channel.placed = channel.placed and len(channel.unreturned) == 1
    if channel.placed:
        _position(_written([*channel.writes, last]))
        last.size = sum(span.most for span in _read(channel.reads)) - last.low
        if channel.reads and last.size <= 0:
            return
        last.size = max(0, last.size)
    channel.writes += channel.unreturned


def _adds_up(channel: Channel) -> bool:
    """Return whether every byte that was read was also written. Unread bytes of a pipe are at its end, which does no
    harm; in a FIFO or connection, data may be lost in between, so the sums must be equal."""
    written = sum(part.size for part in channel.writes if part.returned)
    read, known = sum(part.size for part in channel.reads), all(part.returned for part in channel.writes)
    return read == written or (not known and written < read) or (not channel.loses and read < written)


@plain(slots=True)
class _Span:
    """A part, with the moments between which its bytes entered or left the channel (those of other parts are before
    or after them), and the least and greatest number of these bytes."""

    part: Part
    since: int
    until: int
    least: int
    most: int


def _written(parts: list[Part]) -> list[_Span]:
    """Return the spans of writes."""
    spans, mixed = [], _mixed(parts)
    for part in parts:
        until = (part.arrived or ENDLESS) if mixed and part.buffered else part.last
        least = part.size if part.returned and until < ENDLESS else 0
        spans.append(_Span(part, part.first, until, least, part.size))
    return spans


def _read(parts: list[Part]) -> list[_Span]:
    """Return the spans of reads."""
    if not _mixed(parts):
        return [_Span(part, part.first, part.last, part.size, part.size) for part in parts]
    starts: dict[str, int] = {}
    for part in parts:
        starts[part.opening] = min(part.first, starts.get(part.opening, part.first))
    return [
        _Span(part, starts[part.opening], part.last, part.size, ENDLESS)
        if part.buffered
        else _Span(part, part.first, part.last, part.size, part.size)
        for part in parts
    ]


def _mixed(parts: list[Part]) -> bool:
    """Return whether other parts are between those of a buffer."""
    return any(part.buffered for part in parts) and len({(part.opening, part.buffered) for part in parts}) > 1


class _Sums:
    """The bytes of parts before moments."""

    def __init__(self, spans: list[_Span]) -> None:
        self.until = _Sum((span.until, span.least) for span in spans)
        self.since = _Sum((span.part.first, span.most) for span in spans)
        self.last = _Sum((span.part.last, span.part.size) for span in spans)
        self.first = _Sum((span.part.first, span.part.size) for span in spans)


class _Sum:
    """A sum of sizes up to a moment."""

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        known = sorted(pairs)
        self.moments = [moment for moment, _ in known]
        self.sizes = [0, *accumulate(size for _, size in known)]

    def before(self, moment: int) -> int:
        """Return the sum of those before a moment."""
        return self.sizes[bisect_left(self.moments, moment)]

    def at(self, moment: int) -> int:
        """Return the sum of those up to a moment."""
        return self.sizes[bisect_right(self.moments, moment)]


def _position(spans: list[_Span]) -> None:
    """Set the positions of each part: after the parts that ended before it started, before those that started after
    its end. The parts of one buffer are in the order of their own times."""
    buffers: dict[str, list[_Span]] = {}
    for span in spans:
        if span.part.buffered:
            buffers.setdefault(span.part.opening, []).append(span)
    every, own = _Sums(spans), {opening: _Sums(those) for opening, those in buffers.items()}
    for span in spans:
        part, since, until = span.part, span.since, span.until
        part.low, part.high = every.until.before(since), every.since.at(until)
        if part.buffered:
            mine = own[part.opening]
            part.low += mine.last.before(part.first) - mine.until.before(since)
            part.high += mine.first.at(part.last) - mine.since.at(until)


def is_direct(access: Access, side: str) -> bool:
    """Return whether the calls of an access read or write at once, without a buffer of the C library."""
    return bool(DIRECT.fullmatch(access.counts.get(side + "Api") or access.counts.get("api", "")))


def arrived(opening: Opening, last: int) -> int:
    """Return the moment at which the buffered bytes of an opening, written until `last`, were in the pipe because the
    stream was flushed or closed later; 0 if it was not."""
    known = [opening.closed] if opening.closed >= last else []
    for flushes in (access for access in opening.accesses if access.operation == "Flush"):
        first, end_of_last = flushes.moments()
        if end_of_last >= last:  # the first flush ended by the sum of the times of all
            known.append(min(end_of_last, first + flushes.count("elapsed")) if first >= last else end_of_last)
    return min(known, default=0)
