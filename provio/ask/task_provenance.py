"""The history of one task of Dask. In: the Task and the event files of its run. Out: facts as rows of `provio show`.

Its graph and client, the tasks that it depends on and that depend on it, its attempts, its states in the scheduler and
the workers with times and places, its result and where that was sent, its arguments, error and I/O records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any

from provio.ask import key_prefix
from provio.ask.task_events import files_of, of_run, place_of, priority_text
from provio.base.text import elapsed, plural, size
from provio.base.turtle import literal, segment
from provio.base.vocab import RUN_BASE
from provio.interceptors.python.events import GATHERED, digest
from provio.settings import home as homes
from provio.settings.home import Home
from provio.store import Reader
from provio.trace.clusters import Clusters
from provio.trace.events import (
    Arguments,
    Dependencies,
    Event,
    EventFile,
    Fact,
    Keys,
    Restrictions,
    Result,
    Submitted,
    Transfer,
    Transition,
)

Row = tuple[str, str, int | None]
BATCH = 500  # names in one query
NAMED = """SELECT ?t ?name ?status ?start ?end {{ VALUES ?name {{ {names} }} ?t provio:name ?name ; a provio:Task .
    FILTER(STRSTARTS(STR(?t), "{run}/")) OPTIONAL {{ ?t provio:status ?status }}
    OPTIONAL {{ ?t prov:startedAtTime ?start }} OPTIONAL {{ ?t prov:endedAtTime ?end }} }} ORDER BY ?start ?t"""
CALLS = """SELECT ?did ?path ?api ?count ?size ?first ?last {{ ?part provio:partOf <{task}> . ?io provio:partOf ?part ;
    a ?kind . FILTER(?kind IN (provio:Read, provio:Write)) BIND(IF(?kind = provio:Read, "read", "wrote") AS ?did)
    ?version provio:wasReadBy|provio:wasWrittenBy ?io ; prov:specializationOf/provio:path ?path .
    FILTER NOT EXISTS {{ ?part provio:usedAsNoise ?version }} OPTIONAL {{ ?io provio:api ?api }}
    OPTIONAL {{ ?io provio:count ?count }} OPTIONAL {{ ?io provio:bytes ?size }}
    OPTIONAL {{ ?io prov:startedAtTime ?first }} OPTIONAL {{ ?io prov:endedAtTime ?last }} }}
    ORDER BY ?first ?path ?did ?api"""


class _History:
    """The events of one key in the files of its run."""

    def __init__(self, reader: Reader, task: str, key: str, home: Home) -> None:
        self.reader, self.task, self.key = reader, task, key
        self.run = task.removeprefix(RUN_BASE).partition("/")[0]
        self.workers = of_run(home, self.run, whole=False)
        self.cluster = self.workers.cluster(task, "dask")
        self.attempts = self.tasks([key]).get(key, [])
        self.numbers = {place[1] for iri, _ in self.attempts if (place := place_of(iri))}
        self.digest = digest(key)
        files = files_of(home, self.run, keep=self.concerns)
        clusters = Clusters(files)
        self.files = [file for file in files if self.cluster in (0, clusters.of(file))]

    def concerns(self, event: Event) -> bool:
        """Return whether an event is about the key, or one of the few of the whole run."""
        if isinstance(event, Transition | Restrictions):
            return event.key == self.key
        if isinstance(event, Dependencies):
            return event.key == self.key or self.key in event.keys
        if isinstance(event, Transfer):
            return any(key == self.key for key, _ in event.keys)
        if isinstance(event, Keys):
            return self.digest in event.keys
        return event.task in self.numbers if isinstance(event, Result | Arguments) else True

    def tasks(self, keys: Sequence[str]) -> dict[str, list[tuple[str, dict[str, str]]]]:
        """Return the Tasks of each key in this cluster, oldest first: their IRIs and facts."""
        found: dict[str, list[tuple[str, dict[str, str]]]] = {}
        for first in range(0, len(keys), BATCH):
            names = " ".join(map(literal, keys[first : first + BATCH]))
            for row in self.reader.rows(NAMED.format(names=names, run=RUN_BASE + self.run)):
                cluster = self.workers.cluster(row["t"], "dask")
                if cluster == self.cluster or 0 in (cluster, self.cluster):
                    found.setdefault(row["name"], []).append((row["t"], row))
        return found

    def of_part(self, part: str) -> list[EventFile]:
        """Return the event files of one part of Dask, such as `worker`."""
        return [file for file in self.files if file.part == part]

    def own(self) -> Iterator[tuple[EventFile, Event]]:
        """Yield the events of the Task itself, with their files."""
        place = place_of(self.task)
        for file in self.files:
            for event in file.events:
                number = event.facts.get("task") if isinstance(event, Fact) else getattr(event, "task", None)
                of_process = (segment(file.host), file.pid, file.tick)
                if file.part == "worker" and place == (of_process, number):
                    yield file, event


def facts(reader: Reader, task: str, key: str, home: Home | None = None) -> list[Row]:
    """Return the history of a Task of Dask by its key, as rows of the table `show`."""
    one = _History(reader, task, key, home or homes.find())
    found: list[Row] = [("prefix", key_prefix.prefix(key), None)]
    for part in (_graph, _conditions, _relatives, _attempts, _states, _results, _ending, _calls):
        found += part(one)
    return found


def _graph(one: _History) -> Iterator[Row]:
    """Yield the graph with which the key was submitted: its number in the run, stimulus, client and size."""
    for file in one.of_part("scheduler"):
        graphs = {str(fact.facts.get("stimulus_id")): fact for fact in file.facts("graph")}
        stated = [event for event in file.events if isinstance(event, Dependencies) and event.key == one.key]
        for stimulus in dict.fromkeys(event.stimulus for event in stated):
            if stimulus in graphs:
                facts, number = graphs[stimulus].facts, [*graphs].index(stimulus) + 1
                within = facts.get("submitting_task")
                more = f", in task {within}" if within else f", {facts['client']}" if facts.get("client") else ""
                yield "graph", f"{number} of {len(graphs)}, {stimulus}{more}", None
                if place := _place(one, list(graphs.values()), graphs[stimulus]):
                    path, _, function = place.rpartition(" ")
                    yield "code", f"submitted at {path}, in {function}", None


def _place(one: _History, graphs: Sequence[Fact], graph: Fact) -> str:
    """Return the place in the program that submitted a graph; empty if it is unknown. The places of a client are in the
    order of its graphs."""
    client = graph.facts.get("client")
    number = [fact for fact in graphs if fact.facts.get("client") == client].index(graph)
    for file in one.of_part("client"):
        if any(fact.facts.get("id") == client for fact in file.facts("client")):
            places = [event.place for event in file.events if isinstance(event, Submitted)]
            return places[number] if number < len(places) else ""
    return ""


def _conditions(one: _History) -> Iterator[Row]:
    """Yield the priority of the key, where it may run, and its other annotations, as its latest graph states them."""
    stated = [event for file in one.of_part("scheduler") for event in file.events]
    levels = [event.priority for event in stated if isinstance(event, Dependencies) and event.key == one.key]
    if levels and levels[-1]:
        yield "priority", priority_text(levels[-1]), None
    texts = [event.text for event in stated if isinstance(event, Restrictions)]
    for name, value in _named(texts[-1]).items() if texts else ():
        items = value if isinstance(value, list) else [value]
        words = ", ".join(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in items)
        yield "restriction", f"{name.replace('_', ' ')}: {words}", None


def _named(text: str) -> dict[str, Any]:
    """Return the values of a JSON text; none of a damaged one."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _relatives(one: _History) -> Iterator[Row]:
    """Yield the tasks that the key depends on, and those that depend on it, with status, worker and result."""
    stated = [event for file in one.of_part("scheduler") for event in file.events if isinstance(event, Dependencies)]
    needed = dict.fromkeys(key for event in stated if event.key == one.key for key in event.keys)
    dependents = dict.fromkeys(event.key for event in stated if event.key != one.key)
    known = one.tasks([*needed, *dependents])
    for what, keys in (("dependency", needed), ("dependent", dependents)):
        for key in keys:
            iri, row = known[key][-1] if key in known else ("", {"status": "no task: data, or not run"})
            worker = one.workers.worker(iri, "dask") if iri else ""
            yield what, f"{key}  {row.get('status', 'ok')}{f'  {worker}' if worker else ''}", None


def _attempts(one: _History) -> Iterator[Row]:
    """Yield the Tasks of the key, if there are several."""
    for iri, row in one.attempts if len(one.attempts) > 1 else ():
        took = f", {_between(row['start'], row['end'])}" if "start" in row and "end" in row else ""
        worker = one.workers.worker(iri, "dask")
        this = "  (this one)" if iri == one.task else ""
        yield "attempt", f"{_clock(row.get('start', ''))}{took}, {row.get('status', 'ok')}  {worker}{this}", None


def _states(one: _History) -> Iterator[Row]:
    """Yield the states of the key, with the time in each, in the scheduler and then in each worker."""
    for file in (*one.of_part("scheduler"), *one.of_part("worker")):
        moves = [event for event in file.events if isinstance(event, Transition)]
        place = file.address or f"scheduler {file.pid}@{file.host}"
        for now, following in zip_longest(moves, moves[1:]):
            lasted = elapsed((following.at - now.at) * 1e9) if following else ""
            yield "state", f"{_time(now.at)}  {now.after:10} {lasted:>10}  {place}  {now.stimulus}".rstrip(), None


def _results(one: _History) -> Iterator[Row]:
    """Yield the place, type and size of the result, and each receiver of it."""
    for file, event in one.own():
        if isinstance(event, Result):
            known = event.size if event.size >= 0 else None
            yield "result", f"{event.type}{f', {size(known)}' if known is not None else ''}  {file.address}", known
    for file in one.files:
        for event in file.events:
            if isinstance(event, Transfer):
                moved = sum(part for key, part in event.keys if key == one.key)
                took = elapsed((event.stop - event.start) * 1e9)
                text = f"{file.address}  {_time(event.start)}, {took}, {size(max(moved, 0))} from {event.sender}"
                yield "transfer", text, moved
            elif isinstance(event, Keys) and event.role == GATHERED:
                yield "transfer", f"client {file.pid}@{file.host}  {_time(event.at)}, gathered", None


def _ending(one: _History) -> Iterator[Row]:
    """Yield the arguments, and the exception with its traceback."""
    for _, event in one.own():
        if isinstance(event, Arguments):
            yield "arguments", event.text, None
        elif isinstance(event, Fact) and event.what == "error":
            yield "exception", str(event.facts.get("exception") or "not recorded"), None
            for line in str(event.facts.get("traceback") or "").rstrip().splitlines():
                yield "traceback", line, None


def _calls(one: _History) -> Iterator[Row]:
    """Yield the I/O records of the Task: those of one file and function are one record, unless calls are recorded."""
    rows = list(one.reader.rows(CALLS.format(task=one.task)))
    for row in rows:
        calls = f"{plural(int(row.get('count', 1)), 'call')} of {row.get('api', '?')}"
        first, last = _clock(row.get("first", "")), _clock(row.get("last", row.get("first", "")))
        moved = int(row.get("size", 0))
        yield "io", f"{row['did']} {row['path']}: {calls}, {size(moved)}, {first} to {last}", moved
    detail = next(iter(one.reader.rows(f"SELECT ?d {{ <{RUN_BASE}{one.run}> provio:detail ?d }}")), {}).get("d", "")
    if rows and detail.split(",")[0] != "call":
        yield "io", "offsets and single calls are not recorded: record them with provio run --detail call", None


def _time(moment: float) -> str:
    """Return a moment (s since 1970) as the time of the day in UTC, to the microsecond."""
    return f"{datetime.fromtimestamp(moment, UTC):%H:%M:%S.%f}"


def _clock(moment: str) -> str:
    return _time(datetime.fromisoformat(moment).timestamp()) if moment else "unknown"


def _between(start: str, end: str) -> str:
    took = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return elapsed(took.total_seconds() * 1e9)
