"""Until when each image of a run may have written: the events of processes in, a moment for each out."""

from __future__ import annotations

from provio.facts import Process
from provio.run_facts import Trace


def lives(trace: Trace) -> dict[str, int]:
    """Return until when each image may have written: its exec, its parent's word of its end, or the end of the run."""
    waited: dict[tuple[str, int], list[int]] = {}
    for process in trace.processes.values():
        for event in process.events:
            if event.kind == "ChildEnd":
                ends = waited.setdefault((process.host, event.number("childPid")), [])
                ends.append(event.at + event.number("elapsed"))
    last = int(trace.run.get("endedNs", 0)) or max((p.ended for p in trace.processes.values()), default=0)
    return {process.iri: _life(process, waited, last) for process in trace.processes.values()}


def _life(process: Process, waited: dict[tuple[str, int], list[int]], last: int) -> int:
    """Pids recur: the end is the first that was told of this one after the image began."""
    failed = {event.record.get("exec") for event in process.events if event.kind == "ExecFailed"}
    replaced = [event.at for event in process.events if event.kind == "Exec" and event.iri not in failed]
    if replaced:
        return max(replaced)
    ends = [end for end in waited.get((process.host, process.pid), ()) if end >= process.started]
    return min(ends, default=max(last, process.ended))
