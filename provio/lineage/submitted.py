"""Jobs that a run submitted to a batch system, and that are not part of it: its processes in, a Gap for each out.

A job takes part where it has the environment of the run that submitted it and sees its folder: its processes then say
which job they are. One that has not begun yet is missing until the run is merged again.
"""

from __future__ import annotations

from collections.abc import Iterable

from provio.facts import Process
from provio.lineage.model import Conclusions
from provio.run_facts import Trace

SUBMITTERS = frozenset({b"sbatch", b"qsub", b"bsub"})
ONLY_ASK = frozenset({b"--test-only", b"--version", b"-V", b"--help", b"-h", b"--usage"})
UNSEEN = (
    "what the job that it submitted does is not seen: it has not begun, was not given this environment, "
    "or does not see this run's folder"
)


def alone(trace: Trace) -> frozenset[str]:
    """Return the processes of a run that submitted a job of which nothing is seen in it."""
    started = sorted(_jobs(trace))
    found = []
    for process in sorted(filter(_submits, trace.processes.values()), key=lambda process: process.started):
        place = next((number for number, moment in enumerate(started) if moment >= process.started), None)
        if place is None:
            found.append(process.iri)
        else:
            del started[: place + 1]
    return frozenset(found)


def _submits(process: Process) -> bool:
    if (process.executable or b"").rpartition(b"/")[2] not in SUBMITTERS or process.image != "exec":
        return False
    return process.record.get("exitCode", "0") == "0" and not ONLY_ASK & set(process.arguments)


def _jobs(trace: Trace) -> Iterable[int]:
    """When each job began that is not the run's own."""
    first: dict[str, int] = {}
    for process in trace.processes.values():
        job = process.record.get("jobId")
        if job and job != trace.run.get("jobId"):
            first[job] = min(first.get(job, process.started), process.started)
    return first.values()


def unseen(trace: Trace, alone: frozenset[str], conclusions: Conclusions) -> None:
    """Say of each of these in a trace that its job is not seen."""
    for iri in alone & trace.processes.keys():
        conclusions.gaps.append((iri + "submitted", iri, UNSEEN))
