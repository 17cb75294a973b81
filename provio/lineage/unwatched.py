"""Account for programs that could not be watched, from the facts of the processes around them.

A program may have inherited a file or pipe that a process before it had open, also through processes that did not use
it: it is the writer or reader if no observed process is. Any other file that changed while the program ran or later,
and that no recorded process wrote, may be its product: a gap states this.
There are also gaps for files of which only the bytes were observed, because the library that wrote them is inside the
executable, and for submitted jobs that are not observed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from provio.base.records import frozen
from provio.lineage.identity import Identity, without_task
from provio.lineage.model import FOREVER, TICK, Conclusions, Version
from provio.lineage.writing import Stretches
from provio.trace.facts import Opening, Process
from provio.trace.run_facts import Trace, Unwatched

if TYPE_CHECKING:
    from provio.lineage.phases import Origin


@frozen
class Held:
    """An opening that an unwatched program may have inherited; `sure`: no exec closed its first descriptor."""

    program: Unwatched
    opening: Opening
    sure: bool


def held(trace: Trace, origins: Mapping[str, Origin]) -> Iterator[Held]:
    """Yield each unwatched program with the openings that it may have inherited: those of the image before it, of its
    parent, of the image before that, and so on, that were still open when the next of these processes started.

    A process between two others may have closed a descriptor that it never used, which is not recorded. So such a
    program counts as a writer or reader only where no observed process is one.
    """
    openings: dict[str, list[Opening]] = {}
    for process in trace.processes.values() if trace.unwatched else ():
        openings.setdefault(without_task(process.iri), []).extend(process.openings)
    lasted = {iri: Stretches([(one.opened, one.closed - 1 if one.closed else FOREVER) for one in known])
              for iri, known in openings.items()}  # fmt: skip
    for program in trace.unwatched:
        met: set[tuple[str, int, bool]] = set()
        for holder, moment in _line(program.process.iri, program.started, origins):
            for number in sorted(lasted[holder].reaching(moment, moment)) if holder in lasted else ():
                opening = openings[holder][number]
                key = opening.facts.device, opening.facts.inode, opening.writable
                if key not in met:
                    met.add(key)
                    yield Held(program, opening, not opening.flags & os.O_CLOEXEC)


def _line(iri: str, started: int, origins: Mapping[str, Origin]) -> Iterator[tuple[str, int]]:
    """Yield the processes that a process comes from, each with the moment at which it started the next."""
    known = set[str]()
    while (origin := origins.get(iri)) and iri not in known:
        known.add(iri)
        iri = without_task(origin.process.iri)
        yield iri, started if origin.moment is None else origin.moment
        started = origin.process.started


class Programs:
    """The names of unwatched programs and the times at which they ran: many programs usually have few names."""

    def __init__(self, programs: Iterable[tuple[str, int, int]]) -> None:
        self.times: dict[str, list[tuple[int, int]]] = {}
        for name, first, last in programs:
            self.times.setdefault(name, []).append((first, last))
        self.stretches = {name: Stretches(times) for name, times in self.times.items()}

    def names(self, moment: int, until: int, without: tuple[int, int] = (0, 0)) -> list[str]:
        """Return the names of those that had started by `moment` and ended at `until` or later, except for one."""
        found = ((name, self.stretches[name].reaching(moment, until)) for name in self.times)
        return [name for name, numbers in found if any(self.times[name][number] != without for number in numbers)]


def suspect(trace: Trace, conclusions: Conclusions, lives: dict[str, int]) -> None:
    """Add a gap to each version without an observed writer that was made while a program ran unwatched, or after that:
    by a process that it started. A file is not older than its birth: a program may have set the time of a copy."""
    if not trace.unwatched:
        return
    over = max(int(trace.run.get("endedNs", 0)), *lives.values())
    contributed = {made.iri.partition("~")[0] for made in conclusions.contributions}
    ran = Programs((program.name, program.started, lives[program.process.iri]) for program in trace.unwatched)
    for version in conclusions.versions.values():
        made = version.facts.mtime if version.retimed else max(version.facts.mtime, version.facts.birth)
        if version.generated_by or version.noise or version.iri in contributed:
            continue
        names = (ran.names(made + TICK, made - TICK) or ran.names(made + TICK, 0)) if made <= over + TICK else []
        if names:
            conclusions.gaps.append(perhaps_written(version, names))


def perhaps_written(version: Version, names: list[str]) -> tuple[str, str, str]:
    """Return the gap of a version that unwatched programs of these names may have written."""
    reason = f"may have been written by {_listed(names)}, which could not be watched"
    return version.iri + "~unwatched", version.iri, reason


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
