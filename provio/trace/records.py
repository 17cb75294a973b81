"""Reads one file of a run: a Turtle document to its records, and a list of its damages.

Of a damaged thread file only the damaged lines are lost; of any other file the records before the damage are kept.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph

from provio.base.records import pattern
from provio.base.vocab import NS, XSD, local_name, vocabulary
from provio.system.statx import Record
from provio.trace import openings
from provio.trace.digests import Digests
from provio.trace.run_facts import Damage
from provio.trace.run_source import RunFile
from provio.trace.trust import LONGEST, without_long

if TYPE_CHECKING:
    from provio.trace.thread_files import Content

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
STRING = pyoxigraph.NamedNode(XSD + "string")
Records = dict[str, Record]
AFTER = ("settled.ttl", "hashes.ttl", "contents.ttl", "packages.ttl")  # files that are written after the run
TRIALS = 4  # attempts to find the end of the good part of a damaged file
FEW = 500  # files, for which the Turtle parser takes less time than to learn the shapes of lines
_parsed = count()
LINE_START = pattern(rb"(?:^|\n) +<")  # of a line that an interceptor wrote
NUMBER = pattern(r"[+-]?[0-9]{1,20}")  # 64 bits: times beyond 2286, inodes of stacked file systems


def load(file: RunFile, digests: Digests | None, damages: list[Damage], content: Content | None = None) -> Records:
    """Return the records of a file; append its damages. `content` receives its bytes."""
    key, found = (file.host, file.name), list[Damage]()
    try:
        parts = file.parts()
        if parts is not None:
            hashed = digests.hashed(key, parts) if digests is not None else parts
            records = _in_parts(content.through(hashed) if content else hashed, file, found)
            if digests is not None:
                digests.add_hashed()
        else:
            data = file.load()
            if digests is not None:
                digests.add(key, data)
            records = parse(b"".join(content.through([data])) if content else data, file.path, found)
            records = records if len(data) <= LONGEST else without_long(records, file.path, found)
    except OSError as error:
        records = {}
        found.append(Damage(file.path, 0, error.strerror or "cannot be read"))
    damages += found
    return records


def _in_parts(parts: Iterator[bytes], file: RunFile, damages: list[Damage]) -> Records:
    """Return the records of a large file, line by line; one with other statements, from another tool, is read as a
    whole. Raises OSError."""
    from provio.trace import turtle_lines  # slow to import, and few files are large or damaged

    records: Records | None = None
    with contextlib.suppress(turtle_lines.Foreign):
        records = turtle_lines.read(parts, file.path, damages)
    deque(parts, maxlen=0)  # after a line that is too long
    if records is None:
        records = without_long(parse(file.load(), file.path, damages), file.path, damages)
    return records


def parse(data: bytes, path: Path, damages: list[Damage]) -> Records:
    """Return the records of a Turtle document: subject → property's local name → value. Append its damages."""
    known = _quickly(data)
    if known is not None:
        return known
    try:
        return whole(openings.all_plain(records_in(data)), path, damages)
    except (SyntaxError, ValueError, MemoryError) as error:
        if LINE_START.search(data):
            from provio.trace import turtle_lines  # slow to import, and few files are large or damaged

            with contextlib.suppress(turtle_lines.Foreign):
                return turtle_lines.read([data], path, damages)
        line = getattr(error, "lineno", None) or 0
        reason = str(error).split(": ", 1)[-1]
        damages.append(Damage(path, line, reason))
        return whole(_good_prefix(data, line) if line else _read_until(data), path, damages)


def _quickly(data: bytes) -> Records | None:
    """Return the records of a file by the shapes of its lines, after FEW files; None if it has other lines."""
    if next(_parsed) < FEW:
        return None
    from provio.trace.fast import line_shapes  # slow to import, and most runs have few files

    return line_shapes.records(data)


def whole(records: Records, path: Path, damages: list[Damage]) -> Records:
    """Return the records without those that have a non-number as the value of a numeric property."""
    integers = vocabulary().integers
    for iri, record in list(records.items()):
        for name in record.keys() & integers:
            if not NUMBER.fullmatch(record[name]):
                damages.append(Damage(path, 0, f"{name} of <{iri[:200]}> is no number"))
                records.pop(iri, None)
    return records


def _good_prefix(data: bytes, line: int) -> Records:
    """Return the records of the lines before the damaged one, up to the last line that ends a statement.

    If that cannot be found (such a line may be inside a literal), return the records that the parser read.
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
    """Return whether a line seems to end a statement; one that starts with `#` was never committed."""
    return not line.startswith(b"#") and line.split(b" #")[0].rstrip(b"# ").endswith(b".")


def _read_until(data: bytes) -> Records:
    """Return the records before the first error, without the last one, which may be incomplete."""
    records: Records = {}
    with contextlib.suppress(SyntaxError, ValueError, MemoryError):
        records_in(data, records)
    if records:
        records.popitem()
    return records


def records_in(data: bytes, records: Records | None = None) -> Records:
    """Return the records of a document, added to `records` as they are read."""
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
