"""Join the ends of a pipe, FIFO or connection across runs: derive which phase of one run read data that another run
wrote.

Within a run, `lineage.pipes` ties the segments of a channel to the phases that read them; this module applies the
same rule to two runs. Data that was read, but written by no watched process, gets a Gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from provio.base import turtle
from provio.base.records import frozen
from provio.graph.lines import Graph
from provio.lineage.identity import FINER, without_task
from provio.merge.cross_run.facts import Facts

UNSEEN = "~unseen"
SOCKET = "/socket/"


@frozen
class Stretch:
    """A phase or a segment, with its first and last moment in ns since 1970."""

    iri: str
    first: int
    last: int


def channel_of(segment: str) -> str:
    """Return the channel of a segment; the segment's IRI consists of channel, run and phase."""
    return segment.rsplit("/", 2)[0]


def gap_of(iri: str) -> str | None:
    """Return the channel that a Gap made by this module is about; None for any other IRI."""
    channel, unseen, _ = iri.partition(UNSEEN)
    return channel if unseen else None


def names(facts: Facts, channel: str) -> list[str]:
    """Return a channel and its other names, step by step: an end that does not know its peer gives the channel a name
    of its own."""
    found = [channel]
    for name in found if SOCKET in channel else ():  # the loop extends `found`
        others = facts.values(name, "prov:alternateOf") + [s for s, _ in facts.subjects("prov:alternateOf", name)]
        found += [other for other in dict.fromkeys(others) if other not in found]
    return found


def segments(facts: Facts, channels: list[str]) -> list[tuple[str, str]]:
    """Return (segment, graph) for the data that phases wrote into a channel, under all its names."""
    return [found for channel in channels for found in facts.subjects("prov:specializationOf", channel)]


def conclude(facts: Facts, channel: str) -> list[str]:
    """Return the conclusions about a channel, as N-Triples lines."""
    graph = Graph()
    known = names(facts, channel)
    own, reads = segments(facts, known), {name: facts.all(name, "wasReadBy") for name in known}
    runs = {run for _, run in (*own, *(one for found in reads.values() for one in found))}
    if own and len(runs) == 1:  # the graph of the run already contains its reads
        return []
    written = [(_segment(facts, known, segment), source) for segment, source in own]
    for name in known:
        for read, reader in reads[name]:
            phases = _phases(facts, read)
            if not written and phases:
                _gap_of(facts, graph, name, phases[0][1])
            others = [stretch for stretch, source in written if source != reader]
            coarse = [stretch for stretch, _ in phases]
            for stretches in (coarse, _finer(facts, coarse) if others else []):
                for phase, segment in reading(stretches, others, facts.moments(read)[1]):
                    graph.add(phase, ("prov:used", f"<{segment}>"))
    return list(dict.fromkeys(graph.lines))


def reading(phases: list[Stretch], segments: Iterable[Stretch], last: int) -> Iterator[tuple[str, str]]:
    """Yield (phase, segment): a phase uses the segments that started before its last read. A segment that an earlier
    phase used up is carried, not used again. `last` is the moment of the last read (ns since 1970)."""
    used: set[str] = set()
    for phase in phases:
        end = last if phase is phases[-1] else phase.last
        for segment in segments:
            if segment.first <= end and (segment.iri not in used or segment.last >= phase.first):
                used.add(segment.iri)
                yield phase.iri, segment.iri


def _segment(facts: Facts, channels: list[str], segment: str) -> Stretch:
    """Return a segment with its first and last moment: the times of the process's writes into the channel within its
    phase, or the phase's own times if no write is known."""
    maker = facts.one(segment, "prov:wasGeneratedBy") or ""
    process = without_task(facts.one(maker, "partOf") or maker)
    start, end = facts.moments(maker)
    all_writes = [write for channel in channels for write in facts.values(channel, "wasWrittenBy")]
    writes = [facts.moments(write) for write in all_writes if write.startswith(process)]
    if writes:
        start, end = max(start, min(w[0] for w in writes)), min(end, max(w[1] for w in writes))
    return Stretch(segment, start, end)


def _phases(facts: Facts, read: str) -> list[tuple[Stretch, str]]:
    """Return the phases of the reading process within a Read, each with the process, in time order."""
    first = facts.one(read, "partOf")
    process = facts.one(first, "partOf") if first else None
    if process is None:
        return []
    start, end = facts.moments(read)
    all_phases = [p for p, _ in facts.subjects("partOf", process) if "/phase/" in p[len(process) - 1 :]]
    found = [(Stretch(phase, *facts.moments(phase)), process) for phase in all_phases]
    inside = [pair for pair in found if pair[0].iri == first or (start <= pair[0].first <= end)]
    return sorted(inside, key=lambda pair: pair[0].first)


def _finer(facts: Facts, phases: list[Stretch]) -> list[Stretch]:
    """Return the finer phases that these phases consist of, if any, in time order."""
    parts = [part for phase in phases for part, _ in facts.subjects("partOf", phase.iri) if FINER.search(part)]
    found = [Stretch(part, *facts.moments(part)) for part in dict.fromkeys(parts)]
    return sorted(found, key=lambda stretch: stretch.first)


def _gap(channel: str, process: str) -> str:
    return f"{channel}{UNSEEN}/{process.rstrip('/').rpartition('/')[2]}"


def _gap_of(facts: Facts, graph: Graph, channel: str, process: str) -> None:
    if facts.subjects("about", process) and facts.all(_gap(channel, process), "about"):
        return
    parts = channel.partition(SOCKET)[2].split("/")
    if not parts[0]:
        reason = "read from a pipe: no write into it was observed"
    elif parts[-2].startswith("terminal."):
        reason = "read from a terminal: no write into it was observed"
    else:
        peer = f" ({unquote(parts[-2])})" if ":" in unquote(parts[-2]) else ""
        reason = f"read from a socket{peer}: where that came from is not followed"
    graph.node(_gap(channel, process), "Gap", ("reason", turtle.literal(reason)), ("about", f"<{process}>"))
