"""Account for programs that could not be watched, from the facts of the processes around them.

A program that was started with a file open for writing is the writer of that file if no other process is. Any other
file that changed while the program ran, and that no recorded process wrote, may be its product: a gap states this.
There are also gaps for files of which only the bytes were observed, because the library that wrote them is inside the
executable, and for submitted jobs that are not observed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from provio.lineage.identity import Identity
from provio.lineage.model import TICK, Conclusions
from provio.trace.facts import Opening, Process
from provio.trace.run_facts import Trace, Unwatched


def handed_on(trace: Trace) -> Iterator[tuple[Unwatched, Opening]]:
    """Yield each unwatched program with the openings for writing that it inherited from the image before it or its
    parent, unless that process itself wrote through them afterwards."""
    images: dict[tuple[str, int, int], list[Process]] = {}
    parents = {
        (process.host, event.number("childPid"), event.number("childTick")): process
        for process in trace.processes.values()
        for event in process.events
        if event.kind in ("Fork", "Spawn")
    }
    for process in trace.processes.values():
        images.setdefault((process.host, process.pid, process.tick), []).append(process)
    for program in trace.unwatched:
        key = (program.process.host, program.process.pid, program.process.tick)
        before = [
            image for image in images.get(key, ()) if image is not program.process and image.started <= program.started
        ]
        for image in [*before, *([parents[key]] if key in parents else [])]:
            yield from ((program, opening) for opening in image.openings if _left_open(opening, program.started))


def _left_open(opening: Opening, moment: int) -> bool:
    kept = opening.writable and (not opening.flags & os.O_CLOEXEC or _changed_unseen(opening))
    still = opening.opened <= moment and not 0 < opening.closed <= moment
    return kept and still and all(last <= moment for _, last in opening.writes())


def _changed_unseen(opening: Opening) -> bool:
    """Return whether a file changed without an observed write: a child may write through a copy of a descriptor that
    closes at an exec, as for `subprocess.run(…, stdout=file)`."""
    left = opening.settled or opening.at_close
    return left is not None and left.key != opening.facts.key and not opening.writes()


def suspect(trace: Trace, conclusions: Conclusions, lives: dict[str, int]) -> None:
    """Add a gap to each version without an observed writer that was made while a program ran unwatched."""
    if not trace.unwatched:
        return
    contributed = {made.iri.partition("~")[0] for made in conclusions.contributions}
    for version in conclusions.versions.values():
        mtime = version.facts.mtime
        if version.generated_by or version.noise or version.iri in contributed:
            continue
        names = [u.name for u in trace.unwatched if u.started - TICK <= mtime <= lives[u.process.iri] + TICK]
        if names:
            reason = f"may have been written by {_listed(names)}, which could not be watched"
            conclusions.gaps.append((version.iri + "~unwatched", version.iri, reason))


def hide(trace: Trace, identity: Identity, conclusions: Conclusions) -> None:
    """Add a gap to each version that a library inside the executable wrote, with the reason why its objects were not
    observed."""
    for opening in trace.openings():
        left = opening.at_close or opening.settled
        if opening.unseen_reason and left:
            version = conclusions.version_at(identity.version(left), opening.closed or opening.opened)
            if version:
                conclusions.gaps.append((version.iri + "~inside", version.iri, opening.unseen_reason))


def unseen_writer(trace: Trace) -> str | None:
    """Return the reason for a gap of a pipe that was read and has no observed writer; None if all programs were
    watched."""
    names = [program.name for program in trace.unwatched]
    return f"read from a pipe that {_listed(names)}, which could not be watched, may have written" if names else None


def _listed(names: list[str]) -> str:
    known = list(dict.fromkeys(names))
    return " or ".join(known[:3]) + (f" or {len(known) - 3} others" if len(known) > 3 else "")


# Jobs that a run submitted to a batch system and that are no part of it.


SUBMITTERS = frozenset({b"sbatch", b"qsub", b"bsub"})
QUERY_OPTIONS = frozenset({b"--test-only", b"--version", b"-V", b"--help", b"-h", b"--usage"})
UNSEEN = (
    "what the job that it submitted does is not seen: it has not begun, was not given this environment, "
    "or does not see this run's folder"
)


def alone(trace: Trace) -> frozenset[str]:
    """Return the processes that submitted a job of which the run has no process."""
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
    return process.record.get("exitCode", "0") == "0" and not QUERY_OPTIONS & set(process.arguments)


def _jobs(trace: Trace) -> Iterable[int]:
    """Return when each job other than the run's own started."""
    first: dict[str, int] = {}
    for process in trace.processes.values():
        job = process.record.get("jobId")
        if job and job != trace.run.get("jobId"):
            first[job] = min(first.get(job, process.started), process.started)
    return first.values()


def unseen(trace: Trace, alone: frozenset[str], conclusions: Conclusions) -> None:
    """Add a gap to each of these processes in the trace: its job is not observed."""
    for iri in alone & trace.processes.keys():
        conclusions.gaps.append((iri + "submitted", iri, UNSEEN))
