"""Write the Tasks of a run into its graph (`docs/graph.md`)."""

from __future__ import annotations

from provio.base import turtle
from provio.graph.calls import Kept
from provio.graph.lines import Graph, informed, path_if_known
from provio.lineage.model import Conclusions, Strand
from provio.trace.decode import path_of
from provio.trace.run_facts import Task


class TaskGraph:
    """Writes Tasks; `kept` states which nodes the graph has."""

    def __init__(self, graph: Graph, conclusions: Conclusions, kept: Kept) -> None:
        self.graph, self.out, self.kept = graph, conclusions, kept

    def node(self, task: Task, strand: Strand, program: str) -> bool:
        """Write a Task as one activity. Return whether this is all of it; otherwise its phases state the entities that
        it used and generated."""
        name = path_of(task.record, "name") or b"task"
        lean = self.out.phases[strand.process.iri][0].iri == strand.process.iri
        if lean:
            self._lean(task, strand, name)
        else:
            self._whole(task, strand, name, program)
        return lean

    def _whole(self, task: Task, strand: Strand, name: bytes, program: str) -> None:
        record = task.record
        within = task.part_of + "/" if task.part_of in self.out.strands else self.kept.whole(task.process)
        self.graph.node(
            strand.process.iri,
            "Task",
            ("partOf", f"<{within}>"),
            ("rdfs:label", turtle.literal(name.decode("utf-8", "replace"))),
            path_if_known("name", name),
            *(path_if_known(word, path_of(record, word)) for word in ("kind", "sourceText")),
            ("number", turtle.integer(int(record["number"])) if "number" in record else None),
            ("status", turtle.literal(record["status"]) if "status" in record else None),
            ("prov:startedAtTime", turtle.instant(task.started)),
            ("prov:endedAtTime", turtle.instant(max(task.started, strand.ended))),
            ("prov:wasAssociatedWith", self.kept.program(program)),
        )

    def _lean(self, task: Task, strand: Strand, name: bytes) -> None:
        """Write a framework's task that touched no file: its process has the program, and a task without a status was
        successful."""
        record, (phase,) = task.record, self.out.phases[strand.process.iri]
        status = record.get("status", "unfinished")
        self.graph.node(
            strand.process.iri,
            "Task",
            ("partOf", f"<{self.kept.whole(task.process)}>"),
            path_if_known("name", name),
            path_if_known("kind", path_of(record, "kind")),
            ("status", turtle.literal(status) if status != "ok" else None),
            ("prov:startedAtTime", turtle.instant(task.started)),
            ("prov:endedAtTime", turtle.instant(max(task.started, strand.ended))),
            *(("prov:used", f"<{version}>") for version in phase.used),
            *informed("carriedFrom", phase.carried_from),
            *informed("launchedBy", phase.launched_by),
        )
