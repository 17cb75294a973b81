"""The processes of a trace: an IRI in, the process out; those of which little is left have their place all the same,
and what could not be seen of them is a gap."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from provio.base.patterns import pattern
from provio.system.statx import Record
from provio.trace.decode import path_of
from provio.trace.facts import Process, Thread
from provio.trace.run_facts import Damage, Trace, Unwatched
from provio.trace.run_source import RunFile

RANKS = "/ranks"  # how the name of the gap ends that says that variables of launchers contradict each other
IMAGE = pattern(r"/([A-Za-z0-9._~%-]+)/([0-9]{1,20})\.([0-9]{1,20})\.([0-9a-z]{1,20})/")


def process_at(trace: Trace, iri: str) -> Process | None:
    """The process of an IRI `…/run/RUN/HOST/PID.TICK.N/`."""
    process = trace.processes.get(iri)
    if process is None:
        name = IMAGE.fullmatch(iri, len(trace.iri)) if iri.startswith(trace.iri + "/") else None
        if name is None:
            return None
        process = Process(iri, name[1], int(name[2]), int(name[3]), name[4])
        trace.processes[iri] = process
    return process


def parent_of(iri: str) -> str:
    """Return the IRI that another lies below: of a thread's, the process's."""
    return iri.rstrip("/").rpartition("/")[0] + "/"


def gap(trace: Trace, thread: Thread | None, iri: str, record: Record) -> None:
    """What could not be seen. A program that could not be watched has its place among the processes all the same."""
    about, reason = record.get("about", trace.iri), record.get("reason", "unknown")
    if iri.endswith(RANKS):  # which all its processes have: it is said once
        iri, about = trace.iri + RANKS, trace.iri
        if any(found[0] == iri for found in trace.gaps):
            return
    path = path_of(record, "executable")
    name = path.decode("utf-8", "replace") + " " if path else ""
    unseen = ": what it reads and writes is not seen" if name else ""
    trace.gaps.append((iri, about, name + reason + unseen))
    process = process_at(trace, about) if thread is None or about != thread.process.iri else None
    if process is None:
        return
    before = thread.process.record if thread else trace.run
    started = thread.epoch + int(record.get("at", 0)) if thread else int(record.get("startedNs", 0))
    trace.unwatched.append(Unwatched(process, iri, name.strip() or "a program", started))
    if "image" not in process.record:
        told = {key: record[key] for key in ("argv", "executable", "executableEncoded") if key in record}
        own = {"image": "exec", "startedNs": str(started), "host": process.host}
        place = {key: value for key, value in before.items() if key in ("cwd", "cwdEncoded")}
        process.record.update(told | own | place)


def file_gap(trace: Trace, file: RunFile, reason: str) -> None:
    """Note that a process could open no file."""
    iri = f"{trace.iri}/{file.host}/{file.name.rsplit('.', 2)[0]}/"
    if process_at(trace, iri):
        trace.gaps.append((iri + "gap", iri, reason))


def damage_gaps(trace: Trace) -> Iterator[tuple[str, str, str]]:
    """Yield the gaps that damage leaves: one for all that was lost of a process, whose file it was, or of the run."""
    found: dict[str, list[Damage]] = {}
    for damage in trace.damages:
        process = process_at(trace, f"{trace.iri}/{damage.path.parent.name}/{damage.path.name.rsplit('.', 2)[0]}/")
        found.setdefault(process.iri if process else trace.iri, []).append(damage)
    for about, (first, *more) in found.items():
        also = f" (and at {len(more)} more)" if more else ""
        reason = f"the trace is damaged from line {first.line} of {first.path.name}{also}"
        yield f"{about.rstrip('/')}/damage", about, reason


def add_lost_processes(trace: Trace) -> None:
    """Give processes of which damage has left nothing their place."""
    if trace.damages:
        deque(damage_gaps(trace), maxlen=0)
        date_lost_processes(trace)


def date_lost_processes(trace: Trace) -> None:
    """A process of which nothing is left but its file's name began after the images before it, and with the run."""
    lost: list[Process] = []
    ends: dict[tuple[str, int, int], int] = {}
    for process in trace.processes.values():
        if "startedNs" in process.record or process.openings or process.events or process.containers:
            image = process.host, process.pid, process.tick
            ends[image] = max(ends.get(image, 0), process.ended)
        else:
            lost.append(process)
    for process in lost:
        earlier = ends.get((process.host, process.pid, process.tick), 0)
        process.record["startedNs"] = str(max(earlier, int(trace.run.get("startedNs", 0))))
