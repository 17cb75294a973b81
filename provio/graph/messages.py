"""The messages that the processes of a framework send each other: calls in, one Read and one Write of a process out.

Such calls move no data of the user (`provio.lineage.channels`), and they are very many: the graph states their number,
bytes and time, not each of them. Their object is the Channel of all messages of the run.
"""

from __future__ import annotations

from collections.abc import Container

from provio.base import turtle
from provio.graph.lines import Graph
from provio.lineage.model import Conclusions
from provio.trace.facts import Process

SUMMED = ("count", "bytes", "elapsed")
RELATIONS = {"Read": "wasReadBy", "Write": "wasWrittenBy"}


def channel(run: str) -> str:
    """Return the IRI of the Channel of all messages of a run."""
    return f"{run}/messages"


class Messages:
    """The messages of one process after the other."""

    def __init__(self, graph: Graph, run: str, out: Conclusions, left_out: Container[str]) -> None:
        self.graph, self.out, self.left_out, self.channel = graph, out, left_out, channel(run)
        self.sums: dict[str, dict[str, int]] = {}
        self.apis: dict[str, str] = {}

    def add(self, kind: str, api: str, counters: dict[str, int], first: int, last: int) -> None:
        """Add calls of a function that read or wrote (`kind`) messages, from the moment `first` to `last` (ns since
        1970)."""
        self.apis.setdefault(kind, api)
        known = self.sums.setdefault(kind, {"first": first, "last": last})
        known["first"], known["last"] = min(first, known["first"]), max(last, known["last"])
        for name in SUMMED:
            if name in counters:
                known[name] = known.get(name, 0) + counters[name]

    def end(self, process: Process) -> None:
        """Write the messages of a process."""
        for kind, known in self.sums.items():
            iri = f"{process.iri}messages/{kind.lower()}"
            self.graph.node(
                iri,
                kind,
                ("api", None if "api" in self.left_out else turtle.literal(self.apis[kind])),
                *((name, turtle.integer(known[name])) for name in SUMMED if name in known and self._states(name)),
                ("prov:startedAtTime", turtle.instant(known["first"])),
                ("prov:endedAtTime", turtle.instant(max(known["first"], known["last"]))),
                ("partOf", f"<{self.out.phase_at(process, known['first']).iri}>"),
            )
            self.graph.node(self.channel, "Channel", (RELATIONS[kind], f"<{iri}>"))
        self.sums, self.apis = {}, {}

    def _states(self, name: str) -> bool:
        return name != "elapsed" or "duration" not in self.left_out
