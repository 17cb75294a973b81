"""Files that were read while another process wrote them: openings and write spans in; which stretches of reading had
something that no version tells of, neither the one found at opening nor the one left at closing, out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from provio.facts import Opening, Process, Stretch
from provio.lineage.model import TICK, Span, inode_of
from provio.run_facts import Trace
from provio.statx import Facts


def read_on_the_way(trace: Trace, spans: list[Span]) -> Iterator[tuple[Opening, Stretch, Facts]]:
    """Yield (opening, stretch of its reading, what the file was by the end of it as far as can be told)."""
    writers: dict[tuple[str, int, int], list[Span]] = {}
    for span in spans:
        writers.setdefault(span.inode, []).append(span)
    for opening in trace.openings():
        facts = opening.facts
        written = writers.get(inode_of(facts), ())
        if opening.kind == "FileVersion" and not opening.writable and written:
            for stretch, size in _beyond(opening, completed(opening, written)):
                moments = [span.last for span in written if _at_work(span, opening, stretch)]
                if moments:
                    left = opening.at_close.mtime if opening.at_close else stretch.last
                    mtime = min(stretch.last, max(moments), left)
                    yield opening, stretch, facts.at(mtime, mtime, size)


def _at_work(span: Span, opening: Opening, stretch: Stretch) -> bool:
    """Whether a span may have gone on while a stretch was read."""
    apart = 0 if span.process.host == opening.process.host else span.apart
    return span.first - apart <= stretch.last and span.end + apart >= opening.opened


def completed(opening: Opening, written: Iterable[Span]) -> int:
    """Before when nobody can have read what there was at closing: its mtime, or the beginning of its last write, where
    that is known by the reader's clock (the kernel's for mtimes may lag by a tick); 0 where nobody saw it."""
    left = opening.at_close
    if not left:
        return 0
    key = left.mtime, left.size
    by = [span for span in written if span.final and (span.final.mtime, span.final.size) == key]
    begun = max((_last_write(span, opening.process) for span in by), default=0)
    return begun if left.mtime < begun <= left.mtime + TICK else left.mtime


def _last_write(span: Span, reader: Process) -> int:
    """When the last write of a span began, by the reader's clock; 0 where that is not known for certain."""
    opening = span.opening
    if not opening or span.process.host != reader.host or span.mapped or opening.copied_from or opening.members:
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
