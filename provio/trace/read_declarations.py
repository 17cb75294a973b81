"""Reads the declarations of programs from the records of thread files (`docs/trace-format.md`)."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from provio.system.statx import Facts, Record
from provio.trace import values
from provio.trace.declarations import Checkpoint, Configuration, Declarations, Entity, Settings, Use
from provio.trace.decode import path_of
from provio.trace.facts import Process, Thread
from provio.trace.metrics import Metric, Metrics
from provio.trace.values import TEXT, Value

USES = frozenset({"UsedSaid", "GeneratedSaid"})
KINDS = frozenset({"Configuration", "Metric", "Checkpoint", "Setting"}) | USES
LABEL = re.compile(r"([gmceu])([0-9]{1,20})")
Find = Callable[[str], Process | None]


class DeclarationReader:
    """Takes the records of declarations, file by file, then assembles them."""

    def __init__(self, find: Find) -> None:
        self.find = find  # a process by its IRI
        self.declarations = Declarations()
        self.records: dict[str, Record] = {}
        self.settings: dict[str, Settings] = {}

    def takes(self, iri: str, record: Record) -> bool:
        """Take a record of a declaration; return whether it was one."""
        kind = record.get("a")
        if not (kind in KINDS or "startedNs" in record or "complete" in record):
            return False
        if kind == "Setting":
            self._setting(record)
            return True
        whole, _, label = iri.rpartition("/")
        named = LABEL.fullmatch(label)
        process = self.find(whole + "/") if named else None
        if named is None or process is None:
            return False
        if kind == "Metric":
            metric = metric_of(process.iri, named[2], record)
            self.declarations.metrics.add(metric)
            _note(process, metric.task, metric.at)
        elif kind in USES:
            self.use(process, int(record.get("startedNs", 0)), record)
        else:
            self.records.setdefault(iri, {}).update(record)
        return True

    def add_metrics(self, metrics: Metrics, times: dict[tuple[str, str], int]) -> None:
        """Add metrics that were read separately; `times` has the time of the last one for each process and Task."""
        self.declarations.metrics.extend(metrics)
        for (iri, task), at in times.items():
            process = self.find(iri)
            if process:
                _note(process, task, at)

    def use(self, process: Process, at: int, record: Record) -> None:
        """Add the declaration of a use or a generation."""
        facts = Facts.of(record) if "inode" in record else None
        task, made = sys.intern(record.get("task", "")), record["a"] == "GeneratedSaid"
        self.declarations.uses.append(
            Use(process.iri, task, at, made, record.get("object", ""), path_of(record, "path"), facts)
        )
        _note(process, task, at)

    def add_use_of_thread(self, thread: Thread | None, record: Record) -> None:
        """Add a use or a generation from a record of a thread."""
        if thread:
            self.use(thread.process, thread.epoch + int(record.get("at", 0)), record)

    def _setting(self, record: Record) -> None:
        name = _text(record, "name")
        if "partOf" in record and name:
            self.settings.setdefault(record["partOf"], {})[name] = _value(record)

    def assembled(self) -> Declarations:
        """Return all declarations, each with its settings."""
        for iri, record in self.records.items():
            process = self.find(iri.rpartition("/")[0] + "/")
            if process:
                self._place(iri, process, record)
        self.declarations.settings = self.settings
        self.settings, self.records = {}, {}
        return self.declarations

    def _place(self, iri: str, process: Process, record: Record) -> None:
        task, at = record.get("task", ""), int(record.get("startedNs", 0))
        name, kind = _text(record, "name"), _kind(record)
        if record.get("a") == "Checkpoint":
            path = path_of(record, "path") or b""
            self.declarations.checkpoints.append(Checkpoint(iri, process.iri, task, at, path, kind, _step(record)))
        elif iri[len(process.iri)] == "g":
            whole, settings = record.get("complete") == "true", self.settings.pop(iri, {})
            self.declarations.configurations.append(
                Configuration(iri, process.iri, task, at, name, kind, whole, settings)
            )
        elif iri[len(process.iri)] == "e":
            settings = self.settings.pop(iri, {})
            given = settings.pop("identifier", None)
            identifier = _text(record, "identifier") or (given.text if given else "")
            self.declarations.entities[iri] = Entity(iri, process.iri, at, name, kind, identifier, settings)
        _note(process, task, at)


def _note(process: Process, task: str, at: int) -> None:
    """Note the time of a declaration: the process and its Task lasted at least until then."""
    if at > process.last_declared.get(task, 0):
        process.last_declared[task] = at


def metric_of(process: str, number: str, record: Record) -> Metric:
    """Return the metric of a record, with the IRI of its process and its number there."""
    return Metric(
        process,
        number,
        sys.intern(record.get("task", "")),
        int(record.get("startedNs", 0)),
        sys.intern(_text(record, "name")),
        sys.intern(_kind(record)),
        values.of(record),
        _step(record),
        record.get("partOf", ""),
    )


def _value(record: Record) -> Value:
    """Return the value of a setting; if it was too long for the trace, its size."""
    if "value" in record:
        return values.of(record)
    return Value(TEXT, _text(record, "value") or f"({int(record.get('size', 0))} bytes)")


def _step(record: Record) -> int | None:
    return int(record["step"]) if "step" in record else None


def _text(record: Record, name: str) -> str:
    found = path_of(record, name) if name + "Encoded" in record else None
    return found.decode("utf-8", "replace") if found is not None else record.get(name, "")


def _kind(record: Record) -> str:
    """Return the declared kind, else the class if it is more specific than the general one."""
    kind, given = record.get("a", ""), _text(record, "kind")
    return given or ("" if kind in KINDS or kind == "DataObject" else kind)
