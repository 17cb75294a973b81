"""Runs as a workflow instance of WfCommons (WfFormat 1.6): tasks, files, dependencies, and their execution.

A task is a process, or with `--steps task` a Task of a framework; no workflow manager is needed. Its parents are
the tasks that made its input files. Facts that are not recorded are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, BinaryIO

from provio import __version__
from provio.ask import run_steps
from provio.ask.document import arguments
from provio.ask.run_steps import RunFacts, Step
from provio.base.errors import NotAllowed, NothingKnown
from provio.base.text import printable
from provio.base.vocab import RUN_BASE
from provio.exchange import description
from provio.exchange.subject import Subject

SUMMARY = "WfFormat 1.6 of WfCommons: an instance of a workflow"
FOLDER = False
OPTIONS = ("steps",)
VERSION = "1.6"
HOST = re.compile(re.escape(RUN_BASE) + r"[^/]+/([^/]+)/")
OTHER = re.compile(r"[^0-9a-zA-Z_.-]")  # characters that an id of WfFormat cannot have


def write(subject: Subject, output: BinaryIO) -> None:
    """Write one instance with the tasks of all runs of the subject; raises NotAllowed for I/O activities."""
    if subject.steps == "io":
        raise NotAllowed("WfFormat has tasks, but no I/O activities: use --steps task, or --as ro-crate")
    only = {node["process"] for node in subject.document["nodes"] if "process" in node} if subject.files else None
    runs = [
        run_steps.read(subject.reader, run, steps=subject.steps, inside=False, only=only, data=None)
        for run in subject.run_ids
    ]
    steps = [step for run in runs for step in run.steps]
    if not steps:
        raise NothingKnown("no process with files is recorded here: name a run of a command that reads or writes files")
    document = _Instance(subject, runs, steps).document()
    output.write(json.dumps(document, indent=1, ensure_ascii=True).encode() + b"\n")


class _Instance:
    """The parts of an instance. An id of a task is a part of its IRI, that of a file its name and a number."""

    def __init__(self, subject: Subject, runs: list[RunFacts], steps: list[Step]) -> None:
        self.subject, self.runs, self.steps = subject, runs, steps
        self.ids = {step.iri: f"t{number}" for number, step in enumerate(steps, 1)}
        self.maker = {entity: step.iri for step in steps for entity in step.results}
        self.files: dict[str, str] = {}
        known = [entity for step in steps for entity in (*step.inputs, *step.results) if "/version/" in entity]
        self.facts = run_steps.literals(subject.reader, dict.fromkeys(known))
        self.names = _names(subject, known)

    def document(self) -> dict[str, Any]:
        """Return the instance."""
        hide, about = self.subject.hide, description.of(self.subject.home, self.subject.hide)
        tasks = [self._task(step) for step in self.steps]
        children: dict[str, list[str]] = {task["id"]: [] for task in tasks}
        for task in tasks:
            for parent in task["parents"]:
                children[parent].append(task["id"])
        for task in tasks:
            task["children"] = children[task["id"]]
        starts = sorted(time for run in self.runs if (time := run.facts.get(run_steps.STARTED)))
        ends = sorted(time for run in self.runs if (time := run.facts.get(run_steps.ENDED)))
        makespan = (_time(ends[-1]) - _time(starts[0])).total_seconds() if starts and ends else 0
        sizes = [
            {"id": name, "sizeInBytes": int(self.facts.get(iri, {}).get("size", 0))} for iri, name in self.files.items()
        ]
        return {
            "name": printable(hide.text("title", about.title)) or "runs",
            "description": about.description or "recorded by provio",
            "createdAt": starts[0],
            "schemaVersion": VERSION,
            "runtimeSystem": {"name": "provio", "version": __version__},
            "workflow": {
                "specification": {"tasks": tasks, "files": sizes},
                "execution": {
                    "makespanInSeconds": makespan,
                    "executedAt": starts[0],
                    "tasks": [self._execution(step) for step in self.steps],
                    "machines": list(self._machines()),
                },
            },
        }

    def _task(self, step: Step) -> dict[str, Any]:
        inputs = [self._file(one) for one in step.inputs if "/version/" in one]
        outputs = [self._file(one) for one in step.results if "/version/" in one]
        parents = dict.fromkeys(self.ids[self.maker[one]] for one in step.inputs if one in self.maker)
        return {
            "name": self._name(step), "id": self.ids[step.iri],
            "parents": [one for one in parents if one != self.ids[step.iri]], "children": [],
            "inputFiles": list(dict.fromkeys(inputs)), "outputFiles": list(dict.fromkeys(outputs)),
        }  # fmt: skip

    def _name(self, step: Step) -> str:
        hide, program = self.subject.hide, step.words[0].rpartition("/")[2] if step.words else ""
        name = hide.text("task", step.facts["name"]) if step.facts.get("name") else hide.text("name", program)
        return printable(name) or "process"

    def _file(self, entity: str) -> str:
        if entity not in self.files:
            name = self.subject.hide.text("path", self.names.get(entity, "")).rpartition("/")[2]
            self.files[entity] = f"{OTHER.sub('_', name)[:80]}.{len(self.files) + 1}"
        return self.files[entity]

    def _execution(self, step: Step) -> dict[str, Any]:
        facts, hide = step.facts, self.subject.hide
        start, end = facts.get(run_steps.STARTED, ""), facts.get(run_steps.ENDED, "")
        words = arguments(hide.text("argv", facts["argv"])) if facts.get("argv") else []
        found: dict[str, Any] = {
            "id": self.ids[step.iri],
            "runtimeInSeconds": (_time(end) - _time(start)).total_seconds() if start and end else 0,
            "machines": [self._host(step.iri)],
            "readBytes": step.moved.get("bytesRead", 0),
            "writtenBytes": step.moved.get("bytesWritten", 0),
        }
        if start:
            found["executedAt"] = start
        if "peakMemory" in facts:
            found["memoryInBytes"] = int(facts["peakMemory"])
        if words:
            kept = [printable(word) for word in words[1:] if word]
            found["command"] = {"program": printable(words[0]) or "?", "arguments": kept}
        return found

    def _machines(self) -> Iterator[dict[str, Any]]:
        for host in dict.fromkeys(self._host(step.iri) for step in self.steps):
            yield {"nodeName": host, "system": "linux"}

    def _host(self, iri: str) -> str:
        found = HOST.match(self.subject.hide.iri(iri))
        return found[1] if found else "unknown"


def _names(subject: Subject, versions: Iterable[str]) -> dict[str, str]:
    """Return a path of each version."""
    from provio.ask import run_uses

    found: dict[str, str] = {}
    for which in run_uses.values("v", dict.fromkeys(versions)):
        query = f"SELECT ?v (MIN(?p) AS ?path) {{ {which} ?v prov:specializationOf/provio:path ?p }} GROUP BY ?v"
        found |= {row[0]: row[1] for row in subject.reader.table(query)}
    return found


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
