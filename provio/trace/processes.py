"""The processes of a trace by IRI, including those with lost or missing records, and the gaps about them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from provio.base.records import pattern
from provio.base.vocab import UNRECORDED
from provio.system.statx import Record
from provio.trace.decode import path_of
from provio.trace.facts import Process, Thread
from provio.trace.run_facts import Damage, Trace, Unwatched
from provio.trace.run_source import THREAD_FILE, RunFile

SHELLS = frozenset({"system", "popen", "_IO_popen"})  # calls that start a shell, which a gap of theirs is about
RANKS = "/ranks"  # ending of the IRI of the gap for contradictory variables of launchers
IMAGE = pattern(r"/([A-Za-z0-9._~%-]+)/([0-9]{1,20})\.([0-9]{1,20})\.([0-9a-z]{1,20})/")


def process_at(trace: Trace, iri: str) -> Process | None:
    """Return the process of an IRI `…/run/RUN/HOST/PID.TICK.N/`, created if needed; None for any other IRI."""
    process = trace.processes.get(iri)
    if process is None:
        name = IMAGE.fullmatch(iri, len(trace.iri)) if iri.startswith(trace.iri + "/") else None
        if name is None:
            return None
        process = Process(iri, name[1], int(name[2]), int(name[3]), name[4])
        trace.processes[iri] = process
    return process


def parent_of(iri: str) -> str:
    """Return the parent of an IRI: for a thread, its process."""
    return iri.rstrip("/").rpartition("/")[0] + "/"


def gap(trace: Trace, thread: Thread | None, iri: str, record: Record) -> None:
    """Add a gap to the trace. A program that could not be watched also becomes a process."""
    about, reason = record.get("about", trace.iri), record.get("reason", "unknown")
    if iri.endswith(RANKS):  # each process has it: it is stated once
        iri, about = trace.iri + RANKS, trace.iri
        if any(found[0] == iri for found in trace.gaps):
            return
    path = path_of(record, "executable")
    name = path.decode("utf-8", "replace") + " " if path else ""
    trace.gaps.append((iri, about, name + reason + UNRECORDED * bool(name)))
    before = thread.process.record if thread else trace.run
    started = thread.epoch + int(record.get("at", 0)) if thread else int(record.get("startedNs", 0))
    parent: Record = {}
    if thread and record.get("api") in SHELLS:  # the pid of the shell is not known
        about = f"{trace.iri}/{thread.process.host}/0.{started}.{thread.process.pid}/"
        parent = {"parentPid": str(thread.process.pid), "argv": "sh"}
        trace.gaps[-1] = iri, about, trace.gaps[-1][2]
    process = process_at(trace, about) if thread is None or about != thread.process.iri else None
    if process is None:
        return
    trace.unwatched.append(Unwatched(process, iri, name.strip() or "a program", started))
    if "image" not in process.record:
        facts = {key: record[key] for key in ("argv", "executable", "executableEncoded") if key in record}
        own = {"image": "exec", "startedNs": str(started), "host": process.host}
        place = {key: value for key, value in before.items() if key in ("cwd", "cwdEncoded")}
        process.record.update(facts | own | place | parent)


def file_gap(trace: Trace, file: RunFile, reason: str) -> None:
    """Add the gap of a process that could not open its thread file."""
    iri = f"{trace.iri}/{file.host}/{file.name.rsplit('.', 2)[0]}/"
    if process_at(trace, iri):
        trace.gaps.append((iri + "gap", iri, reason))


def damage_gaps(trace: Trace, find: Callable[[str], Process | None] | None = None) -> Iterator[tuple[str, str, str]]:
    """Yield a gap for each process with damaged files, or for the run. `find` returns the process of an IRI; by
    default, one that is not known is added."""
    found: dict[str, list[Damage]] = {}
    for damage in trace.damages:
        thread = THREAD_FILE.fullmatch(damage.path.name)
        iri = f"{trace.iri}/{damage.path.parent.name}/{thread['image']}/" if thread else ""
        process = (find(iri) if find else process_at(trace, iri)) if thread else None
        found.setdefault(process.iri if process else trace.iri, []).append(damage)
    for about, (first, *more) in found.items():
        also = f" (and at {len(more)} more)" if more else ""
        yield f"{about.rstrip('/')}/damage", about, f"the trace is damaged{first.place}{also}"


def add_lost_processes(trace: Trace) -> None:
    """Add the processes of which only damaged files are left."""
    if trace.damages:
        deque(damage_gaps(trace), maxlen=0)
        date_lost_processes(trace)


def date_lost_processes(trace: Trace) -> None:
    """Set the start of processes without records: the end of the earlier image of the process, or the run's start."""
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
