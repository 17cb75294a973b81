"""The events of a run of Dask in the layout of Dask-Mofka: one CSV file for each kind of event.

In: the event files of a run and its Tasks. Out: a folder with the file names and columns of the data that Dask-Mofka
published, which `wfmeta_dask` reads. Rows are sorted by time (s since 1970); a cell that provio cannot fill is empty.
"""

from __future__ import annotations

import csv
import shutil
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from provio.ask import key_prefix
from provio.ask.task_events import TaskEvents
from provio.ask.task_list import Row
from provio.base.errors import ProvioError
from provio.trace.events import Dependencies, Event, EventFile, Transfer, Transition

FILES = {
    "scheduler_transition": (
        "key", "thread", "worker", "prefix", "group", "start", "finish", "stimulus_id", "called_from", "begins", "ends",
        "duration", "size", "time",
    ),
    "worker_transition": ("key", "start", "finish", "called_from", "time"),
    "worker_transfer": (
        "start", "stop", "middle", "duration", "keys", "total", "bandwidth", "who", "type", "called_from", "time",
        "compressed",
    ),
    "client": ("client", "action", "time"),
    "worker": ("worker", "action", "stimulus_id", "time"),
    "graph": ("client", "keys", "dependencies", "time"),
}  # fmt: skip
SHORTEST = 0.001  # s; Dask counts a shorter transfer as this long
ENDINGS = {"memory": False, "erred": True}  # states after `processing` that a Task ends in, and whether it failed

Cells = dict[str, Any]


def write(folder: Path, files: Sequence[EventFile], tasks: Iterable[Row]) -> dict[str, int]:
    """Write the files into a new folder, and return the number of rows of each. Raises ProvioError if the folder exists
    or cannot be written; it is removed if not all files fit."""
    rows = _Rows(files, tasks)
    try:
        folder.mkdir()
    except OSError as error:
        raise _failure(folder, error) from error
    try:
        return {name: _write(folder / f"{name}.csv", columns, getattr(rows, name)()) for name, columns in FILES.items()}
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise _failure(folder, error) from error


def _failure(folder: Path, error: OSError) -> ProvioError:
    if isinstance(error, FileExistsError):
        return ProvioError(f"cannot write {folder}: it exists: name a folder that does not exist yet with -o")
    if isinstance(error, FileNotFoundError):
        return ProvioError(f"cannot write {folder}: there is no folder {folder.parent}: create it")
    return ProvioError(f"cannot write {folder} ({error.strerror}): name another folder with -o")


class _Lines:
    """Ends lines as pandas does. A `csv.writer` whose own lines end so would not quote a carriage return."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file

    def write(self, line: str) -> None:
        """Write one line."""
        self.file.write(line.removesuffix("\r\n") + "\n")


def _write(path: Path, columns: Sequence[str], rows: Iterable[Cells]) -> int:
    """Write a table with the number of each row in a first column without a name, and return the number of rows."""
    number = -1
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.writer(_Lines(file))
        writer.writerow(["", *columns])
        for number, cells in enumerate(rows):
            writer.writerow([number, *(cells.get(name) for name in columns)])
    return number + 1


class _Rows:
    """The rows of each file."""

    def __init__(self, files: Sequence[EventFile], tasks: Iterable[Row]) -> None:
        self.schedulers = [file for file in files if file.part == "scheduler"]
        self.workers = [file for file in files if file.part == "worker"]
        self.clients = [file for file in files if file.part == "client"]
        self.tasks: dict[tuple[int, str], list[Row]] = {}
        self.events = TaskEvents(files)
        for task in tasks:
            if task.start and task.end:
                self.tasks.setdefault((self.events.cluster(task.iri, task.kind), task.name), []).append(task)

    def scheduler_transition(self) -> Iterator[Cells]:
        """Yield the changes of the states of tasks in schedulers."""
        addresses = {id(file): _address(file) for file in self.schedulers}
        for at, file, event in _in_order(self.schedulers, Transition, lambda event: event.at):
            cells = {
                "key": event.key, "prefix": key_prefix.prefix(event.key), "group": key_prefix.group(event.key),
                "start": event.before, "finish": event.after, "stimulus_id": event.stimulus,
                "called_from": addresses[id(file)], "time": at,
            }  # fmt: skip
            yield cells | self._ended(event, self.events.clusters.of(file))

    def _ended(self, event: Transition, cluster: int) -> Cells:
        """Return the facts of the Task that ended with a transition: the last one of the key before it."""
        if event.before != "processing" or event.after not in ENDINGS:
            return {}
        known = self.tasks.get((cluster, event.key)) or self.tasks.get((0, event.key)) or []
        found = [task for task in known if task.failed == ENDINGS[event.after]]
        earlier = [task for task in found if _seconds(task.end) <= event.at]
        if not found:
            return {}
        task = earlier[-1] if earlier else found[0]
        begins, ends = _seconds(task.start), _seconds(task.end)
        worker = task.worker if "://" in task.worker else None
        return {"worker": worker, "begins": begins, "ends": ends, "duration": ends - begins, "size": task.result}

    def worker_transition(self) -> Iterator[Cells]:
        """Yield the changes of the states of tasks in workers."""
        addresses = {id(file): file.address for file in self.workers}
        for at, file, event in _in_order(self.workers, Transition, lambda event: event.at):
            from_ = addresses[id(file)]
            yield {"key": event.key, "start": event.before, "finish": event.after, "called_from": from_, "time": at}

    def worker_transfer(self) -> Iterator[Cells]:
        """Yield each transfer once, as its receiver recorded it: a transfer of many keys has several rows there."""
        whole: dict[tuple[int, str, float, float], tuple[str, int, dict[Any, int]]] = {}
        for _, file, event in _in_order(self.workers, Transfer, lambda event: event.stop):
            place = (id(file), event.sender, event.start, event.stop)
            address, total, keys = whole.get(place) or (file.address, 0, {})
            keys.update((_key(key), size) for key, size in event.keys)
            whole[place] = address, total + event.size, keys
        for (_, sender, start, stop), (address, total, keys) in whole.items():
            duration = max(SHORTEST, stop - start)
            yield {
                "start": start, "stop": stop, "middle": (start + stop) / 2, "duration": duration, "keys": repr(keys),
                "total": total, "bandwidth": total / duration, "who": sender, "type": "incoming_transfer",
                "called_from": address, "time": stop,
            }  # fmt: skip

    def client(self) -> Iterator[Cells]:
        """Yield the starts and ends of clients, as the scheduler states them; of other clients the start alone."""
        stated: list[Cells] = [
            {"client": fact.facts.get("client"), "action": fact.what.partition("-")[0], "time": fact.at}
            for file in self.schedulers
            for fact in file.facts("add-client", "remove-client")
        ]
        known = {cells["client"] for cells in stated}
        starts = ((fact.facts.get("id"), fact.at) for file in self.clients for fact in file.facts("client"))
        stated += [{"client": name, "action": "add", "time": at} for name, at in starts if name not in known]
        yield from sorted(stated, key=lambda cells: cells["time"])

    def worker(self) -> Iterator[Cells]:
        """Yield the starts and ends of workers, as the scheduler states them."""
        facts = [fact for file in self.schedulers for fact in file.facts("add-worker", "remove-worker")]
        for fact in sorted(facts, key=lambda fact: fact.at):
            stimulus = fact.facts.get("stimulus_id")
            action = fact.what.partition("-")[0]
            yield {"worker": fact.facts.get("worker"), "action": action, "stimulus_id": stimulus, "time": fact.at}

    def graph(self) -> Iterator[Cells]:
        """Yield the graphs, with the tasks that each task needs."""
        found = []
        for file in self.schedulers:
            needed: dict[str, dict[str, list[str]]] = {}
            for event in file.events:
                if isinstance(event, Dependencies):
                    needed.setdefault(event.stimulus, {}).setdefault(event.key, []).extend(event.keys)
            for fact in file.facts("graph"):
                keys = needed.get(str(fact.facts.get("stimulus_id")), {})
                found.append((fact.at, fact.facts.get("client"), keys))
        for at, client, keys in sorted(found, key=lambda one: one[0]):
            inner = ", ".join(f"{_key(key)!r}: {_set(some)}" for key, some in keys.items())
            yield {"client": client, "dependencies": f"{{{inner}}}", "time": at}


def _in_order(
    files: Iterable[EventFile], kind: type, time: Callable[[Any], float]
) -> list[tuple[float, EventFile, Any]]:
    """Return the events of a class with their times and files, in the order of time."""
    found: list[tuple[float, EventFile, Event]] = [
        (time(event), file, event) for file in files for event in file.events if isinstance(event, kind)
    ]
    return sorted(found, key=lambda one: one[0])


def _address(scheduler: EventFile) -> str:
    """Return the address of a scheduler; empty if no client sent it a graph."""
    return next((str(fact.facts.get("address") or "") for fact in scheduler.facts("graph")), "")


def _seconds(time: str | None) -> float:
    return datetime.fromisoformat(time or "").timestamp()


def _key(text: str) -> Any:
    """Return a key as the object that it is in Dask: a tuple if the text is that of a tuple."""
    if text.startswith("("):
        try:
            value = literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text
        if type(value) is tuple and repr(value) == text:
            return value
    return text


def _set(keys: Iterable[str]) -> str:
    """Return the text of a set of keys in Python."""
    inner = ", ".join(repr(_key(key)) for key in dict.fromkeys(keys))
    return f"{{{inner}}}" if inner else "set()"
