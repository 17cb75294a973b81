"""Reads one file of a run: a Turtle document in, its records out, with what was wrong in it.

Of a damaged one the good prefix is kept.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph

from provio.base.patterns import pattern
from provio.base.vocab import NS, XSD, local_name, vocabulary
from provio.system.statx import Record
from provio.trace.digests import Digests
from provio.trace.fast import blocks
from provio.trace.lone import Lone
from provio.trace.metrics import Metrics
from provio.trace.read_declarations import Sayings, metric_of
from provio.trace.read_lone import Gatherer
from provio.trace.run_facts import Damage
from provio.trace.run_source import RunFile
from provio.trace.trust import LONGEST, without_long, wrong

if TYPE_CHECKING:
    from provio.trace.lone import Lone

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
STRING = pyoxigraph.NamedNode(XSD + "string")
Records = dict[str, Record]
AFTER = ("settled.ttl", "hashes.ttl")  # what was found after the run
TRIALS = 4  # to find where the good part of a damaged file ends
FEW = 30  # files
_asked = count()
NUMBER = pattern(r"[+-]?[0-9]{1,20}")  # 64 bits: times beyond 2286, inodes of stacked file systems


def load(file: RunFile, digests: Digests | None, damages: list[Damage]) -> Records:
    """Return the records of a file; appends what is damaged."""
    try:
        data = file.load()
    except OSError as error:
        damages.append(Damage(file.path, 0, error.strerror or "cannot be read"))
        return {}
    if digests is not None:
        digests.add((file.host, file.name), data)
    records = parse(data, file.path, damages)
    return records if len(data) <= LONGEST else without_long(records, file.path, damages)


def load_large(file: RunFile, own: str, digests: Digests, sayings: Sayings, lone: Lone | None = None) -> Records | None:
    """The records of a large file, whose metrics, and what may be lone, are taken as they are met; None where it is not
    large, or unusual."""
    try:
        parts = file.parts()
        if parts is None or file.name in AFTER:
            return None
        found = read(digests.through((file.host, file.name), parts), own, sayings, lone)
    except OSError:
        return None  # which it says when it is loaded
    if found is not None:
        digests.read()
    return found


def parse(data: bytes, path: Path, damages: list[Damage]) -> Records:
    """Return the records of a Turtle document: subject → property's local name → value. Appends what is damaged."""
    known = _quickly(data)
    if known is not None:
        return known
    try:
        return _whole(records_in(data), path, damages)
    except (SyntaxError, ValueError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 0
        reason = str(error).split(": ", 1)[-1]
        damages.append(Damage(path, line, reason))
        return _whole(_good_prefix(data, line) if line else _read_until(data), path, damages)


def _quickly(data: bytes) -> Records | None:
    """The records of a file by the shapes of its lines, where that is quicker: to learn them takes as long as to parse
    some files."""
    if next(_asked) < FEW:
        return None
    from provio.trace.fast import blocks  # slow to import, and most runs have few files

    return blocks.records(data)


def _whole(records: Records, path: Path, damages: list[Damage]) -> Records:
    """Leave out the records with a value that is no number where one belongs."""
    integers = vocabulary().integers
    for iri, record in list(records.items()):
        for name in record.keys() & integers:
            if not NUMBER.fullmatch(record[name]):
                damages.append(Damage(path, 0, f"{name} of <{iri[:200]}> is no number"))
                records.pop(iri, None)
    return records


def _good_prefix(data: bytes, line: int) -> Records:
    """Records of the lines before the damaged one, back to the last line that ends a statement.

    Where that is not plain to see (a line that ends a statement may lie within a text), what was read until then.
    """
    lines = data.split(b"\n")[: line - 1]
    for _ in range(TRIALS):
        while lines and not _ends_statement(lines[-1]):
            lines.pop()
        try:
            return records_in(b"\n".join(lines) + b"\n")
        except (SyntaxError, ValueError, MemoryError) as error:
            del lines[min(len(lines), getattr(error, "lineno", None) or 1) - 1 :]
    return _read_until(data)


def _ends_statement(line: bytes) -> bool:
    """Whether it looks as if: what begins with `#` was never committed."""
    return not line.startswith(b"#") and line.split(b" #")[0].rstrip(b"# ").endswith(b".")


def _read_until(data: bytes) -> Records:
    """The records before the first mistake, but for the last, of which all may not have been said."""
    records: Records = {}
    with contextlib.suppress(SyntaxError, ValueError, MemoryError):
        records_in(data, records)
    if records:
        records.popitem()
    return records


def records_in(data: bytes, records: Records | None = None) -> Records:
    """The records of a document, added to `records` as they are read."""
    records = {} if records is None else records
    skip = len(NS)
    for triple in pyoxigraph.parse(data, pyoxigraph.RdfFormat.TURTLE):
        if isinstance(triple.object, pyoxigraph.Triple):
            continue
        subject, predicate, value = triple.subject.value, triple.predicate.value, triple.object.value
        record = records.get(subject)
        if record is None:
            record = records[subject] = {}
        if predicate == RDF_TYPE:
            record["a"] = value[skip:] if value.startswith(NS) else value
        elif predicate.startswith(NS):
            name = predicate[skip:]
            record[name] = value
            if name == "value" and getattr(triple.object, "datatype", STRING) != STRING:
                record["valueType"] = local_name(triple.object.datatype.value)
    return records


# Metrics taken from a thread file as it is read, which may hold a million: parts of it in, metrics and all other
# records out. They are as `trace_said` has them; of a file that is in any way unusual nothing is said here.


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
