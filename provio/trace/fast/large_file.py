"""Reads a large thread file in parts, and takes its metrics and the openings that may be lone out as they are read.

A thread file may have a million of them. In: the file's parts. Out: its other records; None if a line does not have a
form that the shim writes: then the file is parsed as Turtle (`provio.trace.records`).
"""

from __future__ import annotations

from collections.abc import Iterable

from provio.system.statx import Record
from provio.trace.digests import Digests
from provio.trace.fast import line_shapes
from provio.trace.fast.find_lone import Gatherer
from provio.trace.fast.lone_files import Lone, Records
from provio.trace.metrics import Metrics
from provio.trace.read_declarations import DeclarationReader, metric_of
from provio.trace.run_source import RunFile
from provio.trace.trust import LONGEST, rejection


def load(
    file: RunFile, own: str, digests: Digests, declarations: DeclarationReader, lone: Lone | None = None
) -> Records | None:
    """Return the records of a large file, all below the IRI `own`. Its metrics go to `declarations`, its openings that
    may be lone to `lone`. Return None, and pass nothing on, for a file that is small, unusual or not readable."""
    try:
        parts = file.parts()
        found = _read(digests.hashed((file.host, file.name), parts), own, declarations, lone) if parts else None
    except OSError:  # reported when the whole file is loaded
        return None
    if found is not None:
        digests.add_hashed()
    return found


class LargeFile(dict[str, Record]):
    """The records of a file, added as they are read; its metrics, in the order of their numbers, are separate."""

    def __init__(self, own: str, gatherer: Gatherer | None = None) -> None:
        self.own = own  # the parent IRI of the file's records
        self.gatherer = gatherer  # receives openings that may be lone
        self.metrics = Metrics()
        self.last: dict[str, int] = {}  # by process: the number of the last metric
        self.times: dict[tuple[str, str], int] = {}  # by process and Task: the time of the last metric

    def __contains__(self, iri: object) -> bool:
        """Return whether there is a record of an IRI; raises Unknown for a metric that is not the next one."""
        process, is_metric, number = _parts_of(str(iri))
        if is_metric and not self.last.get(process, 0) < number:
            raise line_shapes.Unknown
        return super().__contains__(iri)

    def __setitem__(self, iri: str, record: Record) -> None:
        """Add a record, or pass it on."""
        process, is_metric, number = _parts_of(iri)
        if is_metric != (record.get("a") == "Metric"):
            raise line_shapes.Unknown
        if not is_metric:
            if self.gatherer is None or not self.gatherer.takes(iri, record, self):
                super().__setitem__(iri, record)
            return
        unusual = not iri.startswith(self.own) or rejection(record, self.own, self.own)
        if unusual or max(map(len, record.values())) > LONGEST:
            raise line_shapes.Unknown
        metric = metric_of(process, str(number), record)
        self.metrics.add(metric)
        self.last[process] = number
        self.times[process, metric.task] = max(metric.at, self.times.get((process, metric.task), 0))


def _parts_of(iri: str) -> tuple[str, bool, int]:
    """Return the parts of a metric's IRI: its process, whether it is a metric's, its number."""
    place = iri.rfind("/") + 1
    if iri[place : place + 1] != "m":
        return "", False, 0
    number = iri[place + 1 :]
    if not (number.isascii() and number.isdigit()) or number[0] == "0" or len(number) > 18:
        raise line_shapes.Unknown
    return iri[:place], True, int(number)


def _read(
    parts: Iterable[bytes], own: str, declarations: DeclarationReader, lone: Lone | None
) -> dict[str, Record] | None:
    """As `load`; raises OSError."""
    gatherer = Gatherer(lone, own) if lone else None
    found = LargeFile(own, gatherer)
    try:
        line_shapes.read(parts, found)
    except line_shapes.Unknown:
        return None
    if not all(declarations.find(process) for process in found.last):
        return None
    if gatherer:
        gatherer.end(found)
    declarations.add_metrics(found.metrics, found.times)
    return found
