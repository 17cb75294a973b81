"""Reads a large thread file in parts, and takes its metrics and the openings that may be lone out as they are read.

A thread file may have a million of them. In: the file's parts. Out: its other records; None if it has records that no
interceptor writes: then all its records are kept in memory (`provio.trace.records`).
"""

from __future__ import annotations

from collections.abc import Iterable

from provio.system.statx import Record
from provio.trace.fast import line_shapes
from provio.trace.fast.find_lone import Gatherer
from provio.trace.fast.lone_files import Lone, Records
from provio.trace.metrics import Metrics
from provio.trace.read_declarations import DeclarationReader, metric_of
from provio.trace.run_facts import Damage, Trace
from provio.trace.run_source import RunFile
from provio.trace.thread_files import Content
from provio.trace.trust import LONGEST, rejection
from provio.trace.turtle_lines import Foreign, Lines


def load(file: RunFile, own: str, trace: Trace, declarations: DeclarationReader, content: Content) -> Records | None:
    """Return the records of a large file, all below the IRI `own`; `content` receives its bytes. Its metrics go to
    `declarations`, its openings that may be lone to the trace. Return None, and pass nothing on, for a file that is
    small, unusual or not readable."""
    damages: list[Damage] = []
    try:
        parts = file.parts()
        if parts is None:
            return None
        hashed = content.through(trace.digests.hashed((file.host, file.name), parts))
        found = _read(hashed, file, own, declarations, trace.lone, damages)
    except OSError:  # reported when the file is loaded
        return None
    if found is not None:
        trace.digests.add_hashed()
        trace.damages += damages
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
        """Return whether there is a record of an IRI; raises Unusual for a metric that is not the next one."""
        process, is_metric, number = _parts_of(str(iri))
        if is_metric and not self.last.get(process, 0) < number:
            raise line_shapes.Unusual
        return super().__contains__(iri)

    def __setitem__(self, iri: str, record: Record) -> None:
        """Add a record, or pass it on."""
        process, is_metric, number = _parts_of(iri)
        if is_metric != (record.get("a") == "Metric"):
            raise line_shapes.Unusual
        if not is_metric:
            if self.gatherer is None or not self.gatherer.takes(iri, record, self):
                super().__setitem__(iri, record)
            return
        unusual = not iri.startswith(self.own) or rejection(record, self.own, self.own)
        if unusual or max(map(len, record.values())) > LONGEST:
            raise line_shapes.Unusual
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
        raise line_shapes.Unusual
    return iri[:place], True, int(number)


def _read(
    parts: Iterable[bytes], file: RunFile, own: str, declarations: DeclarationReader, lone: Lone | None,
    damages: list[Damage],
) -> dict[str, Record] | None:  # fmt: skip
    """As `load`; raises OSError."""
    gatherer = Gatherer(lone, own) if lone else None
    found, lines = LargeFile(own, gatherer), Lines(file.path)
    try:
        line_shapes.read(parts, found, lines)
    except (line_shapes.Unknown, line_shapes.Unusual, Foreign):
        return None
    if not all(declarations.find(process) for process in found.last):
        return None
    if gatherer:
        gatherer.end(found)
    declarations.add_metrics(found.metrics, found.times)
    damages += lines.found()
    return found
