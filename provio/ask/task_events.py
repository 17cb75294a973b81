"""The event files of a run, by Task. In: the id of a run, or its event files. Out: the worker, the result and the error
of each Task, and the transfers between workers."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from functools import cached_property

from provio.base import turtle
from provio.base.records import pattern
from provio.base.vocab import RUN_BASE
from provio.lineage.identity import SEALED
from provio.settings.home import Home
from provio.trace import events, read, run_source
from provio.trace.clusters import Clusters
from provio.trace.events import Dependencies, Event, EventFile, Fact, Restrictions, Result, Transfer

TASK = pattern(r"(?P<run>[^/]+)/(?P<host>[^/]+)/(?P<pid>[0-9]+)\.(?P<tick>[0-9]+)\.[0-9]+/t(?P<number>[0-9]+)/")
LISTED = frozenset({Fact, Result, Transfer})  # the events that a list of Tasks needs
CONDITIONS = frozenset({Dependencies, Restrictions})

Place = tuple[str, int, int]  # host, pid and start tick of a process


def files_of(
    home: Home,
    run: str,
    wanted: Container[type] = events.ALL,
    parts: Container[str] = events.PARTS,
    keep: Callable[[Event], bool] = lambda _: True,
) -> list[EventFile]:
    """Return the event files of a run, as `events.read` does; none if the files of the run were removed."""
    folders = (record / "runs" / run for record in home.records)
    folder = next(filter(run_source.exists, folders), home.runs / run)
    return events.read(folder, read.read_head(folder), [], wanted, parts, keep) if run_source.exists(folder) else []


def of_run(home: Home, run: str, whole: bool) -> TaskEvents:
    """Return the events of a run that a list of Tasks needs; unless `whole`, only those that name the workers."""
    if whole:
        return TaskEvents(files_of(home, run, LISTED | CONDITIONS, parts=("scheduler", "worker")))
    found = TaskEvents(files_of(home, run, LISTED, parts=()))
    if found.clusters.number > 1:
        return TaskEvents(files_of(home, run, LISTED, parts=("scheduler", "worker")))
    several = any(len(addresses) > 1 for addresses in found.workers.values())
    return TaskEvents(files_of(home, run, LISTED, parts=("worker",))) if several else found


def place_of(task: str) -> tuple[Place, int] | None:
    """Return the process of a Task and the Task's number in it, from the Task's IRI; None of an IRI of another form."""
    found = TASK.fullmatch(task.removeprefix(RUN_BASE))
    return ((found["host"], int(found["pid"]), int(found["tick"])), int(found["number"])) if found else None


def priority_text(priority: tuple[float, float, int]) -> str:
    """Return a priority as Dask prints it: minus that of the user, the generation, the place in the order."""
    return f"({priority[0] or 0:.12g}, {priority[1] or 0:.12g}, {priority[2]})"


class TaskEvents:
    """The event files of one run, by Task."""

    def __init__(self, files: Iterable[EventFile]) -> None:
        self.files = list(files)
        self.clusters = Clusters(self.files)
        self.numbers: dict[tuple[Place, str], int] = {}  # clusters of workers
        self.workers: dict[Place, list[str]] = {}
        self.results: dict[tuple[Place, int], tuple[str, Result]] = {}
        self.errors: dict[tuple[Place, int], tuple[str, Fact]] = {}
        for file in self.workers_files():
            place, address = (turtle.segment(file.host), file.pid, file.tick), file.address
            self.workers.setdefault(place, []).append(address)
            self.numbers[place, address] = self.clusters.of(file)
            for event in file.events:
                if isinstance(event, Result):
                    self.results[place, event.task] = address, event
                elif isinstance(event, Fact) and event.what == "error":
                    self.errors[place, int(event.facts.get("task") or 0)] = address, event

    @cached_property
    def conditions(self) -> dict[tuple[int, str], tuple[str | None, str | None]]:
        """The priority of each key, and its restrictions as JSON text, by cluster and key, as its latest graph states
        them."""
        found: dict[tuple[int, str], tuple[str | None, str | None]] = {}
        for file in self.files:
            cluster = self.clusters.of(file)
            for event in file.events:
                if isinstance(event, Dependencies) and event.priority:
                    found[cluster, event.key] = priority_text(event.priority), None
                elif isinstance(event, Restrictions):
                    place = cluster, event.key
                    found[place] = found.get(place, (None, None))[0], event.text
        return found

    def workers_files(self) -> Iterator[EventFile]:
        """Yield the files of workers."""
        return (file for file in self.files if file.part == "worker")

    def result(self, task: str) -> Result | None:
        """Return the result of a Task; None if it has none, or none is recorded."""
        place = place_of(task) if self.results else None
        return self.results[place][1] if place in self.results else None

    def error(self, task: str) -> Fact | None:
        """Return the error of a Task; None if it has none."""
        place = place_of(task)
        return self.errors[place][1] if place in self.errors else None

    def worker(self, task: str, kind: str | None) -> str:
        """Return the address of the worker that ran a Task; empty if no worker did, or it is unknown."""
        place = place_of(task)
        known = self.results.get(place) or self.errors.get(place) if place else None
        if known:
            return known[0]
        workers = self.workers.get(place[0], []) if place and kind in SEALED else []
        return workers[0] if len(workers) == 1 else ""

    def cluster(self, task: str, kind: str | None) -> int:
        """Return the number of the cluster that ran a Task, from 1; 0: unknown."""
        place = place_of(task)
        return self.numbers.get((place[0], self.worker(task, kind)), 0) if place else 0

    def transfers(self) -> Iterator[tuple[str, Transfer]]:
        """Yield each transfer once, as its receiver recorded it: the receiver's address, and the transfer."""
        for file in self.workers_files():
            address = file.address
            for event in file.events:
                if isinstance(event, Transfer):
                    yield address, event
