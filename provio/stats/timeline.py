"""Timeline of reads and writes. In: spans of time. Out: a lane per thread with as many spans as a picture can show."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from provio.base.records import plain
from provio.stats.activity import Activity, Recorded
from provio.stats.tally import file_of
from provio.trace import read, run_source
from provio.trace.trust import LONGEST_LINE

if TYPE_CHECKING:
    from pathlib import Path

    from provio.trace.run_source import RunFile

LANES, SPANS = 60, 12_000  # of one picture: further threads are omitted, adjacent spans are combined
COLUMNS = 1000  # of a picture at its finest


class Span(NamedTuple):
    """Reading (`write` false) or writing by one thread, from a first to a last moment in ns since 1970."""

    thread: str
    start: int
    end: int
    bytes: int
    write: bool
    calls: int
    file: str


@plain()
class Lane:
    """A thread's spans in order of time, and the bytes that it moved."""

    name: str
    spans: list[Span]
    bytes: int = 0


@plain()
class Picture:
    """The lanes of some runs: from `start`, `length` ns long; `left_out` threads moved fewer bytes than those shown,
    `folded` spans are combined with others."""

    start: int
    length: int
    lanes: list[Lane]
    left_out: int
    folded: int


def of_activities(recorded: Recorded) -> list[Span]:
    """Return a span for each activity that moved content, from its first call to its last."""
    found = []
    for one in recorded.activities:
        if one.moves and one.start and one.layer == "POSIX" and (one.thread or one.process):
            file = file_of(recorded, one.target)[0] or ""
            thread = one.thread or one.process or ""
            found.append(Span(thread, one.start, one.end, one.bytes or 0, one.kind == "Write", one.count or 0, file))
    return found


def picture(recorded: Recorded, spans: Iterable[Span]) -> Picture | None:
    """Return the lanes in order of their first span; None if there are no spans."""
    threads: dict[str, list[Span]] = {}
    for span in spans:
        threads.setdefault(span.thread, []).append(span)
    if not threads:
        return None
    most = sorted(threads, key=lambda thread: -sum(span.bytes for span in threads[thread]))[:LANES]
    shown = [span for thread in most for span in threads[thread]]
    start, end = min(span.start for span in shown), max(span.end for span in shown)
    length = max(end - start, 1)
    width = length / min(COLUMNS, max(50, SPANS // (2 * len(most))))
    lanes = [Lane(_name(recorded, thread), folded(threads[thread], start, width), sum(
        span.bytes for span in threads[thread])) for thread in most]  # fmt: skip
    lanes.sort(key=lambda lane: lane.spans[0].start)
    return Picture(start, length, lanes, len(threads) - len(most), len(shown) - sum(len(lane.spans) for lane in lanes))


def folded(spans: list[Span], start: int, width: float) -> list[Span]:
    """Combine spans of the same kind that start and end in the same columns of a picture."""
    found: dict[tuple[bool, int, int], Span] = {}
    for span in spans:
        place = span.write, int((span.start - start) / width), int((span.end - start) / width)
        known = found.get(place)
        found[place] = span if known is None else Span(
            span.thread, min(known.start, span.start), max(known.end, span.end), known.bytes + span.bytes, span.write,
            known.calls + span.calls, known.file if known.file == span.file else "several files")  # fmt: skip
    return sorted(found.values(), key=lambda span: (span.start, span.end))


def _name(recorded: Recorded, thread: str) -> str:
    """Return the label of a thread: rank, program, pid, and the thread id if it differs."""
    process = next((recorded.processes[iri] for iri in (thread, "/".join(thread.split("/")[:8]) + "/")
                    if iri in recorded.processes), None)  # fmt: skip
    tid = recorded.threads.get(thread, 0)
    if process is None:
        return f"thread {tid}" if tid else "?"
    rank = f"rank {process.rank}, " if process.rank is not None else ""
    own = f", thread {tid}" if tid and tid != process.pid else ""
    return f"{rank}{process.program or 'process'} {process.pid}{own}"


# Single calls, which a run with detail `call` keeps in files next to its trace: percentiles of their times, and the
# shares of calls that continue, jump forward or jump back in their file.


BASE = re.compile(rb"@base <([^>\s]{1,4000})>|:epochNs ([0-9]{1,19})\b")
LINE = re.compile(
    rb"@base <([^>\s]{1,4000})>|<([ao][0-9]{1,18})/([rw])[0-9]{1,18}> :offset ([0-9]{1,19});:bytes ([0-9]{1,19});"
    rb":at ([0-9]{1,19})(?:;:elapsed ([0-9]{1,19}))? \."
)
SIDES = {b"r": "read", b"w": "write"}


class Call(NamedTuple):
    """One read or write: the IRI of its I/O activity, the offset and bytes, the start (ns since 1970), and the time if
    it was recorded."""

    activity: str
    offset: int
    bytes: int
    at: int
    elapsed: int | None


def of_run(folder: Path) -> Iterator[Call]:
    """Yield the single calls in a run folder or its archive."""
    if not run_source.exists(folder):
        return
    head, epochs = read.read_head(folder), dict[str, int]()
    for file in run_source.of(folder).files(head):
        if file.gap is None:
            _epochs(_matches(BASE, file), epochs)
    for file in run_source.of(folder).calls(head):
        yield from _lines(_matches(LINE, file), epochs)


def _matches(form: re.Pattern[bytes], file: RunFile) -> Iterator[re.Match[bytes]]:
    """Yield the matches in the lines of a file, which may be large."""
    rest = b""
    for part in file.parts() or (file.load(),):
        whole, newline, last = part.rpartition(b"\n")
        if newline:
            yield from form.finditer(rest + whole + newline)
            rest = last
        elif len(rest) <= LONGEST_LINE:  # a longer line is damage
            rest += last
    yield from form.finditer(rest)


def _epochs(matches: Iterable[re.Match[bytes]], epochs: dict[str, int]) -> None:
    """Add the start of each thread's clock."""
    base = ""
    for found in matches:
        if found[1]:
            base = found[1].decode(errors="replace")
        else:
            epochs.setdefault(base, int(found[2]))


def _lines(matches: Iterable[re.Match[bytes]], epochs: dict[str, int]) -> Iterator[Call]:
    base, epoch = "", 0
    for found in matches:
        declared, access, side, offset, size, at, took = found.groups()
        if declared:
            base = declared.decode(errors="replace")
            epoch = epochs.get(base, 0)
        elif epoch:
            lasted = int(took) if took else None
            yield Call(f"{base}{access.decode()}/{SIDES[side]}", int(offset), int(size), epoch + int(at), lasted)


def spans(recorded: Recorded, calls: Iterable[Call]) -> list[Span]:
    """Return a span for each call of a recorded activity."""
    known = {one.iri: one for one in recorded.activities if one.layer == "POSIX"}
    found = []
    for call in calls:
        one = known.get(call.activity)
        if one and (one.thread or one.process):
            thread, file = one.thread or one.process or "", file_of(recorded, one.target)[0] or ""
            write = one.kind == "Write"
            found.append(Span(thread, call.at, call.at + (call.elapsed or 0), call.bytes, write, 1, file))
    return found


@plain()
class Latency:
    """Figures of the calls of one function: percentiles of their times (ns) if recorded; the shares of calls that
    started at the end of the previous call, after it, and before it (the first call of each opening counts in none)."""

    api: str | None
    layer: str
    calls: int
    median: int | None
    percentile_95: int | None
    percentile_99: int | None
    longest: int | None
    consecutive: float | None
    forward: float | None
    backward: float | None


def latencies(recorded: Recorded, calls: Iterable[Call]) -> list[Latency]:
    """Return the figures of the calls of each function, the longest total time first, then the most calls."""
    known: dict[str, Activity] = {one.iri: one for one in recorded.activities}
    counts = Counter[tuple[str | None, str]]()
    times: dict[tuple[str | None, str], list[int]] = {}
    ways: dict[tuple[str | None, str], list[int]] = {}
    ends: dict[str, int] = {}
    for call in calls:
        one = known.get(call.activity)
        if one is None:
            continue
        place = one.api, one.layer
        counts[place] += 1
        if call.elapsed is not None:
            times.setdefault(place, []).append(call.elapsed)
        way = ways.setdefault(place, [0, 0, 0])
        end = ends.get(call.activity)
        if end is not None:
            way[0 if call.offset == end else 1 if call.offset > end else 2] += 1
        ends[call.activity] = call.offset + call.bytes
    order = sorted(counts, key=lambda place: (-sum(times.get(place, ())), -counts[place]))
    return [_latency(place, counts[place], sorted(times.get(place, ())), ways[place]) for place in order]


def _latency(place: tuple[str | None, str], count: int, times: list[int], ways: list[int]) -> Latency:
    shares = [round(number / sum(ways), 4) if sum(ways) else None for number in ways]
    middle, most, nearly, longest = (percentile(times, share) if times else None for share in (50, 95, 99, 100))
    return Latency(*place, count, middle, most, nearly, longest, *shares)


def percentile(values: list[int], share: int) -> int:
    """Return the nearest-rank percentile of sorted values: the least that `share` per cent of them do not exceed."""
    return values[bisect_left(range(1, len(values) + 1), share * len(values) / 100)]
