"""Facts about all processes of a run, for the graph of each part of it."""

from __future__ import annotations

from provio.base import turtle
from provio.graph.ranks import Ranks
from provio.lineage.model import TICK
from provio.system.statx import Record
from provio.trace.facts import Process
from provio.trace.fast.compact_record import Packed
from provio.trace.run_facts import Trace


class Ends:
    """When and how the processes of a run ended, as their parents' waits recorded it; each end is of the last image
    with the pid and tick. The command of the run ends with the run."""

    def __init__(self, trace: Trace) -> None:
        processes = sorted(trace.processes.values(), key=lambda process: process.started)
        here = turtle.segment(trace.run.get("host", ""))
        first = next((one for one in processes if one.host == here and "unattended" not in trace.run), None)
        self.command = (first.host, first.pid, first.tick) if first else None
        self.of_run = int(trace.run.get("endedNs", 0))
        self.last_images = {(process.host, process.pid, process.tick): process.iri for process in processes}
        self.ends: dict[tuple[str, int], list[tuple[int, Packed]]] = {}
        for process in processes:
            for event in process.events:
                if event.kind == "ChildEnd":  # a wait often starts before the child has executed its program
                    end = event.at + event.number("elapsed"), event.packed
                    self.ends.setdefault((process.host, event.number("childPid")), []).append(end)

    def of(self, process: Process) -> tuple[int, Record]:
        """Return when a process ended, in ns, and the record of its end; empty where no wait recorded it. Then the
        moment is that of its last recorded activity. Pids recur: it is the first end after the start of the process."""
        image = process.host, process.pid, process.tick
        if self.last_images[image] != process.iri:
            return process.ended, {}
        ends = [end for end in self.ends.get(image[:2], ()) if end[0] >= process.started]
        if ends:
            moment, record = min(ends, key=lambda end: end[0])
            return max(moment, process.ended), record.record()
        return max(process.ended, self.of_run if image == self.command else 0), {}


class Whole:
    """Facts about all processes of a run: how they ended, the rank of each, and when the first started."""

    def __init__(self, trace: Trace) -> None:
        self.ends, self.ranks = Ends(trace), Ranks(trace)
        self.start = min((process.started for process in trace.processes.values()), default=0) - TICK - 1
