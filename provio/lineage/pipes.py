"""Segments between phases: what one phase wrote into a pipe or connection, and which phases read it."""

from __future__ import annotations

from dataclasses import dataclass

from provio.facts import Opening, Process, Trace
from provio.identity import Identity
from provio.lineage.blind import unseen_writer
from provio.lineage.model import Conclusions, Phase, Segment
from provio.lineage.sockets import Ends


@dataclass(slots=True)
class _Use:
    """One process's reading or writing of a pipe or connection."""

    process: Process
    first: int
    last: int
    path: bytes | None
    kind: str


def connect(trace: Trace, identity: Identity, conclusions: Conclusions) -> None:
    """Make a segment for each (pipe or direction of a connection, writing phase); the phases that read it use it."""
    writes: dict[str, list[_Use]] = {}
    reads: dict[str, list[_Use]] = {}
    ends = Ends(trace, identity)
    for opening in trace.openings():
        if opening.kind == "Pipe":
            name = identity.pipe(opening)
            conclusions.channels[opening.iri] = (name, name)
        elif opening.kind == "Socket":
            conclusions.channels[opening.iri] = (ends.own(opening), ends.other(opening))
            conclusions.aliases.update(ends.aliases(opening))
        if opening.iri in conclusions.channels:
            written, read = conclusions.channels[opening.iri]
            _note(writes, written, opening, opening.writes())
            _note(reads, read, opening, opening.reads())
    _unseen(trace, reads, writes, conclusions)
    for name, writers in writes.items():
        segments = [segment for use in writers for segment in _segments(name, use, conclusions)]
        conclusions.segments += segments
        for use in reads.get(name, ()):
            _read(use, segments, conclusions)


def _unseen(
    trace: Trace, reads: dict[str, list[_Use]], writes: dict[str, list[_Use]], conclusions: Conclusions
) -> None:
    """Say of a pipe that was read, and that nobody was seen to write to, that a program which ran unwatched may have;
    where another run wrote to it, or nobody who was watched, `across` says."""
    unwatched = unseen_writer(trace)
    for name in (reads.keys() - writes.keys()) if unwatched else ():
        for use in reads[name]:
            if unwatched and use.kind == "Pipe":
                conclusions.gaps.append((f"{name}~unseen/{use.process.pid}", use.process.iri, unwatched))


def _note(table: dict[str, list[_Use]], name: str, opening: Opening, times: list[tuple[int, int]]) -> None:
    if times:
        first, last = min(first for first, _ in times), max(last for _, last in times)
        table.setdefault(name, []).append(_Use(opening.process, first, last, opening.path, opening.kind))


def _overlapping(use: _Use, conclusions: Conclusions) -> list[Phase]:
    phases = conclusions.phases[use.process.iri]
    first = phases.index(conclusions.phase_at(use.process, use.first))
    last = phases.index(conclusions.phase_at(use.process, use.last))
    return phases[first : last + 1]


def _segments(name: str, use: _Use, conclusions: Conclusions) -> list[Segment]:
    program = conclusions.programs[use.process.iri].iri
    run = use.process.iri.split("/")[-4]
    made = []
    for phase in _overlapping(use, conclusions):
        number = phase.iri.rpartition("/")[2]
        image = f"{use.process.pid}.{use.process.tick}.{use.process.image_number}"
        iri = f"{name}/{run}/{image}.{number}"
        first, last = max(use.first, phase.start), min(use.last, max(phase.end, use.first))
        made.append(Segment(iri, name, phase.iri, program, use.path, first, last, use.kind))
    return made


def _read(use: _Use, segments: list[Segment], conclusions: Conclusions) -> None:
    """A phase uses the segments begun before its last read; what an earlier phase used up is carried, not used
    again."""
    used: dict[str, int] = {}
    phases = _overlapping(use, conclusions)
    for phase in phases:
        end = use.last if phase is phases[-1] else phase.end
        for segment in segments:
            fresh = segment.iri not in used or segment.last >= phase.start
            if segment.first <= end and fresh and segment.generated_by != phase.iri:
                phase.used[segment.iri] = None
                used[segment.iri] = end
