"""Pass the inputs of a pool's tasks on to the process that gets their results.

The process (or the Task) in which such a Task ended has its result from then on: the inputs of the Task are inputs of
the process at that moment, as *data*, as if the process had called the function itself. In: the inputs of each Task.
"""

from __future__ import annotations

from provio.lineage.identity import POOLED
from provio.lineage.model import Conclusions, Input
from provio.trace.run_facts import Trace


def pass_on(trace: Trace, conclusions: Conclusions) -> None:
    """Add the inputs of each Task of a pool to those of the process in which it ended."""
    strands = [strand for iri, strand in conclusions.strands.items() if trace.tasks[iri].record.get("kind") in POOLED]
    for strand in sorted(strands, key=lambda strand: strand.ended):  # inner ones before those around them
        later, at = strand.ended_in, strand.ended
        found = {one.version: one.noise for one in conclusions.inputs[strand.process.iri] if one.first <= at}
        conclusions.inputs[later.iri] += [Input(later, version, at, at, noise) for version, noise in found.items()]
