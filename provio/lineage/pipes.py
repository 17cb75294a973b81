"""Segments between phases: what one phase wrote into a pipe or connection, and which phases read it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from provio.lineage.blind import unseen_writer
from provio.lineage.channels import Channel, Part
from provio.lineage.model import Conclusions, Phase, Segment
from provio.plain import plain
from provio.run_facts import Trace


@plain(slots=True)
class _Share:
    """What one phase wrote to a channel, or read from it: when, and between which positions."""

    phase: Phase
    first: int
    last: int
    low: int
    high: int
    path: bytes | None
    segment: str = ""


def connect(trace: Trace, channels: list[Channel], conclusions: Conclusions) -> None:
    """Make a segment for each (pipe or direction of a connection, writing phase); the phases that read it use it."""
    unwatched = unseen_writer(trace)
    for channel in channels:
        if not channel.writes:
            _unseen(channel, unwatched, conclusions)
            continue
        written = [share for parts in _by_process(channel.writes) for share in _shares(parts, conclusions.phases)]
        for share in written:
            conclusions.segments.append(_segment(channel, share, conclusions))
        for parts in _by_process(channel.reads):
            for phases in (conclusions.phases, conclusions.finer):
                _read(channel, _shares(parts, phases), written)


def _unseen(channel: Channel, unwatched: str | None, conclusions: Conclusions) -> None:
    """Say of a pipe that was read, and that nobody was seen to write to, that a program which ran unwatched may have;
    where another run wrote to it, or nobody who was watched, `across` says."""
    if unwatched and channel.kind == "Pipe":
        for part in {part.process.iri: part for part in channel.reads}.values():
            conclusions.gaps.append((f"{channel.name}~unseen/{part.process.pid}", part.process.iri, unwatched))


def _by_process(parts: list[Part]) -> Iterable[list[Part]]:
    found: dict[str, list[Part]] = {}
    for part in parts:
        found.setdefault(part.process.iri, []).append(part)
    return found.values()


def _shares(parts: list[Part], phases: dict[str, list[Phase]]) -> list[_Share]:
    """What each phase of one process has of its parts; one that lasted through several phases is in each of them."""
    found: dict[str, _Share] = {}
    for part in parts:
        for phase in _overlapping(part, phases.get(part.process.iri, [])):
            first, last = max(part.first, phase.start), min(part.last, max(phase.end, part.first))
            share = found.setdefault(phase.iri, _Share(phase, first, last, part.low, part.high, part.path))
            share.first, share.last = min(share.first, first), max(share.last, last)
            share.low, share.high = min(share.low, part.low), max(share.high, part.high)
    return list(found.values())


def _overlapping(part: Part, phases: list[Phase]) -> list[Phase]:
    first = max(0, bisect_right(phases, part.first, key=_start) - 1)
    return phases[first : max(1, bisect_right(phases, part.last, key=_start))]


def _start(phase: Phase) -> int:
    return phase.start


def _segment(channel: Channel, share: _Share, conclusions: Conclusions) -> Segment:
    process = share.phase.process
    run, number = process.iri.split("/")[-4], share.phase.iri.rpartition("/")[2]
    image = f"{process.pid}.{process.tick}.{process.image_number}"
    share.segment = f"{channel.name}/{run}/{image}.{number}"
    program = conclusions.programs[process.iri].iri
    if process.iri in conclusions.finer:
        conclusions.made_in[share.segment] = conclusions.finer_at(process, share.last).iri
    return Segment(
        share.segment, channel.name, share.phase.iri, program, share.path, share.first, share.last, channel.kind
    )


def _read(channel: Channel, read: list[_Share], written: list[_Share]) -> None:
    """A phase uses what lies where it read. Where that is not known, all that began before its last read; and then what
    an earlier phase used up is carried, not used again."""
    used: set[str] = set()
    for share in sorted(read, key=lambda share: share.first):
        for segment in written:
            fresh = channel.placed or segment.segment not in used or segment.last >= share.phase.start
            lies_there = segment.low < share.high and share.low < segment.high
            own = (share.phase.iri + "/").startswith(segment.phase.iri + "/")  # or a part of it
            if segment.first <= share.last and lies_there and fresh and not own:
                share.phase.used[segment.segment] = None
                used.add(segment.segment)
