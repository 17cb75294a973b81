"""Files that were read while another process wrote them: openings and write spans in; which stretches of reading had
something that no version tells of, neither the one found at opening nor the one left at closing, out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from provio.facts import Facts, Opening, Stretch, Trace
from provio.lineage.model import Span, inode_of


def read_on_the_way(trace: Trace, spans: list[Span]) -> Iterator[tuple[Opening, Stretch, Facts]]:
    """Yield (opening, stretch of its reading, what the file was by the end of it as far as can be told)."""
    writers: dict[tuple[str, int, int], list[Span]] = {}
    for span in spans:
        writers.setdefault(span.inode, []).append(span)
    for opening in trace.openings():
        facts = opening.facts
        written = writers.get(inode_of(facts), ())
        if opening.kind == "FileVersion" and not opening.writable and written:
            for stretch, size in _beyond(opening):
                moments = [span.last for span in written if span.first <= stretch.last and span.end >= opening.opened]
                if moments:
                    mtime = min(stretch.last, max(moments))
                    yield opening, stretch, replace(facts, mtime=mtime, ctime=mtime, size=size)


def _beyond(opening: Opening) -> Iterator[tuple[Stretch, int]]:
    """Yield the stretches that read more than there was at opening, before what there was at closing had been written,
    with how much they had read by then."""
    stretches = [stretch for access in opening.accesses for stretch in access.stretches("read")]
    done = 0
    for stretch in sorted(stretches, key=lambda one: one.last):
        done += stretch.size
        left = opening.at_close and opening.at_close.mtime <= stretch.last
        if done > opening.facts.size and not left:
            yield stretch, done
