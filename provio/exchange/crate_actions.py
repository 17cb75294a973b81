"""The actions of a crate: the facts of a run in, an action for each step out, and one for the run as a workflow."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from provio.ask.run_steps import ENDED, STARTED, Operation, RunFacts, Setting, Step
from provio.base.text import cut_end, elapsed, plural
from provio.base.vocab import NS
from provio.exchange.crate_files import Files
from provio.exchange.crate_json import Entity, Graph, moment, reference, references
from provio.exchange.crate_software import Software
from provio.exchange.hidden import Hidden

NAME = 100  # characters of the name of an action
COMPLETED, FAILED = (f"http://schema.org/{word}ActionStatus" for word in ("Completed", "Failed"))
BYTES = "http://qudt.org/vocab/unit/BYTE"
USAGE = {  # of resources: its name, and the property in the record
    "bytesRead": ("bytes that it read from files", "bytes"),
    "bytesWritten": ("bytes that it wrote to files", "bytes"),
    "peakMemory": ("largest resident memory", "peakMemory"),
}
SHELL = "#sh"
BIOSCHEMAS = "https://bioschemas.org/profiles"
TYPES = ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"]


@dataclass
class Workflow:
    """A command as a workflow: its file, the runs that executed it, the programs of their steps, and its parameters."""

    place: str
    text: str
    facts: RunFacts
    runs: list[str] = field(default_factory=list)
    tools: dict[str, str] = field(default_factory=dict)  # program → step
    inputs: dict[str, None] = field(default_factory=dict)
    variables: dict[str, None] = field(default_factory=dict)


class Actions:
    """Writes the actions of runs. `mentions` are the ids of those written so far, `workflows` those by command."""

    def __init__(
        self,
        graph: Graph,
        files: Files,
        software: Software,
        hide: Hidden,
        settings: Mapping[str, list[Setting]],
        metrics: Mapping[str, Mapping[str, str]],
    ) -> None:
        self.graph, self.files, self.software, self.hide = graph, files, software, hide
        self.settings, self.metrics = settings, metrics
        self.mentions: list[str] = []
        self.workflows: dict[tuple[str, str], Workflow] = {}
        self.profile = "process"

    def add(self, run: RunFacts, profile: str) -> None:
        """Write the actions of a run."""
        self.profile = profile
        agents = [self._person(iri, name) for iri, name in run.people]
        workflow = self._workflow(run) if profile != "process" else None
        variables = [self._variable(workflow, *one) for one in run.environment]
        controls = []
        for step in run.steps:
            tool = self.software.of(step)
            if workflow and tool not in workflow.tools:
                workflow.tools[tool] = f"{workflow.place}#step-{len(workflow.tools) + 1}"
            action = self._step(run, step, tool, agents, variables, workflow)
            if workflow and profile == "provenance":
                controls.append(self._control(step, workflow.tools[tool], action))
        if workflow:
            self._run(run, workflow, agents, variables)
            if controls:
                self._organize(run, controls)

    def _step(
        self, run: RunFacts, step: Step, tool: str, agents: list[str], variables: list[str], workflow: Workflow | None
    ) -> str:
        facts = step.facts
        command = self.hide.text("argv", shlex.join(step.words))
        title = self._named(facts, "task") or command or f"process {facts.get('pid', '')}".strip()
        used = {**step.moved, "peakMemory": facts.get("peakMemory")}
        usage = [self._usage(step.iri, word, str(used[word])) for word in USAGE if used.get(word) is not None]
        results = [self.files.ids[iri] for iri in step.results] + [self._metric(iri) for iri in step.metrics]
        inputs = [self.files.ids[iri] for iri in step.inputs]
        inputs += [self._setting(one, workflow) for iri in step.settings for one in self.settings.get(iri, ())]
        images = [self.software.image(iri) for iri in step.images]
        rank = f"rank {facts['rank']}" if "rank" in facts else ""
        for one in step.operations:
            self._operation(run, one, title, {
                "instrument": reference(tool),
                "agent": references(agents),
                "isPartOf": reference(self.hide.iri(step.iri)),
            })  # fmt: skip
        return self._action(run, {
            "@id": self.hide.iri(step.iri),
            "@type": "CreateAction" if results else "ActivateAction",
            "name": cut_end(title, NAME),
            "description": "; ".join(filter(None, (f"command: {command}" if command else "a part of a program", rank))),
            "instrument": reference(tool),
            "agent": references(agents),
            "object": references(inputs),
            "result": references(results),
            "environment": references(variables),
            "containerImage": references(images),
            "resourceUsage": references(usage),
        }, facts)  # fmt: skip

    def _operation(self, run: RunFacts, one: Operation, title: str, of: Entity) -> None:
        """Write the action of an I/O activity of the step with this title, with the facts of the step."""
        facts, file = one.facts, references([self.files.ids[one.file]])
        took = elapsed(int(facts["elapsed"])) if "elapsed" in facts else ""
        about = f"I/O of: {title}", plural(int(facts.get("count", 1)), "call"), took
        word = "bytesWritten" if one.writes else "bytesRead"
        usage = [self._usage(one.iri, word, facts["bytes"])] if int(facts.get("bytes", 0)) else []
        self._action(run, {
            "@id": self.hide.iri(one.iri),
            "@type": "CreateAction" if one.writes else "ActivateAction",
            "name": cut_end(f"{facts.get('api', 'open')}: {self.files.title(one.file)}", NAME),
            "description": "; ".join(filter(None, about)),
            "object": None if one.writes else file,
            "result": file if one.writes else None,
            "resourceUsage": references(usage),
            **of,
        }, facts)  # fmt: skip

    def _action(self, run: RunFacts, entity: Entity, facts: Mapping[str, str]) -> str:
        """Write an action with its times and its end, and return its id."""
        if run.as_of and ENDED not in facts:
            entity["description"] += f"; {run.as_of}"
        entity |= {"startTime": moment(facts.get(STARTED, "")), "endTime": moment(facts.get(ENDED, ""))} | ended(facts)
        self.mentions.append(self.graph.add(entity))
        return self.mentions[-1]

    def _run(self, run: RunFacts, workflow: Workflow, agents: list[str], variables: list[str]) -> None:
        """Write the action of the run as a whole: its inputs are those that no step made, its results all that is not
        removed."""
        used, kept = run.flow()
        inputs = [self.files.ids[iri] for iri in used]
        inputs += [self._setting(one, workflow) for step in run.steps for key in step.settings
                   for one in self.settings.get(key, ())]  # fmt: skip
        results = [self.files.ids[iri] for iri in kept]
        results += [self._metric(iri) for step in run.steps for iri in step.metrics]
        facts, command = run.facts, self.hide.text("argv", run.command)
        images = [self.software.image(iri) for step in run.steps for iri in step.images]
        self._action(run, {
            "@id": self.hide.iri(run.iri),
            "@type": "CreateAction" if results else "ActivateAction",
            "name": cut_end(self._named(facts, "name") or command or "a run", NAME),
            "description": "; ".join(filter(None, (f"command: {command}", *self._circumstances(run)))),
            "instrument": reference(workflow.place),
            "agent": references(agents),
            "object": references(inputs),
            "result": references(results),
            "environment": references(variables),
            "containerImage": references(images),
        }, facts)  # fmt: skip

    def _named(self, facts: Mapping[str, str], kind: str) -> str:
        return self.hide.text(kind, facts["name"]) if facts.get("name") else ""

    def _circumstances(self, run: RunFacts) -> Iterable[str]:
        facts = run.facts
        if facts.get("host"):
            yield f"on {self.hide.text('host', facts['host'])}"
        system = [
            facts.get("system", ""),
            f"Linux {facts['kernel']}" if "kernel" in facts else "",
            facts.get("cpu", ""),
        ]
        yield ", ".join(filter(None, system))
        if "jobId" in facts:
            yield f"batch job {facts['jobId']}" + (f" ({facts['jobResources']})" if "jobResources" in facts else "")
        if "gitCommit" in facts:
            yield f"git commit {facts['gitCommit']}" + (" and changes" if facts.get("gitDirty") == "true" else "")
        if run.gaps:
            yield f"not everything was observed: {'; '.join(run.gaps)}"

    def _workflow(self, run: RunFacts) -> Workflow:
        key = (run.folder, run.command)
        if key not in self.workflows:
            folder = self.hide.text("cwd", run.folder)
            lines = ["#!/bin/sh", "# The command of a run, as provio recorded it."]
            lines += [f"cd {shlex.quote(folder)} || exit", self.hide.text("argv", run.command)]
            self.workflows[key] = Workflow(f"workflows/{len(self.workflows) + 1}.sh", "\n".join(lines) + "\n", run)
        self.workflows[key].runs.append(run.iri)
        return self.workflows[key]

    def places(self) -> dict[str, str]:
        """Return the script of each run."""
        return {run: one.place for one in self.workflows.values() for run in one.runs}

    def close(self) -> None:
        """Write the workflows, after the actions of all their runs."""
        for one in self.workflows.values():
            steps = [self._how_to(number, tool, step) for number, (tool, step) in enumerate(one.tools.items(), 1)]
            is_last, command = self.profile == "provenance", self.hide.text("argv", one.facts.command)
            self.graph.add({
                "@id": one.place,
                "@type": TYPES if is_last else TYPES[:-1],
                "name": cut_end(self._named(one.facts.facts, "name") or command, NAME),
                "description": "the command of a run as a shell script",
                "conformsTo": reference(f"{BIOSCHEMAS}/ComputationalWorkflow/1.0-RELEASE"),
                "programmingLanguage": reference(SHELL),
                "encodingFormat": "application/x-sh",
                "contentSize": str(len(one.text.encode("utf-8", "surrogateescape"))),
                "url": self.hide.iri(one.facts.iri),
                "version": one.facts.facts.get("gitCommit") or one.facts.iri.rpartition("/")[2],
                "hasPart": references(one.tools) if is_last else None,
                "step": references(steps) if is_last else None,
                "input": references(one.inputs),
                "environment": references(one.variables),
            })  # fmt: skip
        if self.workflows:
            self.graph.add({
                "@id": SHELL,
                "@type": "ComputerLanguage",
                "name": "POSIX shell command language",
                "alternateName": "sh",
                "url": "https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html",
            })  # fmt: skip

    def _how_to(self, number: int, tool: str, step: str) -> str:
        if self.profile != "provenance":
            return step
        entity = {"@id": step, "@type": "HowToStep", "position": str(number), "workExample": reference(tool)}
        return self.graph.add(entity)

    def _control(self, step: Step, how_to: str, action: str) -> str:
        return self.graph.add({
            "@id": f"#control-{_key(step.iri)}",
            "@type": "ControlAction",
            "instrument": reference(how_to),
            "object": reference(action),
        })  # fmt: skip

    def _organize(self, run: RunFacts, controls: list[str]) -> None:
        """Write the action of the first program of a run, which started the others."""
        entity: Entity = {
            "@id": f"#organize-{_key(run.iri)}",
            "@type": "OrganizeAction",
            "name": "the first program of the run, which started the others",
            "instrument": reference(self.software.engine(run.steps[0])),
            "object": references(controls),
            "result": reference(self.hide.iri(run.iri)),
            "startTime": moment(run.facts.get(STARTED, "")),
            "endTime": moment(run.facts.get(ENDED, "")),
        }
        self.graph.add(entity | ended(run.facts))

    def _person(self, iri: str, name: str) -> str:
        person = {"@id": self.hide.iri(iri), "@type": "Person", "name": self.hide.text("user", name)}
        return self.graph.add(person)

    def _variable(self, workflow: Workflow | None, iri: str, name: str, value: str) -> str:
        entity: Entity = {"@id": self.hide.iri(iri), "@type": "PropertyValue", "name": name}
        entity["value"] = self.hide.text("value", value)
        if workflow:
            parameter = f"#variable-{quote(name, safe='')}"
            workflow.variables[parameter] = None
            entity["exampleOfWork"] = reference(self._parameter(parameter, name, "Text"))
        return self.graph.add(entity)

    def _setting(self, one: Setting, workflow: Workflow | None) -> str:
        entity: Entity = {"@id": self.hide.iri(one.iri), "@type": "PropertyValue", "name": one.name}
        entity["value"] = self.hide.text("setting", one.value)
        if one.configuration:
            entity["description"] = f"a setting of {one.configuration}"
        if workflow:
            parameter = f"#parameter-{quote(f'{one.configuration}.{one.name}', safe='')}"
            workflow.inputs[parameter] = None
            entity["exampleOfWork"] = reference(self._parameter(parameter, one.name, one.kind))
        return self.graph.add(entity)

    def _parameter(self, iri: str, name: str, kind: str) -> str:
        return self.graph.add({
            "@id": iri,
            "@type": "FormalParameter",
            "name": name,
            "additionalType": kind,
            "conformsTo": reference(f"{BIOSCHEMAS}/FormalParameter/1.0-RELEASE"),
        })  # fmt: skip

    def _metric(self, iri: str) -> str:
        facts = self.metrics.get(iri, {})
        step = f"step {facts['step']}" if "step" in facts else ""
        return self.graph.add({
            "@id": self.hide.iri(iri),
            "@type": "PropertyValue",
            "name": facts.get("name", "metric"),
            "value": facts.get("value", ""),
            "description": "; ".join(filter(None, ("a metric", step))),
        })  # fmt: skip

    def _usage(self, activity: str, word: str, value: str) -> str:
        name, kind = USAGE[word]
        return self.graph.add({
            "@id": f"#{word}-{_key(activity)}",
            "@type": "PropertyValue",
            "name": name,
            "propertyID": NS + kind,
            "unitCode": BYTES,
            "value": value,
        })  # fmt: skip


def ended(facts: Mapping[str, str]) -> Entity:
    """Return the status of an action, with the error if it failed; nothing if its end is not recorded."""
    if "signal" in facts:
        return {"actionStatus": FAILED, "error": f"signal {facts['signal']}"}
    if "exitCode" in facts:
        code = facts["exitCode"]
        return {"actionStatus": COMPLETED} if code == "0" else {"actionStatus": FAILED, "error": f"exit code {code}"}
    if "status" in facts:
        status = facts["status"]
        return {"actionStatus": COMPLETED} if status == "ok" else {"actionStatus": FAILED, "error": status}
    return {}


def _key(iri: str) -> str:
    return hashlib.sha256(iri.encode("utf-8", "surrogateescape")).hexdigest()[:24]
