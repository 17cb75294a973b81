"""Until when each image of a run may have written: the events of processes in, a moment for each out."""

from __future__ import annotations

from provio.facts import Process, Trace


def lives(trace: Trace) -> dict[str, int]:
    """Return until when each image may have written: its exec, its parent's word of its end, or the end of the run."""
    waited = {
        (process.host, event.number("childPid")): event.at + event.number("elapsed")
        for process in trace.processes.values()
        for event in process.events
        if event.kind == "ChildEnd"
    }
    last = int(trace.run.get("endedNs", 0)) or max((p.ended for p in trace.processes.values()), default=0)
    return {process.iri: _life(process, waited, last) for process in trace.processes.values()}


def _life(process: Process, waited: dict[tuple[str, int], int], last: int) -> int:
    failed = {event.record.get("exec") for event in process.events if event.kind == "ExecFailed"}
    replaced = [event.at for event in process.events if event.kind == "Exec" and event.iri not in failed]
    if replaced:
        return max(replaced)
    end = waited.get((process.host, process.pid), 0)
    return end if end >= process.started else max(last, process.ended)
