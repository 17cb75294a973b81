"""Finer phases: where a process is cut by what it read and wrote inside files, and what each of these phases used.

A process that read or wrote objects inside files has, beside its phases, finer ones, by the same rule with each dataset
and attribute in the place of its file: `<phase>/<j>`, a part of the phase. What is read of an object is read of the
version that the phases' own rules say the process read of the file then: so no finer phase uses an object of a version
that no phase used.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from provio.facts import Member, Opening, Process, Trace, path_of
from provio.identity import without_task
from provio.lineage.channels import Channel
from provio.lineage.model import Conclusions, Input, MemberVersion, Phase, inode_of
from provio.lineage.moves import Moves, below, holders
from provio.lineage.phases import launches, within
from provio.plain import plain


@plain(slots=True)
class Use:
    """An object of a version that a process read, first and last."""

    member: MemberVersion
    first: int
    last: int
    noise: bool


def _linked(members: Sequence[Member]) -> dict[bytes, bytes]:
    """Objects that were given a second name by a hard link, which is said of them (of a soft one, of the file)."""
    hard = {member.path for member in members if any(one.operation == "Link" for one in member.accesses)}
    links = (member for member in members if member.kind == "NamedLink" and member.created)
    pairs = [(path_of(link.record, "target"), link) for link in links if "targetFile" not in link.record]
    return {path: link.path for path, link in pairs if path in hard}


class Inside:
    """What one process did inside files."""

    def __init__(self, process: Process, conclusions: Conclusions) -> None:
        self.process, self.out = process, conclusions
        events: dict[str, list[int]] = {}
        for place, event in enumerate(process.within):
            events.setdefault(event.record.get("inFile", ""), []).append(place)
        self.moves = {
            file.iri: Moves((process.within[place] for place in events[file.iri]), _linked(file.members))
            if file.iri in events
            else Moves()
            for file in process.containers
        }
        self.inodes = {inode_of(file.facts) for file in process.containers}
        self.copied: dict[str, dict[bytes, tuple[int, Member]]] = {}
        for member in self.members():
            for source, access in member.copied_from:
                if member.name is None:
                    self.copied.setdefault(member.file.iri, {})[member.path] = access.moments()[0], source
        self._read: dict[tuple[str, int, int], list[Input]] = {}
        for found in conclusions.inputs[process.iri]:
            version = conclusions.versions.get(found.version)
            if version and inode_of(version.facts) in self.inodes:
                self._read.setdefault(inode_of(version.facts), []).append(found)
        for inputs in self._read.values():
            inputs.sort(key=lambda one: one.first)
        self._latest = {key: list(accumulate((one.last for one in known), max)) for key, known in self._read.items()}

    def members(self) -> Iterator[Member]:
        """Every object that the process met in a file."""
        for file in self.process.containers:
            yield from file.members

    def uses(self) -> Iterator[Use]:
        """What was read of objects that others had left."""
        for member in self.members():
            for first, last in member.stretches("read"):
                yield from self.read(member, first, last)

    def read(self, member: Member, first: int, last: int) -> Iterator[Use]:
        """Which versions of an object, or of what it shows or was copied from, were read in a stretch of time."""
        for source in member.shows:
            yield from self.read(source, first, last)
        origin = self._copied_from(member, first) if member.file.iri in self.copied else None
        if origin:
            yield from self.read(origin, first, last)
        elif not (member.created or member.file.truncated or 0 < member.replaced <= first):
            for found in self._inputs(member.file, first, last):
                before = self.moves[member.file.iri].earlier((member.path, member.name), first)
                known = self.out.member(found.version, member.kind, *before, member.record)
                known.noise = found.noise
                self.out.read_as[member.iri] = known.iri
                yield Use(known, max(first, found.first), max(last, found.first), found.noise)

    def _copied_from(self, member: Member, moment: int) -> Member | None:
        """What an object that was copied here, or lies in one that was, was copied from."""
        copied = self.copied[member.file.iri]
        for holder in holders((member.path, None)):
            at, source = copied.get(holder[0], (moment + 1, None))
            if source and at <= moment and source is not member:
                path, _ = below((member.path, None), holder, (source.path, None))
                same = source if path == source.path and member.name is None else None
                return same or Member("", member.kind, source.file, path, member.name, {})
        return None

    def found(self, file: Opening) -> list[Input]:
        """What the process had read of a file by the time it had opened it."""
        return self._inputs(file, file.opened, file.closed or file.process.ended)

    def _inputs(self, file: Opening, first: int, last: int) -> list[Input]:
        """What was read of a file then: the last that had been, where a library had it in memory."""
        known = self._read.get(inode_of(file.facts), [])
        place = bisect_right(known, last, key=lambda one: one.first)
        found, latest = [], self._latest.get(inode_of(file.facts), [])
        for number in range(place - 1, -1, -1):
            if latest[number] < first:
                break
            if known[number].last >= first:
                found.append(known[number])
        return found or known[max(0, place - 1) : place]


def refine(trace: Trace, channels: list[Channel], conclusions: Conclusions) -> list[Inside]:
    """Give each process that read or wrote inside files, and each fork of one, its finer phases, and say what they
    used; return what these processes did inside files."""
    inside = [
        Inside(process, conclusions) for process in trace.processes.values() if any(map(_content, process.containers))
    ]
    if not inside:
        return []
    uses = {one.process.iri: list(one.uses()) for one in inside}
    plain_uses = {one.process.iri: one.inodes for one in inside}
    heard: dict[str, list[int]] = {}
    for channel in channels:
        for part in channel.reads:
            heard.setdefault(part.process.iri, []).append(part.first)
    finished = {one.process.iri: _finished(one) for one in inside}
    for process in _with_forks(trace, set(uses), conclusions):
        known = uses.get(process.iri, [])
        others = _others(process, plain_uses.get(process.iri, set()), conclusions)
        joins = conclusions.joins.get(process.iri, [])
        news = sorted([*_news(known, others), *heard.get(process.iri, ()), *joins])
        done = sorted({*conclusions.finished.get(process.iri, ()), *finished.get(process.iri, ())})
        forks = launches(process, conclusions)
        conclusions.finer[process.iri] = _cut(conclusions.phases[process.iri], done, forks, news)
        _use(process, known, others, conclusions)
    _tie(conclusions)
    return inside


def _content(file: Opening) -> bool:
    """Tell whether content was read or changed in a file."""
    return any(member.stretches("read") or member.changes() for member in file.members) or bool(
        file.process.within and file.writable
    )


def _finished(inside: Inside) -> set[int]:
    """When each object was written last."""
    written = (member.stretches("write") for member in inside.members())
    return {max(last for _, last in stretches) for stretches in written if stretches}


def _with_forks(trace: Trace, own: set[str], conclusions: Conclusions) -> list[Process]:
    """These processes, and those that are forks of them, or of their forks."""
    found = set(own)
    for strand in conclusions.strands.values():  # what one Task of a process had in hand others may have, by memory
        if not found.isdisjoint((strand.process.iri, strand.begun_in.iri)):
            found.add(without_task(strand.begun_in.iri))
    for iri in conclusions.forks:
        line = [iri]
        while line[-1] in conclusions.forks and line[-1] not in found:
            line.append(conclusions.forks[line[-1]][0].iri)
        if line[-1] in found:
            found.update(line)
    return [process for process in trace.processes.values() if process.iri in found]


def _others(process: Process, inodes: set[tuple[str, int, int]], conclusions: Conclusions) -> list[Input]:
    """What a process read of files that it did not look into."""
    found = []
    for one in conclusions.inputs[process.iri]:
        version = conclusions.versions.get(one.version)
        if version is None or inode_of(version.facts) not in inodes:
            found.append(one)
    return found


def _news(uses: list[Use], others: list[Input]) -> list[int]:
    """When each was first read; what is noise cuts nothing."""
    first: dict[str, int] = {}
    read = [(one.member.iri, one.first) for one in uses if not one.noise]
    for iri, moment in read + [(one.version, one.first) for one in others if not one.noise]:
        first[iri] = min(moment, first.get(iri, moment))
    return list(first.values())


def _cut(phases: list[Phase], finished: list[int], forks: list[int], news: list[int]) -> list[Phase]:
    """Cut each phase at the moments at which something new was read after something was finished, or after a fork."""
    found: list[Phase] = []
    ends = [phase.start for phase in phases[1:]] + [max([phases[-1].start, *news[-1:]]) + 1]
    for phase, end in zip(phases, ends, strict=True):
        carried = phase.continued and not (found and within(finished, found[-1].start, phase.start))
        found.append(_part(phase, f"{phase.iri}/0", phase.start, carried))
        number = 0
        for moment in news[bisect_right(news, phase.start) : bisect_left(news, end)]:
            last = found[-1]
            done = within(finished, last.start, moment)
            if moment > last.start and (done or within(forks, last.start, moment)):
                last.end, number = moment, number + 1
                found.append(_part(phase, f"{phase.iri}/{number}", moment, not done))
    return found


def _part(phase: Phase, iri: str, start: int, continued: bool) -> Phase:
    """Return a part of a phase that begins at a moment and goes on to its end."""
    return Phase(iri, phase.process, start, phase.end, continued=continued, launched_by=phase.launched_by)


def _use(process: Process, uses: list[Use], others: list[Input], conclusions: Conclusions) -> None:
    for use in uses:
        for moment in (use.first, use.last):
            conclusions.finer_at(process, moment).used[use.member.iri] = None
    for found in others:
        for moment in (found.first, found.last):
            conclusions.finer_at(process, moment).used[found.version] = None


def _tie(conclusions: Conclusions) -> None:
    """Say of each finer phase which one it carries on; of those beside them that the kernel copied, what they used."""
    for iri, finer in conclusions.finer.items():
        for earlier, later in pairwise(finer):
            later.carried_from, later.launched_by = earlier.iri, None
        first, coarse = finer[0], conclusions.phases[iri][0]
        first.carried_from = coarse.carried_from
        if iri in conclusions.forks:
            parent, moment = conclusions.forks[iri]
            if parent.iri in conclusions.finer:
                first.carried_from = conclusions.finer_at(parent, moment).iri
    for strand in conclusions.strands.values():
        whole = strand.ended_in
        for moment in strand.known_at if {strand.process.iri, whole.iri} <= conclusions.finer.keys() else ():
            if moment in conclusions.joins.get(whole.iri, ()):
                own = conclusions.finer_at(strand.process, moment)
                conclusions.finer_at(whole, moment).joined[own.iri] = None
    for span in conclusions.spans:
        if span.sources and not span.copied_only and span.process.iri in conclusions.finer:
            conclusions.finer_at(span.process, span.last).used.update(dict.fromkeys(span.sources))
