"""The facts of one run: its steps (processes or Tasks) with their programs, inputs and results.

In: a store and the id of a run. Out: `RunFacts`. A few queries read all of it, each for the complete run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from provio.ask import processes, run_summary, run_uses
from provio.ask.document import EDITED, arguments
from provio.ask.redo import typed
from provio.base.vocab import RUN_BASE, local_name
from provio.lineage.identity import RESULT, SEALED
from provio.store import Reader

PROCESS = re.compile(re.escape(RUN_BASE) + r"[^/]+/[^/]+/[^/]+/")
TASK = re.compile(PROCESS.pattern + r"t\d+/")
CONTRIBUTION = re.compile(r"~[^~/#]*\.\d+\.[^.~/#]+\.[^.~/#]+$")  # of a process to a version that several wrote
METRIC = re.compile(r"/m\d+$")
LOADED = "?a provio:loaded/prov:hadMember ?v . ?v prov:wasGeneratedBy ?maker"  # libraries that a recorded run made
USED, MADE, RAN = "?a prov:used ?v", "?v prov:wasGeneratedBy ?a", "?a provio:ran|provio:ranAsNoise ?v"
DELETED = "?v prov:wasInvalidatedBy ?a"
STARTED, ENDED = "startedAtTime", "endedAtTime"
ENDS = frozenset({"exitCode", "signal"})
MOVED = {"Read": "bytesRead", "Write": "bytesWritten"}  # by class of an I/O activity
READS, WRITES = ("Read", "Opened"), ("Written", "Created", "Modified", "Flushed")  # wasReadBy …


class Operation(NamedTuple):
    """An I/O activity: its IRI, the file, whether it changed the file, and its literals."""

    iri: str
    file: str
    writes: bool
    facts: dict[str, str]


@dataclass
class Step:
    """A process or a Task. `facts` are its literals by the last word of the property, `program` is the version of the
    executable or script that it ran, `ran` are all such versions. `received` and `returned` are results of Tasks that
    it used and made in memory. `settings` are its parameters, `images` the images of its container; `moved` counts the
    bytes that it read and wrote in files, `operations` are the I/O activities on its inputs and results, if they are
    wanted."""

    iri: str
    process: str
    facts: dict[str, str] = field(default_factory=dict)
    program: str = ""
    ran: list[str] = field(default_factory=list)
    inputs: dict[str, None] = field(default_factory=dict)
    results: dict[str, None] = field(default_factory=dict)
    received: dict[str, None] = field(default_factory=dict)
    returned: dict[str, None] = field(default_factory=dict)
    settings: dict[str, None] = field(default_factory=dict)
    metrics: dict[str, None] = field(default_factory=dict)
    images: dict[str, None] = field(default_factory=dict)
    moved: dict[str, int] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        """Its command line."""
        return arguments(self.facts["argv"]) if self.facts.get("argv") else []


@dataclass
class RunFacts:
    """A run. `people` are its users (IRI, name), `environment` its variables (IRI, name, value); `deleted` are versions
    that it removed; `gaps` are the reasons of the parts that were not observed; `as_of` states the time of
    the answer while it goes on."""

    iri: str
    facts: dict[str, str]
    people: list[tuple[str, str]]
    environment: list[tuple[str, str, str]]
    steps: list[Step]
    deleted: set[str]
    gaps: list[str]
    as_of: str

    @property
    def command(self) -> str:
        """The command line with its redirections, for a shell."""
        facts = self.facts
        words = arguments(facts["commandLine"]) if facts.get("commandLine") else []
        streams = arguments(facts["redirections"]) if facts.get("redirections") else []
        return " ".join(typed(words, streams, self.folder))

    @property
    def folder(self) -> str:
        """The folder in which it ran."""
        return self.facts.get("cwd") or self.facts.get("cwdEncoded", "")

    def flow(self) -> tuple[list[str], list[str]]:
        """Return its inputs, which no step made, and its results: the files that steps made and that it kept."""
        made = {iri for step in self.steps for iri in step.results}
        inputs = dict.fromkeys(iri for step in self.steps for iri in step.inputs if iri not in made)
        kept = dict.fromkeys(iri for step in self.steps for iri in step.results)
        return [*inputs], [iri for iri in kept if "/version/" in iri and iri not in self.deleted]


def read(
    reader: Reader, run: str, *, steps: str, inside: bool, only: Container[str] | None, data: Container[str] | None
) -> RunFacts:
    """Return the facts of a run. `steps` are processes, with `task` also Tasks, with `io` also I/O activities;
    `inside`: also objects inside files; `only` are the processes to describe, `data` the files and other data (None:
    all)."""
    iri = RUN_BASE + run
    found = _Steps(reader, run, steps in ("task", "io"), inside, data)
    found.read()
    if steps == "io":
        found.read_operations()
    facts = _literals(reader, f"VALUES ?s {{ <{iri}> }}").get(iri, {})
    people = "?u a provio:User ; provio:name ?name"
    variables = f"<{iri}> prov:used ?e . ?e a provio:Environment ; provio:name ?name ; provio:value ?value"
    chosen = [one for one in found.steps.values() if only is None or one.process in only]
    for one in chosen:  # the end of the command itself is that of the run
        if one.iri == one.process and not ENDS & one.facts.keys() and one.facts.get(ENDED) == facts.get(ENDED, ""):
            one.facts |= {word: facts[word] for word in ENDS & facts.keys()}
    return RunFacts(
        iri=iri,
        facts=facts,
        people=[(row[0], row[1]) for row in reader.table(
            f"SELECT DISTINCT ?u ?name {{ <{iri}> prov:wasAssociatedWith ?u . {people} }} ORDER BY ?u")],
        environment=[(row[0], row[1], row[2]) for row in reader.table(
            f"SELECT DISTINCT ?e ?name ?value {{ {variables} }} ORDER BY ?name")],
        steps=sorted(chosen, key=lambda one: (one.facts.get(STARTED, "~"), one.iri)),
        deleted={version for _, version in found.pairs(DELETED)},
        gaps=gaps(reader, run),
        as_of=reader.as_of if run in reader.in_progress else "",
    )  # fmt: skip


def ties(reader: Reader, run: str) -> Callable[[str], Iterator[tuple[str, str]]]:
    """Return a function that yields the (activity, node) of a run's activities, by a pattern with `?a` and `?v`."""
    return _Steps(reader, run, tasks=False, inside=False, data=None).pairs


def gaps(reader: Reader, run: str) -> list[str]:
    """Return why the record of a run has gaps. A source that was edited between two runs is no gap of this run."""
    stated, concluded = run_summary.gap_reasons(reader, run)
    return list(dict.fromkeys([*stated, *(reason for reason in concluded if not reason.startswith(EDITED))]))


class _Steps:
    """The steps of a run, by IRI."""

    def __init__(self, reader: Reader, run: str, tasks: bool, inside: bool, data: Container[str] | None) -> None:
        self.reader, self.run, self.iri = reader, run, RUN_BASE + run
        self.tasks, self.inside, self.data = tasks, inside, data
        self.scan = run_uses.is_most(reader, run)
        self.steps: dict[str, Step] = {}

    def read(self) -> None:
        """Read all of them, and leave out the forks that neither used nor made anything."""
        for activity, entity in chain(self.pairs(USED), self.pairs(LOADED)):
            self._use(self._step(activity), entity)
        for activity, entity in self.pairs(MADE):
            self._made(self._step(activity), entity)
        for activity, version in self.pairs(RAN):
            self._step(activity).ran.append(version)
        self._moved()
        shown = {one.iri for one, _ in processes.programs(self.reader, processes.of_run(self.reader, self.iri))}
        below = f'FILTER(STRSTARTS(STR(?s), "{self.iri}/"))'
        ours = f"?s provio:partOf <{self.iri}> ; a provio:Process . {below}"
        facts = _literals(self.reader, ours)
        if self.tasks:
            facts |= literals(self.reader, (iri for iri, _ in self.pairs("?a provio:name ?v") if TASK.fullmatch(iri)))
        for iri in facts:
            if iri in shown or iri in self.steps or TASK.fullmatch(iri):
                self._step(iri).facts = facts[iri]
            if facts[iri].get("kind") in SEALED and ENDED in facts[iri]:  # the graph omits the status of a success
                facts[iri].setdefault("status", "ok")
        plans = f"SELECT ?s ?v {{ {ours} ?s prov:qualifiedAssociation ?q . ?q prov:hadPlan ?v }}"
        programs = {row[0]: row[1] for row in self.reader.table(plans)}
        self.steps = {iri: one for iri, one in self.steps.items() if self._counts(iri, shown)}
        for one in self.steps.values():
            one.program = programs.get(one.process, "")
            one.facts.setdefault("argv", facts.get(one.process, {}).get("argv", ""))

    def _counts(self, iri: str, shown: Container[str]) -> bool:
        one = self.steps[iri]
        return bool(one.inputs or one.results or one.settings or one.metrics or iri in shown or TASK.fullmatch(iri))

    def pairs(self, pattern: str) -> Iterator[tuple[str, str]]:
        """Yield (activity, entity) of the run's activities, by a pattern with `?a` and `?v`."""
        if self.scan:
            parts = [f'{pattern} FILTER(STRSTARTS(STR(?a), "{self.iri}/"))']
        else:  # each activity is looked up: a join with the sub-select would read the whole store
            parts = [f"{which} {pattern}" for which in run_uses.values("a", self.activities)]
        for part in parts:
            for row in self.reader.table(f"SELECT DISTINCT ?a ?v {{ {part} }}"):
                yield row[0], row[1]

    @cached_property
    def activities(self) -> list[str]:
        """The activities of the run."""
        return [row[0] for row in self.reader.table(f"SELECT ?a {{ {run_uses.of_run(self.run)} }}")]

    def _step(self, activity: str) -> Step:
        iri = self._name(activity)
        if iri not in self.steps:
            found = PROCESS.match(activity)
            self.steps[iri] = Step(iri, found[0] if found else self.iri)
        return self.steps[iri]

    def _name(self, activity: str) -> str:
        """Return the IRI of the step that an activity belongs to."""
        found = (TASK.match(activity) if self.tasks else None) or PROCESS.match(activity)
        return found[0] if found else self.iri

    def _use(self, step: Step, entity: str) -> None:
        if "/configuration/" in entity:
            step.settings[entity] = None
        elif "/image/" in entity:
            step.images[entity] = None
        elif RESULT.search(entity):
            step.received[entity] = None
        elif (name := self._data(entity)) and name not in step.results:
            step.inputs[name] = None

    def _made(self, step: Step, entity: str) -> None:
        if METRIC.search(entity):
            step.metrics[entity] = None
        elif RESULT.search(entity):
            step.returned[entity] = None
        elif name := self._data(entity):
            step.results[name] = None

    def _data(self, entity: str) -> str:
        """Return the IRI under which a crate has a file or other data; empty if the crate leaves it out."""
        whole, mark, inner = entity.partition("#")
        if not re.search(r"/provio/(version|pipe|socket|memory|entity)/|/entity/", whole):
            return ""
        name = CONTRIBUTION.sub("", whole)
        if mark and self.inside:
            name = f"{name}#{inner}"
        return name if self.data is None or name in self.data or entity in self.data else ""

    def _moved(self) -> None:
        """Count the bytes that each step read and wrote."""
        kinds = {activity: MOVED.get(local_name(kind)) for activity, kind in self.pairs("?a a ?v")}
        for activity, count in self.pairs("?a provio:bytes ?v"):  # a join with the class would take quadratic time
            if (word := kinds.get(activity)) and (one := self.steps.get(self._name(activity))):
                one.moved[word] = one.moved.get(word, 0) + int(count)

    def read_operations(self) -> None:
        """Add the I/O activities on the inputs and results of each step."""
        facts: dict[str, dict[str, str]] = {}
        found: dict[tuple[str, str], bool] = {}
        for words, writes in ((READS, False), (WRITES, True)):
            path = "|".join(f"provio:was{word}By" for word in words)
            found |= {(activity, CONTRIBUTION.sub("", file)): writes for activity, file in self.pairs(f"?v {path} ?a")}
        for which in run_uses.values("s", dict.fromkeys(activity for activity, _ in found)):
            facts |= _literals(self.reader, which)
        for (activity, file), writes in sorted(found.items()):
            one = self.steps.get(self._name(activity))
            data = (one.results if writes else one.inputs) if one else {}
            names = [file] if file in data else [name for name in data if name.startswith(f"{file}/")]  # of a pipe
            if one and names:
                known = facts.get(activity, {})
                if ENDED not in known and STARTED in known:  # of one call, the graph omits the end (docs/graph.md)
                    known[ENDED] = _later(known[STARTED], int(known.get("elapsed", 0)) if writes else 0)
                one.operations.append(Operation(activity, names[0], writes, known))


def _later(time: str, nanoseconds: int) -> str:
    """Return a time (xsd:dateTime in UTC) plus a duration."""
    return (datetime.fromisoformat(time) + timedelta(microseconds=nanoseconds / 1000)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _literals(reader: Reader, which: str) -> dict[str, dict[str, str]]:
    """Return the literals of nodes by IRI and the last word of their property."""
    found: dict[str, dict[str, str]] = {}
    for iri, word, value in reader.table(f"SELECT ?s ?p ?o {{ {which} ?s ?p ?o FILTER(isLiteral(?o)) }}"):
        found.setdefault(iri, {})[local_name(word)] = value
    return found


@dataclass(frozen=True)
class Setting:
    """A parameter: its IRI, the name of its configuration, its own name, its value and the type of the value."""

    iri: str
    configuration: str
    name: str
    value: str
    kind: str


KINDS = {"integer": "Integer", "double": "Float", "decimal": "Float", "float": "Float", "boolean": "Boolean"}


def settings(reader: Reader, configurations: Iterable[str]) -> dict[str, list[Setting]]:
    """Return the settings of configurations."""
    found: dict[str, list[Setting]] = {}
    for which in run_uses.values("g", configurations):
        query = f"""SELECT ?g ?s (COALESCE(?of, "") AS ?c) ?name ?value (DATATYPE(?value) AS ?kind) {{ {which}
            OPTIONAL {{ ?g provio:name ?of }} ?g prov:hadMember ?s . ?s provio:name ?name ; provio:value ?value }}
            ORDER BY ?g ?name"""
        for holder, iri, title, name, value, kind in reader.table(query):
            one = Setting(iri, title, name, value, KINDS.get(local_name(kind), "Text"))
            found.setdefault(holder, []).append(one)
    return found


def literals(reader: Reader, iris: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the literals of nodes by IRI and the last word of their property."""
    found: dict[str, dict[str, str]] = {}
    for which in run_uses.values("s", iris):
        found |= _literals(reader, which)
    return found
