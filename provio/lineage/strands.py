"""What ties Tasks to the process that they are of: a trace and its conclusions in, strands and their ties out.

A Task begins as a fork does, with what was in memory by then; at its end, what it took in is in memory.
"""

from __future__ import annotations

from itertools import pairwise

from provio.lineage.channels import Channel
from provio.lineage.model import Conclusions
from provio.lineage.tasks import divide
from provio.run_facts import Trace


def strands(trace: Trace, conclusions: Conclusions, ends: dict[str, int]) -> Trace:
    """Return the trace with a process for each Task, which `conclusions` and `ends` then know, too."""
    divided = divide(trace)
    conclusions.strands = divided.strands
    for iri, strand in divided.strands.items():
        whole, own = trace.tasks[iri].process.iri, strand.process.iri
        conclusions.programs[own], ends[own] = conclusions.programs[whole], ends[whole]
    return divided.trace


def begin(channels: list[Channel], conclusions: Conclusions) -> None:
    """Note when Tasks began in each process, and when those ended that had taken something in."""
    if not conclusions.strands:
        return
    took = {part.process.iri for channel in channels for part in channel.reads}
    took |= {iri for iri, inputs in conclusions.inputs.items() if not all(one.noise for one in inputs)}
    for strand in sorted(conclusions.strands.values(), key=lambda strand: strand.ended):
        conclusions.begun.setdefault(strand.begun_in.iri, []).append(strand.started)
        if strand.known_at[1:]:  # what it reads after its end is no part of what was in memory then
            conclusions.begun.setdefault(strand.process.iri, []).append(strand.ended)
        if strand.process.iri in took:
            took.add(strand.ended_in.iri)
            conclusions.joins.setdefault(strand.ended_in.iri, []).extend(strand.known_at)


def join(conclusions: Conclusions) -> None:
    """Say of each Task's first phase what it carries on, and of the phase that it ended in that it carries on this."""
    for strand in conclusions.strands.values():
        phases = conclusions.phases[strand.process.iri]
        for earlier, later in pairwise(phases):
            later.carried_from = earlier.iri
        phases[0].carried_from = conclusions.phase_at(strand.begun_in, strand.started).iri
        conclusions.forks[strand.process.iri] = strand.begun_in, strand.started
        for moment in strand.known_at:
            target = conclusions.phase_at(strand.ended_in, moment)
            joined = moment in conclusions.joins.get(strand.ended_in.iri, ())
            if joined and target.iri != phases[0].carried_from:
                target.joined[conclusions.phase_at(strand.process, moment).iri] = None
