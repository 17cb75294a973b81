"""Finer phases: where a process is cut by what it read and wrote inside files, and what each of these phases used.

A process that read or wrote objects inside files has, beside its phases, finer ones, by the same rule with each dataset
and attribute in the place of its file: `<phase>/<j>`, a part of the phase. What is read of an object is read of the
version that the phases' own rules say the process read of the file then: so no finer phase uses an object of a version
that no phase used.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise

from provio.facts import Opening, Process
from provio.identity import without_task
from provio.lineage.channels import Channel
from provio.lineage.model import Conclusions, Input, Phase, inode_of
from provio.lineage.objects import ProcessObjects, Use
from provio.lineage.phases import launches, within
from provio.run_facts import Trace


def refine(trace: Trace, channels: list[Channel], conclusions: Conclusions) -> list[ProcessObjects]:
    """Give each process that read or wrote inside files, and each fork of one, its finer phases, and say what they
    used; return what these processes did inside files."""
    inside = [process for process in trace.processes.values() if any(map(_content, process.containers))]
    met = [ProcessObjects(process, conclusions) for process in inside]
    if not met:
        return []
    uses = {one.process.iri: list(one.uses()) for one in met}
    plain_uses = {one.process.iri: one.inodes for one in met}
    heard: dict[str, list[int]] = {}
    for channel in channels:
        for part in channel.reads:
            heard.setdefault(part.process.iri, []).append(part.first)
    finished = {one.process.iri: _finished(one) for one in met}
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
    return met


def _content(file: Opening) -> bool:
    """Tell whether content was read or changed in a file."""
    return any(member.stretches("read") or member.changes() for member in file.members) or bool(
        file.process.within and file.writable
    )


def _finished(objects: ProcessObjects) -> set[int]:
    """When each object was written last."""
    written = (member.stretches("write") for member in objects.members())
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
