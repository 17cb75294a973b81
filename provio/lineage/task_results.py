"""Follow the results of a framework's tasks: from the task that made a result to the tasks and clients that used it.

In: the graphs that the scheduler stated and the Tasks that workers ran. A task of a framework is sealed: its inputs are
the results that it depends on and the data that it used itself; data that its worker kept from earlier tasks are no
input (`provio lineage --via carried` shows it). A key may be run several times (retries, lost workers): a task uses the
latest result that its own process made, else the latest of all, before it started.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, NamedTuple

from provio.base.records import plain
from provio.interceptors.python.arguments import LONGEST, MOST_ITEMS
from provio.interceptors.python.events import GATHERED, digest
from provio.lineage.identity import SEALED
from provio.lineage.model import Conclusions, Input
from provio.trace.events import Arguments, Dependencies, EventFile, Keys
from provio.trace.facts import Process
from provio.trace.run_facts import Task, Trace

NANOSECONDS = 1_000_000_000
UNKNOWN_GRAPH = "its scheduler was not recorded: which results of other tasks its tasks used is not known"
UNKNOWN_MAKERS = "received results of tasks that were not recorded: their inputs are not known"
DATA = frozenset("bytearray bytes memoryview".split())
ARRAYS = frozenset("numpy pandas pyarrow".split())  # a collection of their objects is data
NUMBERS = frozenset("bool complex float int".split())
CONTAINERS = frozenset("dict frozenset list set tuple".split())
# Modules whose objects in arguments are no data: settings, functions, types, names.
NO_DATA = frozenset(
    "collections dask datetime decimal distributed enum fsspec functools numpy operator pandas pathlib pyarrow re tlz "
    "toolz types uuid".split()
)


def is_sealed(task: Task) -> bool:
    """Return whether a Task is one of a framework whose results are followed."""
    return task.record.get("kind") in SEALED


@plain(slots=True)
class Result:
    """A result: its IRI, and the process (a Task's strand, or a client) that made it at a moment (ns since 1970)."""

    iri: str
    maker: Process
    at: int


class Submission(NamedTuple):
    """Where a task's graph was submitted; `by_value`: the graph contained data of that process. Of a call of an actor:
    the call before it, whose data it has."""

    process: Process
    at: int
    by_value: bool


def parts(trace: Trace) -> dict[str, set[str]]:
    """Return the parts of parallel frameworks (`client`, `scheduler`, `worker`, `nanny`) in each process that has
    any."""
    images, found = Images(trace), dict[str, set[str]]()
    for file in trace.events:
        if process := images.of(file):
            found.setdefault(process.iri, set()).add(file.part)
    return found


def addresses(trace: Trace) -> set[str]:
    """Return the addresses (host:port) at which schedulers and workers listen."""
    facts = (fact for file in trace.events for fact in file.facts("worker", "graph"))
    return {str(fact.facts.get("address") or "").rpartition("//")[2] for fact in facts} - {""}


class Images:
    """Finds the process images that wrote event files."""

    def __init__(self, trace: Trace) -> None:
        self.known: dict[tuple[str, int, int], list[Process]] = {}
        for one in trace.processes.values() if trace.events else ():
            if one.image != "task":
                self.known.setdefault((one.host, one.pid, one.tick), []).append(one)

    def of(self, file: EventFile) -> Process | None:
        """Return the process image that wrote an event file; None if it is not in the trace."""
        at = next((one.at for one in file.facts(file.part)), 0.0) * NANOSECONDS if file.part else 0
        images = self.known.get((file.host, file.pid, file.tick), ())
        return max((one for one in images if one.started <= at), key=_started, default=None)


def follow(trace: Trace, conclusions: Conclusions) -> None:
    """Record which Tasks and clients used which results, and where each Task was submitted."""
    if not trace.events:
        return
    sealed = [task for task in trace.tasks.values() if is_sealed(task) and task.iri in conclusions.strands]
    results, graphs = _Results(sealed, conclusions), _Graphs(trace)
    moved = [
        (one, _actor(one, process, conclusions))
        for file in trace.events
        if file.part == "client" and (process := graphs.images.of(file))
        for one in file.events
        if isinstance(one, Keys)
    ]
    for one, actor in moved:
        if one.role != GATHERED:
            results.scattered(one, actor)
    _follow_graphs(sealed, results, graphs, conclusions)
    _follow_actors(sealed, results, conclusions)
    unknown = set()
    for one, actor in moved:
        for key in one.keys if one.role == GATHERED else ():
            if not results.use(key, actor, int(one.at * NANOSECONDS)):
                unknown.add(actor.iri)
    conclusions.gaps += [(f"{iri}results", iri, UNKNOWN_MAKERS) for iri in sorted(unknown)]
    if not any(file.part == "scheduler" for file in trace.events):
        workers = sorted({task.process.iri for task in sealed})
        conclusions.gaps += [(f"{iri}dependencies", iri, UNKNOWN_GRAPH) for iri in workers]


def _follow_graphs(tasks: Iterable[Task], results: _Results, graphs: _Graphs, conclusions: Conclusions) -> None:
    """Record which results each Task depends on, and where it was submitted."""
    by_value = graphs.by_value()
    for task in tasks:
        strand = conclusions.strands[task.iri].process
        stated = graphs.of(task.record.get("name", ""), task.started)
        for needed in stated.keys if stated else ():
            results.use(digest(needed), strand, task.started)
        if stated and stated.stimulus in graphs.submitted:
            process, at = graphs.submitted[stated.stimulus]
            conclusions.submissions[strand.iri] = Submission(process, at, task.iri in by_value)
    for process, at in graphs.submitted.values():  # later inputs of the client are no inputs of these tasks
        conclusions.task_starts.setdefault(process.iri, []).append(at)


def _follow_actors(tasks: Iterable[Task], results: _Results, conclusions: Conclusions) -> None:
    """Tie each call of an actor to the call before it: the earlier calls left the state of the actor."""
    latest: dict[str, tuple[Process, int]] = {}
    for task in sorted(tasks, key=lambda task: task.started):
        actor, dot, _ = task.record.get("name", "").rpartition(".")
        strand = conclusions.strands[task.iri].process
        if not dot or strand.iri in conclusions.submissions or not results.use(digest(actor), strand, task.started):
            continue
        if actor in latest:
            conclusions.submissions[strand.iri] = Submission(*latest[actor], by_value=True)
        latest[actor] = strand, task.ended or strand.ended


def _actor(event: Keys, process: Process, conclusions: Conclusions) -> Process:
    """Return the client's process, or the Task in which it acted."""
    return conclusions.acting(process, f"{process.iri}t{event.task}" if event.task else "")


class _Results:
    """All results by key, in the order in which they were made."""

    def __init__(self, tasks: Iterable[Task], conclusions: Conclusions) -> None:
        self.out = conclusions
        self.made: dict[bytes, list[Result]] = {}  # by the digest of the key
        for task in tasks:
            if task.ended and task.record.get("status") == "ok":
                strand = conclusions.strands[task.iri].process
                self._add(digest(task.record.get("name", "")), Result(f"{strand.iri}result", strand, task.ended))
        for found in self.made.values():
            found.sort(key=_moment)

    def _add(self, key: bytes, result: Result) -> None:
        self.made.setdefault(key, []).append(result)

    def scattered(self, event: Keys, client: Process) -> None:
        """Add the data that a client sent to workers."""
        at = int(event.at * NANOSECONDS)
        for number, key in enumerate(event.keys):
            self._add(key, Result(f"{client.iri}scattered/{at}.{number}", client, at))

    def use(self, key: bytes, user: Process, at: int) -> bool:
        """Record that a process used the result of a key at a moment; return whether there is one."""
        found = self._before(key, user, at)
        if found is None:
            return False
        if found.iri not in self.out.results:
            self.out.results[found.iri] = found
            self.out.declared.made.append((found.maker.iri, found.at))
        self.out.inputs[user.iri].append(Input(user, found.iri, at, at))
        return True

    def _before(self, key: bytes, user: Process, at: int) -> Result | None:
        made = self.made.get(key, ())
        earlier = made[: bisect_right(made, at, key=_moment)]
        own = (one for one in reversed(earlier) if (one.maker.host, one.maker.pid) == (user.host, user.pid))
        return next(own, None) or (earlier[-1] if earlier else None)


def _moment(result: Result) -> int:
    return result.at


class _Graphs:
    """The graphs that schedulers stated: dependencies by key, and where each graph was submitted."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.images = trace, Images(trace)
        self.stated: dict[str, list[tuple[int, Dependencies]]] = {}
        self.submitted: dict[str, tuple[Process, int]] = {}
        clients = {
            str(fact.facts.get("id")): process
            for file in trace.events
            for fact in file.facts("client")
            if (process := self.images.of(file))
        }
        for file in trace.events:
            self._add(file)
            for graph in file.facts("graph"):
                client = clients.get(str(graph.facts.get("client")))
                if client:
                    at = int(graph.at * NANOSECONDS)
                    self.submitted[str(graph.facts.get("stimulus_id"))] = (client, at)

    def _add(self, file: EventFile) -> None:
        """Add the dependencies of a file; a long list continues in the next event."""
        before: Dependencies | None = None
        for event in (one for one in file.events if isinstance(one, Dependencies)):
            known = self.stated.setdefault(event.key, [])
            if before is not None and (event.key, event.stimulus) == (before.key, before.stimulus):
                before = before._replace(keys=before.keys + event.keys)
                known[-1] = (known[-1][0], before)
            else:
                before = event
                known.append((_time_of(event.stimulus), event))

    def of(self, key: str, moment: int) -> Dependencies | None:
        """Return the statement of the scheduler about a key, the latest before a moment (ns since 1970)."""
        known = self.stated.get(key, ())
        return next((one for at, one in reversed(known) if at <= moment), known[0][1] if known else None)

    def by_value(self) -> set[str]:
        """Return the Tasks whose arguments contain data, and not only short values and other tasks' results."""
        return {
            f"{process.iri}t{event.task}"
            for file in self.trace.events
            if (process := self.images.of(file))
            for event in file.events
            if isinstance(event, Arguments) and '"type"' in event.text and _has_data(event.text)
        }


def _started(process: Process) -> int:
    return process.started


def _time_of(stimulus: str) -> int:
    try:
        return int(float(stimulus.rpartition("-")[2]) * NANOSECONDS)
    except (ValueError, OverflowError):
        return 0


def _has_data(text: str) -> bool:
    """Return whether a description of arguments has a value that may be data: an array, a long text, a collection of
    numbers, arrays or collections, or an object of a class that is not one of `NO_DATA`."""
    try:
        _, *waiting = json.loads(text)
    except ValueError:
        return False
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            kind = one.get("type")
            if not isinstance(kind, str):
                waiting += [] if "task" in one or "function" in one else one.values()
            elif _is_data(kind, one):
                return True
    return False


def _is_data(kind: str, facts: dict[str, Any]) -> bool:
    """Return whether a value of this type may be data; `facts` are its other facts."""
    module, items = kind.partition(".")[0], str(facts.get("of", ""))
    if "of" in facts:
        if items in CONTAINERS:
            return kind == "dict" or int(facts.get("size", 0)) > MOST_ITEMS
        return items in DATA | NUMBERS or ("." in items and items.partition(".")[0] not in NO_DATA - ARRAYS)
    if kind == "str":
        return int(facts.get("size", 0)) > LONGEST
    return kind in DATA or bool(facts.get("shape")) or ("." in kind and "shape" not in facts and module not in NO_DATA)
