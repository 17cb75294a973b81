"""Make the segments that tie phases: the data that one phase wrote into a pipe or connection and other phases read.

A second part marks the segments that are answers of system programs.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from provio.base.records import plain
from provio.lineage.code import Noise
from provio.lineage.identity import without_task
from provio.lineage.model import Conclusions, Phase, Segment
from provio.lineage.positions import Channel, Part
from provio.lineage.unwatched import unseen_writer
from provio.lineage.writing import Stretches
from provio.trace.facts import Opening
from provio.trace.run_facts import Trace

MORE = "read more bytes from a pipe than recorded calls wrote into it"


@plain(slots=True)
class _Share:
    """The writes or reads of one phase on a channel: their moments and byte positions."""

    phase: Phase
    first: int
    last: int
    low: int
    high: int
    path: bytes | None
    segment: str = ""


def connect(trace: Trace, channels: list[Channel], conclusions: Conclusions) -> None:
    """Make a segment for each (pipe or direction of a connection, writing phase), which the phases that read it use."""
    unwatched = unseen_writer(trace)
    for channel in channels:
        if not channel.writes:
            _unseen(channel, unwatched, conclusions)
            continue
        if _is_more_read(channel):
            _unseen(channel, MORE, conclusions)
        written = [share for parts in _by_process(channel.writes) for share in _shares(parts, conclusions.phases)]
        for share in written:
            times = share.first, share.last
            found = segment(channel.name, channel.kind, share.phase, share.path, times, conclusions)
            share.segment = found.iri
            conclusions.segments.append(found)
        segments = _Segments(channel, written)
        for parts in _by_process(channel.reads):
            for phases in (conclusions.phases, conclusions.finer):
                segments.read(_shares(parts, phases))


def _is_more_read(channel: Channel) -> bool:
    """Return whether more bytes were read from a pipe than recorded calls wrote into it: for example, the C library
    writes the messages of `perror` and `warn` internally."""
    known = channel.kind == "Pipe" and all(part.size and part.returned for part in (*channel.writes, *channel.reads))
    if not known or any(part.path or part.buffered for part in channel.reads):
        return False
    return sum(part.size for part in channel.reads) > sum(part.size for part in channel.writes)


def _unseen(channel: Channel, reason: str | None, conclusions: Conclusions) -> None:
    """Add a gap to each reader of a pipe that something unobserved may have written to, with the reason.

    `provio.merge.cross_run` handles pipes that another run wrote to, or that no watched process wrote to.
    """
    if reason and channel.kind == "Pipe":
        for part in {part.process.iri: part for part in channel.reads}.values():
            image = part.process.iri.rstrip("/").rpartition("/")[2]
            conclusions.gaps.append((f"{channel.name}~unseen/{image}", part.process.iri, reason))


def _by_process(parts: list[Part]) -> Iterable[list[Part]]:
    found: dict[str, list[Part]] = {}
    for part in parts:
        found.setdefault(part.process.iri, []).append(part)
    return found.values()


def _shares(parts: list[Part], phases: dict[str, list[Phase]]) -> list[_Share]:
    """Return the shares of each phase of one process in its parts; a part that lasted for several phases is in each
    of them."""
    found: dict[str, _Share] = {}
    for part in parts:
        own = phases.get(part.process.iri, [])
        for phase in _overlapping(part, own):
            if phase is own[-1]:  # the end of an unwatched program is not in its records
                phase.end = max(phase.end, part.last)
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


def segment(
    channel: str, kind: str, phase: Phase, path: bytes | None, times: tuple[int, int], conclusions: Conclusions
) -> Segment:
    """Return the data that one phase wrote into a channel between two moments."""
    process, (first, last) = phase.process, times
    run, number = without_task(process.iri).split("/")[-4], phase.iri.rpartition("/")[2]
    image = f"{process.pid}.{process.tick}.{process.image_number}"
    iri = f"{channel}/{run}/{image}.{number}"
    program = conclusions.programs[process.iri].iri
    if process.iri in conclusions.finer:
        conclusions.made_in[iri] = conclusions.finer_at(process, last).iri
    return Segment(iri, channel, phase.iri, program, path, first, last, kind)


class _Segments:
    """The segments of a channel, for the lookups of its readers."""

    def __init__(self, channel: Channel, written: list[_Share]) -> None:
        self.terminal, self.placed, self.written = channel.terminal, channel.placed, written
        self.at = Stretches([(one.low, one.high) if self.placed else (one.first, one.last) for one in written])
        self.ordered = sorted(range(len(written)), key=lambda number: written[number].first)

    def read(self, shares: list[_Share]) -> None:
        """Let the phases of one process use the segments at the byte positions of their reads.

        Where the positions are not known, a phase uses all segments that started before its last read; a segment that
        an earlier phase has used is then carried, and not used again.
        """
        new, place = set[int](), 0
        for share in sorted(shares, key=lambda share: share.first):
            if self.placed:
                found = set(self.at.reaching(share.high - 1, share.low + 1))
            else:
                while place < len(self.ordered) and self.written[self.ordered[place]].first <= share.last:
                    new.add(self.ordered[place])
                    place += 1
                found = new.union(self.at.reaching(share.last, share.phase.start))
            for number in sorted(found):
                segment = self.written[number]
                own = (share.phase.iri + "/").startswith(segment.phase.iri + "/")  # or a part of that phase
                if segment.first <= share.last and not own:
                    new.discard(number)
                    if not (self.terminal and segment.phase.process is share.phase.process):
                        share.phase.used[segment.segment] = None


# Answers of system programs that a process started itself: such pipes belong to the system as its files do.


def answers(trace: Trace, channels: list[Channel], noise: Noise, conclusions: Conclusions) -> None:
    """Mark the segments of pipes that are answers of system programs to the reader as noise."""
    askers = _Askers(trace, noise, conclusions)
    found = {channel.name for channel in channels if channel.kind == "Pipe" and askers.alone_read(channel)}
    for segment in conclusions.segments:
        segment.noise = segment.channel in found


class _Askers:
    """Finds which process started which system program."""

    def __init__(self, trace: Trace, noise: Noise, conclusions: Conclusions) -> None:
        self.trace, self.noise, self.out = trace, noise, conclusions
        self.doubtful = {about for _, about, _ in (*trace.gaps, *conclusions.gaps)}

    def alone_read(self, channel: Channel) -> bool:
        """Return whether one process read all data of a pipe and had started all writers of the pipe."""
        readers = {part.process.iri for part in channel.reads}
        written, read = (sum(part.size for part in parts) for parts in (channel.writes, channel.reads))
        if len(readers) != 1 or not channel.placed or written != read or any(part.path for part in channel.writes):
            return False
        requester = readers.pop()
        return all(self._requested_by(requester, iri) for iri in {part.process.iri for part in channel.writes})

    def _requested_by(self, requester: str, iri: str) -> bool:
        """Return whether a program, and all processes between it and the one that started it, belong to the system."""
        line = list(self._line(iri))
        between = line[: line.index(requester)] if requester in line else []
        program = self.trace.processes[iri].image == "exec"
        return program and bool(between) and all(map(self._of_system, between))

    def _line(self, iri: str) -> Iterator[str]:
        """Yield a process, the process that started or forked it, and so on, up to the first of all."""
        known = {""}
        while iri not in known:
            yield iri
            known.add(iri)
            first = self.out.phases[iri][0]
            iri = (first.carried_from or first.launched_by or "").rpartition("phase/")[0]

    def _of_system(self, iri: str) -> bool:
        """Return whether a process runs a program of the system and had only files of the system as inputs; or is a
        fork before its exec of such a program."""
        process = self.trace.processes[iri]
        code = self.out.programs[iri].code
        own = process.image == "fork" or (process.image == "exec" and all(map(self.noise.of_code, code)))
        known = all(one.noise for one in self.out.inputs[iri]) and all(map(self._silent, process.openings))
        lone = self.out.lone.get(iri)
        return own and known and not (lone and lone.news) and not any(about.startswith(iri) for about in self.doubtful)

    def _silent(self, opening: Opening) -> bool:
        """Return whether no user data passed through an opening."""
        if opening.kind != "FileVersion":
            return not opening.reads()
        return self.noise(opening) or opening.flags & os.O_ACCMODE == os.O_WRONLY
