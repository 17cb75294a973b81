"""Metrics taken from a thread file as it is read, which may hold a million: parts of it in, metrics and all other
records out. They are as `trace_said` has them; of a file that is in any way unusual nothing is said here.
"""

from __future__ import annotations

from collections.abc import Iterable

from provio import blocks
from provio.admit import LONGEST, wrong
from provio.lone import Lone
from provio.metrics import Metrics
from provio.statx import Record
from provio.trace_lone import Gatherer
from provio.trace_said import Sayings, metric_of


class Apart(dict[str, Record]):
    """The records of a file, as they are met; its metrics, which come in the order of their numbers, stand apart."""

    def __init__(self, own: str, gatherer: Gatherer | None = None) -> None:
        self.own, self.gatherer = own, gatherer  # the IRI that all is below; who takes openings that may be lone
        self.metrics = Metrics()
        self.last: dict[str, int] = {}  # the number that a process's metrics have come to
        self.told: dict[tuple[str, str], int] = {}  # when a process last said one in a Task

    def __contains__(self, iri: object) -> bool:
        """Tell whether something is said of it already; raises Unknown where that would be a metric."""
        process, is_metric, number = _divided(str(iri))
        if is_metric and not self.last.get(process, 0) < number:
            raise blocks.Unknown
        return super().__contains__(iri)

    def __setitem__(self, iri: str, record: Record) -> None:
        """Keep a record."""
        process, is_metric, number = _divided(iri)
        if is_metric != (record.get("a") == "Metric"):
            raise blocks.Unknown
        if not is_metric:
            if self.gatherer is None or not self.gatherer.takes(iri, record, self):
                super().__setitem__(iri, record)
            return
        unusual = not iri.startswith(self.own) or wrong(record, self.own, self.own)
        if unusual or max(map(len, record.values())) > LONGEST:
            raise blocks.Unknown
        metric = metric_of(process, str(number), record)
        self.metrics.add(metric)
        self.last[process] = number
        self.told[process, metric.task] = max(metric.at, self.told.get((process, metric.task), 0))


def _divided(iri: str) -> tuple[str, bool, int]:
    """What a metric's IRI is made of: its process, whether it is one's, its number."""
    place = iri.rfind("/") + 1
    if iri[place : place + 1] != "m":
        return "", False, 0
    number = iri[place + 1 :]
    if not (number.isascii() and number.isdigit()) or number[0] == "0" or len(number) > 18:
        raise blocks.Unknown
    return iri[:place], True, int(number)


def read(parts: Iterable[bytes], own: str, sayings: Sayings, lone: Lone | None) -> dict[str, Record] | None:
    """Return the records of a file whose own IRI is `own`, and give its metrics to what programs said, and openings
    that may be lone to those that are; None, and nothing given, where it is unusual. Raises OSError."""
    gatherer = Gatherer(lone, own) if lone else None
    found = Apart(own, gatherer)
    try:
        blocks.read(parts, found)
    except blocks.Unknown:
        return None
    if not all(sayings.find(process) for process in found.last):
        return None
    if gatherer:
        gatherer.end(found)
    sayings.measured(found.metrics, found.told)
    return found
