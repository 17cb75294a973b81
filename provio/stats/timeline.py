"""When which thread read and wrote: spans of time in, one lane a thread with as few spans as a picture can show out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from provio.plain import plain
from provio.stats.groups import what_file
from provio.stats.recorded import Recorded

LANES, SPANS = 60, 12_000  # of one picture: more threads are left out, more spans become one where they touch
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
    """A thread's spans, first to last, and all bytes that it moved."""

    name: str
    spans: list[Span]
    bytes: int = 0


@plain()
class Picture:
    """The lanes of some runs: from `start`, `length` ns long; `left_out` threads moved less than those shown, `folded`
    spans lie within others."""

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
            file = what_file(recorded, one.target)[0] or ""
            thread = one.thread or one.process or ""
            found.append(Span(thread, one.start, one.end, one.bytes or 0, one.kind == "Write", one.count or 0, file))
    return found


def picture(recorded: Recorded, spans: Iterable[Span]) -> Picture | None:
    """Return the lanes, those that began first on top; None where there is nothing to show."""
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
    """Return spans of which no two of one kind begin and end in the same column of a picture."""
    found: dict[tuple[bool, int, int], Span] = {}
    for span in spans:
        place = span.write, int((span.start - start) / width), int((span.end - start) / width)
        known = found.get(place)
        found[place] = span if known is None else Span(
            span.thread, min(known.start, span.start), max(known.end, span.end), known.bytes + span.bytes, span.write,
            known.calls + span.calls, known.file if known.file == span.file else "several files")  # fmt: skip
    return sorted(found.values(), key=lambda span: (span.start, span.end))


def _name(recorded: Recorded, thread: str) -> str:
    """A thread as people tell it: rank, program, pid, and its own number where that is another."""
    process = next((recorded.processes[iri] for iri in (thread, "/".join(thread.split("/")[:8]) + "/")
                    if iri in recorded.processes), None)  # fmt: skip
    tid = recorded.threads.get(thread, 0)
    if process is None:
        return f"thread {tid}" if tid else "?"
    rank = f"rank {process.rank}, " if process.rank is not None else ""
    own = f", thread {tid}" if tid and tid != process.pid else ""
    return f"{rank}{process.program or 'process'} {process.pid}{own}"
