"""Follow the results of a framework's tasks: from the task that made a result to the tasks and clients that used it.

In: the graphs that the scheduler stated and the Tasks that workers ran. A task of a framework is sealed: its inputs are
the results that it depends on and the data that it used itself; data that its worker kept from earlier tasks are no
input (`provio lineage --via carried` shows it). A key may be run several times (retries, lost workers): a task uses the
latest result that its own process made, else the latest of its cluster, before it started. Each cluster of a run has
its own results of a key.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from provio.base.records import plain
from provio.interceptors.python.arguments import LONGEST, MOST_ITEMS
from provio.interceptors.python.events import GATHERED, digest
from provio.lineage.identity import SEALED
from provio.lineage.model import Conclusions, Input
from provio.trace.clusters import Clusters
from provio.trace.events import NOTHING, PARTS, Arguments, Dependencies, EventFile, Keys
from provio.trace.events import Result as Made
from provio.trace.facts import Process
from provio.trace.run_facts import Task, Trace

NANOSECONDS = 1_000_000_000
UNKNOWN_GRAPH = "its scheduler was not recorded: which results of other tasks its tasks used is not known"
UNKNOWN_MAKERS = "received results of tasks that were not recorded: their inputs are not known"
UNKNOWN_SENDERS = "received data through {places} of Dask: the inputs of these data are not known"
UNKNOWN_CLIENT = "a client that was not recorded submitted its tasks: the inputs of data from there are not known"
UNKNOWN_CLUSTER = "its cluster is not known: which results of other tasks its tasks used is not known"
DATA = frozenset("bytearray bytes memoryview".split())
ARRAYS = frozenset("numpy pandas pyarrow".split())  # a collection of their objects is data
NUMBERS = frozenset("bool complex float int".split())
CONTAINERS = frozenset("dict frozenset list set tuple".split())
# Modules whose objects in arguments are no data: settings, functions, types, names.
NO_DATA = frozenset(
    "collections dask datetime decimal distributed enum fsspec functools numpy operator pandas pathlib pyarrow re tlz "
    "toolz types uuid".split()
)

Key = tuple[int, bytes]  # a cluster, and the digest of a key in it


def is_sealed(task: Task) -> bool:
    """Return whether a Task is one of a framework whose results are followed."""
    return task.record.get("kind") in SEALED


@plain(slots=True)
class Result:
    """A result: its IRI, and the process (a Task's strand, or a client) that made it at a moment (ns since 1970). An
    `empty` one is `None`."""

    iri: str
    maker: Process
    at: int
    empty: bool = False


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
        if file.part in PARTS and (process := images.of(file)):
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
    graphs = _Graphs(trace)
    clusters = {task.iri: graphs.cluster(task) for task in sealed}
    results = _Results(trace, sealed, clusters, graphs.images, conclusions)
    places = [(file, process) for file in trace.events if (process := graphs.images.of(file))]
    moved = [
        (one, graphs.clusters.of(file), _actor(one.task, process, conclusions))
        for file, process in places
        if file.part == "client"
        for one in file.events
        if isinstance(one, Keys)
    ]
    for one, cluster, actor in moved:
        if one.role != GATHERED:
            results.scattered(one, cluster, actor)
    strange = _follow_graphs(sealed, clusters, results, graphs, conclusions)
    conclusions.gaps += [(f"{iri}client", iri, UNKNOWN_CLIENT) for iri in sorted(strange)]
    _follow_actors(sealed, clusters, results, conclusions)
    unknown = set()
    for one, cluster, actor in moved:
        for key in one.keys if one.role == GATHERED else ():
            if not results.gathered((cluster, key), actor, int(one.at * NANOSECONDS)):
                unknown.add(actor.iri)
    conclusions.gaps += [(f"{iri}results", iri, UNKNOWN_MAKERS) for iri in sorted(unknown)]
    if not any(file.part == "scheduler" for file in trace.events):
        workers = sorted({task.process.iri for task in sealed})
        conclusions.gaps += [(f"{iri}dependencies", iri, UNKNOWN_GRAPH) for iri in workers]
    elif not all(clusters.values()):
        workers = sorted({task.process.iri for task in sealed if not clusters[task.iri]})
        conclusions.gaps += [(f"{iri}dependencies", iri, UNKNOWN_CLUSTER) for iri in workers]
    conclusions.gaps += _received(places, conclusions)


def _follow_graphs(
    tasks: Iterable[Task], clusters: Mapping[str, int], results: _Results, graphs: _Graphs, conclusions: Conclusions
) -> set[str]:
    """Record which results each Task depends on, and where it was submitted. Return the processes of Tasks that clients
    which were not recorded submitted."""
    by_value, strange = graphs.by_value(), set[str]()
    for task in tasks:
        strand, cluster = conclusions.strands[task.iri].process, clusters[task.iri]
        stated = graphs.of(cluster, task.record.get("name", ""), task.started)
        for needed in stated.keys if stated else ():
            results.use((cluster, digest(needed)), strand, task.started)
        if stated and (cluster, stated.stimulus) in graphs.submitted:
            process, at = graphs.submitted[cluster, stated.stimulus]
            conclusions.submissions[strand.iri] = Submission(process, at, task.iri in by_value)
        elif stated and (cluster, stated.stimulus) in graphs.of_strangers:
            strange.add(task.process.iri)
    for process, at in graphs.submitted.values():  # later inputs of the client are no inputs of these tasks
        conclusions.task_starts.setdefault(process.iri, []).append(at)
    return strange


def _follow_actors(
    tasks: Iterable[Task], clusters: Mapping[str, int], results: _Results, conclusions: Conclusions
) -> None:
    """Tie each call of an actor to the call before it: the earlier calls left the state of the actor."""
    latest: dict[tuple[int, str], tuple[Process, int]] = {}
    for task in sorted(tasks, key=lambda task: task.started):
        name, dot, _ = task.record.get("name", "").rpartition(".")
        actor, strand = (clusters[task.iri], name), conclusions.strands[task.iri].process
        if not dot or strand.iri in conclusions.submissions:
            continue
        if not results.use((actor[0], digest(name)), strand, task.started):
            continue
        if actor in latest:
            conclusions.submissions[strand.iri] = Submission(*latest[actor], by_value=True)
        latest[actor] = strand, task.ended or strand.ended


def _received(places: Iterable[tuple[EventFile, Process]], conclusions: Conclusions) -> Iterator[tuple[str, str, str]]:
    """Yield a gap for each client, or Task that acted as one, that received data through queues or variables."""
    found: dict[str, dict[str, None]] = {}
    for file, process in places:
        for fact in file.facts("received"):
            task = fact.facts.get("task")
            actor = _actor(task if type(task) is int else 0, process, conclusions)
            found.setdefault(actor.iri, {})[f"the {fact.facts.get('place')} {fact.facts.get('name')!r}"] = None
    for iri, names in sorted(found.items()):
        shown = [*names][:3] + (["others"] if len(names) > 3 else [])
        yield f"{iri}received", iri, UNKNOWN_SENDERS.format(places=" and ".join(shown))


def _actor(task: int, process: Process, conclusions: Conclusions) -> Process:
    """Return the client's process, or the Task (by its number; 0: none) in which it acted."""
    return conclusions.acting(process, f"{process.iri}t{task}" if task else "")


class _Results:
    """All results by cluster and key, in the order in which they were made."""

    def __init__(
        self,
        trace: Trace,
        tasks: Iterable[Task],
        clusters: Mapping[str, int],
        images: Images,
        conclusions: Conclusions,
    ) -> None:
        self.out = conclusions
        self.made: dict[Key, list[Result]] = {}
        empty = {
            f"{process.iri}t{event.task}"
            for file in trace.events
            if file.part == "worker" and (process := images.of(file))
            for event in file.events
            if isinstance(event, Made) and event.type == NOTHING
        }
        for task in tasks:
            if task.ended and task.record.get("status") == "ok":
                strand, key = conclusions.strands[task.iri].process, digest(task.record.get("name", ""))
                result = Result(f"{strand.iri}result", strand, task.ended, task.iri in empty)
                self._add((clusters[task.iri], key), result)
        for found in self.made.values():
            found.sort(key=_moment)

    def _add(self, key: Key, result: Result) -> None:
        self.made.setdefault(key, []).append(result)

    def scattered(self, event: Keys, cluster: int, client: Process) -> None:
        """Add the data that a client sent to workers."""
        at = int(event.at * NANOSECONDS)
        for number, key in enumerate(event.keys):
            self._add((cluster, key), Result(f"{client.iri}scattered/{at}.{number}", client, at))

    def use(self, key: Key, user: Process, at: int) -> bool:
        """Record that a process used the result of a key at a moment; return whether there is one."""
        found = self._before(key, user, at)
        if found is not None:
            self._used(found, user, at)
        return found is not None

    def gathered(self, key: Key, client: Process, at: int) -> bool:
        """Do the same for a client, which has no data from an empty result: it only waited for the task."""
        found = self._before(key, client, at)
        if found is not None and not found.empty:
            self._used(found, client, at)
        return found is not None

    def _used(self, found: Result, user: Process, at: int) -> None:
        if found.iri not in self.out.results:
            self.out.results[found.iri] = found
            self.out.declared.made.append((found.maker.iri, found.at))
        self.out.inputs[user.iri].append(Input(user, found.iri, at, at))

    def _before(self, key: Key, user: Process, at: int) -> Result | None:
        made = self.made.get(key, ())
        earlier = made[: bisect_right(made, at, key=_moment)]
        own = (one for one in reversed(earlier) if (one.maker.host, one.maker.pid) == (user.host, user.pid))
        return next(own, None) or (earlier[-1] if earlier else None)


def _moment(result: Result) -> int:
    return result.at


class _Graphs:
    """The graphs that schedulers stated: dependencies by cluster and key, and where each graph was submitted."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.images, self.clusters = trace, Images(trace), Clusters(trace.events)
        self.stated: dict[tuple[int, str], list[tuple[int, Dependencies]]] = {}
        self.submitted: dict[tuple[int, str], tuple[Process, int]] = {}
        self.of_strangers: set[tuple[int, str]] = set()  # graphs of clients that were not recorded
        clients = {
            str(fact.facts.get("id")): process
            for file in trace.events
            for fact in file.facts("client")
            if (process := self.images.of(file))
        }
        for file in trace.events:
            cluster = self.clusters.of(file)
            self._add(file, cluster)
            for graph in file.facts("graph"):
                client = clients.get(str(graph.facts.get("client")))
                name = cluster, str(graph.facts.get("stimulus_id"))
                if client:
                    self.submitted[name] = client, int(graph.at * NANOSECONDS)
                else:
                    self.of_strangers.add(name)
        self.places = _places(trace, self.images, self.clusters)

    def _add(self, file: EventFile, cluster: int) -> None:
        """Add the dependencies of a file; a long list continues in the next event."""
        before: Dependencies | None = None
        for event in (one for one in file.events if isinstance(one, Dependencies)):
            known = self.stated.setdefault((cluster, event.key), [])
            if before is not None and (event.key, event.stimulus) == (before.key, before.stimulus):
                before = before._replace(keys=before.keys + event.keys)
                known[-1] = (known[-1][0], before)
            else:
                before = event
                known.append((_time_of(event.stimulus), event))

    def cluster(self, task: Task) -> int:
        """Return the cluster of a Task: that of its worker; of a process of a pool the only one that has the key."""
        if self.clusters.number < 2:
            return self.clusters.number
        place = self.places.get(task.iri) or self.places.get(task.process.iri)
        if place:
            return place
        stated = [
            one for one in range(1, self.clusters.number + 1) if (one, task.record.get("name", "")) in self.stated
        ]
        return stated[0] if len(stated) == 1 else 0

    def of(self, cluster: int, key: str, moment: int) -> Dependencies | None:
        """Return the statement of a scheduler about a key, the latest before a moment (ns since 1970)."""
        known = self.stated.get((cluster, key), ())
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


def _places(trace: Trace, images: Images, clusters: Clusters) -> dict[str, int]:
    """Return the clusters of Tasks, and of processes with workers of one cluster."""
    found: dict[str, int] = {}
    for file in trace.events if clusters.number > 1 else ():
        process = images.of(file) if file.part == "worker" else None
        if process:
            cluster = clusters.of(file)
            found[process.iri] = cluster if found.get(process.iri, cluster) == cluster else 0
            of_tasks = (event for event in file.events if isinstance(event, Arguments | Made))
            found.update((f"{process.iri}t{event.task}", cluster) for event in of_tasks)
    return found


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
