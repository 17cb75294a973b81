"""The events of one run: the new records of its files in, events in the order of time out.

    {"time": …, "type": "run|process|task|file|metric|checkpoint", "run": …, "subject": IRI, "data": {…}}

A file has its event when it is closed, or when its process has ended (docs/live.md). Only open or unfinished
openings, Tasks and processes are kept in memory. So the memory does not grow with the number of events.
"""

from __future__ import annotations

import contextlib
import math
import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_from_bytes

from provio.base import turtle
from provio.base.records import field, plain
from provio.base.turtle import PATH_SAFE, instant_text
from provio.follow.run_rows import Image, RunRows
from provio.follow.thread_tail import Row, ThreadTail
from provio.lineage.code import Noise
from provio.lineage.identity import Identity
from provio.system.statx import Facts, Record
from provio.trace import environment, liveness, redact, run_source
from provio.trace.decode import decode_argv, path_of
from provio.trace.openings import OPENING, Malformed, closed_access
from provio.trace.processes import parent_of, process_at
from provio.trace.read import start_trace
from provio.trace.read_declarations import metric_of
from provio.trace.values import Value

if TYPE_CHECKING:
    from provio.settings.schema import Config
    from provio.trace.facts import Process

Event = dict[str, Any]
Keyed = tuple[str, Event]  # with the key that distinguishes it within its run; empty: the place of its record
Counters = tuple[ThreadTail, int, int]  # the file and place of a line of counters, and the epoch of its thread
COUNTED = "reads readBytes writes writeBytes closed firstRead lastRead firstWrite lastWrite".split()
LAYERS = ("H5", "MPI_")  # functions that open a file for a library above the C library
ACCESS = ("read", "write", "read and write", "read and write")  # by O_ACCMODE
NUMBERS = ("integer", "double", "decimal", "boolean")
HERE = turtle.segment(environment.host())


@plain(slots=True)
class _Opening:
    """An open file. `counters` are the lines that count its reads and writes, if they belong to it alone."""

    iri: str
    path: bytes
    facts: Facts
    flags: int
    opened: int
    task: str
    counters: list[Counters] = field(default_factory=list)

    @property
    def writable(self) -> bool:
        return bool(self.flags & os.O_ACCMODE)


@plain(slots=True)
class _Sum:
    """The bytes read and written by an opening; when it was closed and last used (ns since 1970)."""

    read: int = 0
    written: int = 0
    closed: int = 0
    last: int = 0

    def add(self, counts: Record, epoch: int) -> None:
        """Add the counters of a thread."""
        number = {name: int(counts.get(name, 0)) for name in COUNTED}
        self.read, self.written = self.read + number["readBytes"], self.written + number["writeBytes"]
        moments = [epoch + number[name] for name in COUNTED[4:] if number[name]]
        self.last = max([self.last, *moments])
        self.closed = max(self.closed, epoch + number["closed"] if number["closed"] else 0)


@plain(slots=True)
class _Task:
    """A Task that has started."""

    record: Record
    process: str


class RunEvents:
    """The events of the run in a folder that are not yielded yet."""

    def __init__(self, folder: Path, settings: Config) -> None:
        self.folder, self.settings = folder, settings
        self.redaction = redact.Redaction(settings.redact_add, settings.redact_keep)
        self.trace = self._head()
        self.run = self.trace.run_id
        self.rows = RunRows(folder, self.trace.run)
        self.identity, self.noise = Identity(self.trace), Noise(self.trace, settings)
        self.living: dict[Image, list[Process]] = {}
        self.command: Image | None = None  # the first process of the run's host: only provio waits for it
        self.last = 0  # the time of the last event
        self.exits: dict[Image, tuple[int, str]] = {}  # of those that were waited for and have unread records
        self.openings: dict[str, _Opening] = {}
        self.shared: dict[str, list[Counters]] = {}  # by process: lines of counters that openings use in turn
        self.tasks: dict[str, _Task] = {}
        self.started = self.ended = False
        self.makers: dict[str, Callable[[Row], Iterator[Keyed]]] = {
            "Process": self._process, "Task": self._task, "Metric": self._metric, "Checkpoint": self._checkpoint,
            "ChildEnd": self._child,
        }  # fmt: skip

    def _head(self) -> Any:
        trace, _ = start_trace(run_source.of(self.folder))
        redact.trace(trace, self.redaction)
        return trace

    def poll(self) -> Iterator[Keyed]:
        """Yield the events since the last call, each with a key: the file and place of its record
        (`FILE:PLACE`), or, if it may be found in another way, its state and subject (`end IRI`)."""
        going = liveness.seems_in_progress(self.folder, self.trace.run)
        if not self.started:
            self.started = True
            yield "start run", self._of_run("started", "startedNs")
        others = [one for one in self.living if one != self.command]  # the command ends with the run
        dead = [one for one in others if one in self.exits or (one[0] == HERE and not _alive(one))]
        for tail, row in self.rows:
            name = f"{tail.path.parent.name}/{tail.path.name}"
            if row.iri.startswith(f"{self.trace.iri}/{tail.path.parent.name}/"):
                yield from ((key or f"{name}:{row.place}", event) for key, event in self._of_row(tail, row))
        yield from self._closed_in_place()
        if going or self.ended:
            for image in dead:
                yield from self._exit(image)
        else:
            self.ended, self.trace.run = True, self._head().run
            ended, state = int(self.trace.run.get("endedNs", 0)), _state(self.trace.run)
            for image in list(self.living):  # no process waited for it: it ended with the run at the latest
                self.exits.setdefault(image, (ended, state if image == self.command else ""))
                yield from self._exit(image)
            yield "end run", self._of_run("ended", "endedNs")

    def _of_row(self, tail: ThreadTail, row: Row) -> Iterator[Keyed]:
        record, kind = row.record, row.record.get("a", "")
        if "opening" in record or "openedNs" in record:
            self._open(row)
        elif "ofOpening" in record:
            self.shared.setdefault(parent_of(row.base), []).append((tail, row.place, row.epoch))
        elif "closing" in record or "closedNs" in record:
            yield from (("", event) for event in self._close(row))
        elif kind == "Access":
            opening = self.openings.get(record.get("object", ""))
            if opening:
                opening.counters.append((tail, row.place, row.epoch))
        else:
            kind = kind or ("Process" if "image" in record else "Task" if "endedNs" in record else "")
            yield from self.makers[kind](row) if kind in self.makers else ()

    # Processes.

    def _process(self, row: Row) -> Iterator[Keyed]:
        process = process_at(self.trace, row.iri)
        if process is None or process.record:
            return
        process.record = row.record
        if "argv" in process.record:
            process.record["argv"] = self.redaction.command_line(process.record["argv"])
        self.noise = Noise(self.trace, self.settings)  # it has one more command line
        image = process.host, process.pid, process.tick
        images = self.living.setdefault(image, [])
        host = None if "unattended" in self.trace.run else turtle.segment(self.trace.run.get("host", ""))
        if self.command is None and process.host == host:
            self.command = image
        if process.image == "exec":
            for earlier in images:
                yield from self._end(earlier, process.started, "exec")
            images.clear()
        images.append(process)
        yield "", self._of_process(process, "started", process.started)

    def _child(self, row: Row) -> Iterator[Keyed]:
        """Yield the end of a process that its parent waited for."""
        record, host = row.record, row.iri.removeprefix(f"{self.trace.iri}/").partition("/")[0]
        for image in [one for one in self.living if one[:2] == (host, int(record.get("childPid", 0)))]:
            self.exits[image] = row.time, _state(record)
            if not self.rows.has_more(image):
                yield from self._exit(image)

    def _exit(self, image: Image) -> Iterator[Keyed]:
        """Yield the end of a process, of which all records were read."""
        at, state = self.exits.pop(image, (0, ""))
        for process in self.living.pop(image, ()):
            yield from self._end(process, at, state)
        self.rows.forget(image)

    def _end(self, process: Process, at: int, state: str) -> Iterator[Keyed]:
        """Yield the events of the end of a process image: of its open files, then its own."""
        counted: dict[str, _Sum] = {}
        for file, place, epoch in self.shared.pop(process.iri, ()):
            for record in file.again(place):
                counted.setdefault(record.get("ofOpening", "").lstrip("0"), _Sum()).add(record, epoch)
        last = process.started
        for opening in [one for one in self.openings.values() if one.iri.startswith(process.iri)]:
            total = self._sum(opening, counted.get(opening.iri.rpartition("/o")[2]))
            last = max(last, total.last, opening.opened)
            yield from ((f"end {opening.iri}", event) for event in self._file(opening, 0, opening.facts, total))
        for iri in [iri for iri, task in self.tasks.items() if task.process == process.iri]:
            del self.tasks[iri]
        self.trace.processes.pop(process.iri, None)
        yield f"end {process.iri}", self._of_process(process, "ended", at or last, state)

    # Files.

    def _open(self, row: Row) -> None:
        record = dict(row.record)
        if record.get("a") != "FileVersion" or "format" in record or record.get("openApi", "").startswith(LAYERS):
            return
        columns = OPENING.fullmatch(record["opening"]) if "opening" in record else None
        if columns:
            record |= {name: value for name, value in columns.groupdict().items() if value not in (None, "-")}
            record |= {name: record["mtimeNs"] for name in ("birthNs", "ctimeNs") if record.get(name) == "="}
        path = path_of(record, "path")
        if path is not None and "openedNs" in record:
            facts, opened = Facts.of(record), int(record["openedNs"])
            flags, task = int(record.get("flags", 0)), record.get("task", "")
            self.openings[row.iri] = _Opening(row.iri, path, facts, flags, opened, task)

    def _close(self, row: Row) -> Iterator[Event]:
        opening, record, total = self.openings.get(row.iri), row.record, _Sum()
        if opening is None:
            return
        closed = int(record.get("closedNs", 0))
        if not closed:
            try:
                record, counts, _ = closed_access(row.record)
            except Malformed:
                return
            total.add(counts, row.epoch)
            closed = total.closed
        facts = opening.facts.later(record, "closed") if "closedMtimeNs" in record else opening.facts
        yield from self._file(opening, closed, facts, self._sum(opening, total))

    def _closed_in_place(self) -> Iterator[Keyed]:
        """Yield the events of files whose close is a store into a counter."""
        for opening in [one for one in self.openings.values() if one.counters]:
            total = self._sum(opening)
            if total.closed:
                found = self._file(opening, total.closed, opening.facts, total)
                yield from ((f"end {opening.iri}", event) for event in found)

    def _sum(self, opening: _Opening, total: _Sum | None = None) -> _Sum:
        """Return the reads and writes of an opening, with those of its lines of counters as they are now."""
        total = total or _Sum()
        for file, place, epoch in opening.counters:
            for record in file.again(place):
                total.add(record, epoch)
        return total

    def _file(self, opening: _Opening, closed: int, facts: Facts, total: _Sum) -> Iterator[Event]:
        """Yield the event of a file, unless it is a file of the system that was only read."""
        del self.openings[opening.iri]
        if not opening.writable and self.noise.read(opening.path, opening.path):
            return
        if opening.writable and not closed:
            facts = _as_it_is(opening.path, facts)
        data = {
            **_named(opening.path), "start": instant_text(opening.opened),
            "end": instant_text(closed) if closed else None, "access": ACCESS[opening.flags & os.O_ACCMODE],
            "bytes": facts.size, "bytes_read": total.read, "bytes_written": total.written,
            "process": parent_of(opening.iri), "task": _of_graph(opening.task),
        }  # fmt: skip
        yield self._event("file", closed or total.last or opening.opened, self.identity.version(facts), data)

    # Tasks and declarations.

    def _task(self, row: Row) -> Iterator[Keyed]:
        record = row.record
        if record.get("a") == "Task":
            if "name" in record:
                record["name"] = self.redaction.text(record["name"])
            self.tasks[row.iri] = _Task(record, parent_of(row.iri))
            yield "", self._of_task(row.iri, "started", "startedNs")
        if "endedNs" in record and row.iri in self.tasks:
            self.tasks[row.iri].record |= record
            yield "", self._of_task(row.iri, "ended", "endedNs")
            del self.tasks[row.iri]

    def _metric(self, row: Row) -> Iterator[Keyed]:
        metric = metric_of(parent_of(row.iri), row.iri.rpartition("/m")[2], row.record)
        value = _number(metric.value) if metric.value.type in NUMBERS else self.redaction.text(metric.value.text)
        data = {
            "name": metric.name, "value": value, "step": metric.step, "process": metric.process,
            "task": _of_graph(metric.task),
        }  # fmt: skip
        yield "", self._event("metric", metric.at, row.iri, data)

    def _checkpoint(self, row: Row) -> Iterator[Keyed]:
        record = row.record
        data = {
            **_named(path_of(record, "path") or b""),
            "step": int(record["step"]) if "step" in record else None,
            "process": parent_of(row.iri), "task": _of_graph(record.get("task")),
        }  # fmt: skip
        yield "", self._event("checkpoint", int(record.get("startedNs", 0)), row.iri, data)

    # Events.

    def _event(self, kind: str, at: int, subject: str, data: Event) -> Event:
        self.last = max(self.last, at)
        return {"time": instant_text(at), "type": kind, "run": self.run, "subject": subject, "data": data}

    def _of_run(self, state: str, moment: str) -> Event:
        run = self.trace.run
        data: Event = {"state": state, "command": _command(run.get("commandLine", ""))}
        data |= {name: run.get(name) for name in ("name", "campaign", "host")}
        if state == "ended":
            data["end"] = _state(run) or None
        return self._event("run", int(run.get(moment, 0)) or self.last, self.trace.iri, data)

    def _of_process(self, process: Process, state: str, at: int, end: str = "") -> Event:
        data: Event = {"state": state, "pid": process.pid, "host": process.host, "parent": process.parent_pid}
        data["command"] = _command(process.record.get("argv", ""))
        if state == "ended":
            data["end"] = end or None
        return self._event("process", at, process.iri, data)

    def _of_task(self, iri: str, state: str, moment: str) -> Event:
        record, process = self.tasks[iri].record, self.tasks[iri].process
        start, at = int(record.get("startedNs", 0)), int(record.get(moment, 0))
        data: Event = {"state": state, "name": record.get("name"), "kind": record.get("kind")}
        data["start"] = instant_text(start)
        if state == "ended":
            data |= {"end": instant_text(at), "seconds": (at - start) / 1e9, "status": record.get("status")}
        data |= {"process": process, "part_of": _of_graph(record.get("partOf"))}
        return self._event("task", at, f"{iri}/", data)


def _of_graph(task: str | None) -> str | None:
    """Return the IRI that a Task has in the graph, from that in its record."""
    return f"{task}/" if task else None


def _state(record: Record) -> str:
    """Return how a process or run ended, from the record of its end; empty if it is not known."""
    if "signal" in record:
        return f"signal {record['signal']}"
    return f"exit {record['exitCode']}" if "exitCode" in record else ""


def _alive(image: Image) -> bool:
    return liveness.alive((str(image[1]), str(image[2])))


def _command(encoded: str) -> str:
    """Return a command line as a shell takes it."""
    return shlex.join(word.decode("utf-8", "replace") for word in decode_argv(encoded))


def _named(path: bytes) -> Event:
    """Return the members with a path; one that is not UTF-8 is encoded, too, as in a URL."""
    text = path.decode("utf-8", "replace")
    return {"path": text} | ({"pathEncoded": quote_from_bytes(path, safe=PATH_SAFE)} if text.encode() != path else {})


def _number(value: Value) -> int | float | bool | str:
    """Return a value as JSON has it; NaN and infinities, which it does not have, as texts."""
    if value.type == "boolean":
        return value.text == "true"
    number = int(value.text) if value.type == "integer" else float(value.text.replace("INF", "inf"))
    return number if math.isfinite(number) else value.text


def _as_it_is(path: bytes, facts: Facts) -> Facts:
    """Return the facts of a file that was not closed, as it is now, if its name still denotes it."""
    with contextlib.suppress(OSError):
        found = os.lstat(path)
        if found.st_ino == facts.inode and f"{os.major(found.st_dev)}:{os.minor(found.st_dev)}" == facts.device:
            return facts.at(found.st_mtime_ns, found.st_ctime_ns, found.st_size)
    return facts
