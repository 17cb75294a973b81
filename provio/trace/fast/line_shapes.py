"""Reads thread files without a Turtle parser: by the shapes of the lines that the shim writes.

A line's shape is all of it except names and values. It is learnt from the first such line, if every token has a form
with only one meaning in Turtle; it then reads each such line with one regular expression. Any other line is left to
the Turtle parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from typing import Protocol

from provio.base.records import plain
from provio.base.vocab import NS, PROV, XSD, vocabulary
from provio.trace.openings import Malformed, Openings
from provio.trace.trust import LONGEST, LONGEST_LINE

Record = dict[str, str]
Records = dict[str, Record]

MOST = 256  # shapes; the shim writes about 100
PREFIXES = {"": NS, "prov": PROV, "xsd": XSD}
SEGMENT = r"[A-Za-z0-9_%-][A-Za-z0-9_%.~-]*"
ABSOLUTE = rf"https://w3id\.org/provio/run/(?:{SEGMENT}/)*(?:{SEGMENT})?"
BASE = re.compile(rf"@base <({ABSOLUTE})> \. ?")
PREFIX = re.compile(r"@prefix (\w*): <([^<>]*)> \. ?")
TEXT = r"[ !#-\[\]-~\xa0-\ud7ff]*"
NAME = rf"{ABSOLUTE}|(?:\.\./)?(?:[A-Za-z0-9]+(?:/[A-Za-z0-9]+)*/?)?"
# Kinds of tokens: a letter for each, its pattern, with the value as its group.
KINDS = {
    "_": " +",
    "I": f"<({NAME})>",
    "D": rf'"({TEXT})"\^\^xsd:dateTime',
    "X": r'"([A-Za-z0-9.+-]*)"\^\^xsd:double',
    "T": f'"({TEXT})"',
    "B": "(true|false)",
    "E": r"([+-]?[0-9]+(?:\.[0-9]*)?[eE][+-]?[0-9]+)",
    "M": "(-[0-9]{1,20})",
    "0": "([0-9]{1,20})",
    "N": "((?:prov)?:[A-Za-z][A-Za-z0-9]*)",
    "a": "a(?= )",
    ";": ";",
    ".": r"\.",
}
TOKENS = [(kind, re.compile(look)) for kind, look in KINDS.items()]
STATEMENT = r"I_[aN]_[INTDXBEM0](?:_?;_?[aN]_[INTDXBEM0])*_\."
# The datatype of a `:value` of each kind; a text has none.
VALUES = {"D": "dateTime", "X": "double", "B": "boolean", "E": "double", "M": "integer", "0": "integer"}
SIGNED = frozenset({"value", "step"})
IN_LINES = re.compile(r"(?:^|\n) +<")
LINE = re.compile(rf"{STATEMENT}(?:_{STATEMENT})*")


class Unknown(Exception):
    """A line that has no known form."""


class Unfolding(Protocol):
    """Turns short records into others, as `Openings` does."""

    def plain(self, iri: str, record: Record) -> Iterator[tuple[str, Record]]:
        """Yield the records for one that was read; raises Malformed."""

    def end(self) -> Iterator[tuple[str, Record]]:
        """Yield the records that are left at the end of the file."""


class Place:
    """A place in a file: the number of the line, and the prefixes and the base that are declared there."""

    def __init__(self, openings: Unfolding | None = None) -> None:
        self.number = 0
        self.prefixes: dict[str, str] = {}
        self.usual: set[str] = set()  # those that are declared as in PREFIXES
        self.bases: set[str] = set()  # all so far
        self.in_lines = False  # whether a line was found that starts as those of the shim
        self.above = ""
        self._base = ""
        self._openings = openings or Openings()

    @property
    def base(self) -> str:
        """The base, or an empty string if it is not known."""
        return self._base

    @base.setter
    def base(self, base: str) -> None:
        self._base = base
        self.above = base[: base.rindex("/", 0, -1) + 1] if base else ""
        self.bases |= {base} - {""}

    def add(self, found: MutableMapping[str, Record], subject: str, record: Record) -> None:
        """Add a record to those of the file; raises Malformed."""
        for iri, one in self._openings.plain(subject, record):
            _add(found, iri, one)

    def end(self, found: MutableMapping[str, Record]) -> None:
        """At the end of the file, add the accesses of the openings that were not closed."""
        for iri, one in self._openings.end():
            _add(found, iri, one)

    def declare(self, prefix: str, iri: str) -> None:
        """Declare a prefix."""
        self.prefixes[prefix] = iri
        (self.usual.add if PREFIXES.get(prefix) == iri else self.usual.discard)(prefix)


class Unusual(Exception):
    """A record that no interceptor writes, and that a store of records does not take."""


Other = Callable[[Place, str, MutableMapping[str, Record]], None]


@plain(frozen=True, slots=True)
class _Statement:
    """A statement in a shape: the names of its properties, and the range of their values among a match's groups; the
    subject is the group before. The values of `iris` are IRIs; `fixed` are equal in every line."""

    start: int
    end: int
    names: tuple[str, ...]
    iris: tuple[str, ...]
    fixed: dict[str, str]


@plain(frozen=True, slots=True)
class _Shape:
    line: re.Pattern[str]
    prefixes: frozenset[str]
    statements: tuple[_Statement, ...]


_shapes: dict[str, list[_Shape]] = {}  # by the text after the subject
_all_shapes: list[_Shape] = []


def records(data: bytes) -> Records | None:
    """Return the records of a file, equal to those of `records.records_in`; None if it has other lines."""
    found: Records = {}
    try:
        read([data], found)
    except Unknown:
        return None
    return found


def read(parts: Iterable[bytes], found: MutableMapping[str, Record], other: Other | None = None) -> None:
    """Add the records of a file, given in parts, to `found` as they are read. A line of no known form is left to
    `other`; raises Unknown if there is none."""
    place = Place()
    for text in _texts(parts, other is not None):
        read_lines(text, place, found, other)
    place.end(found)


def read_lines(text: str, place: Place, found: MutableMapping[str, Record], other: Other | None) -> None:
    """Add the records of whole lines of a file, which follow `place`, to `found`; as `read`."""
    place.in_lines = place.in_lines or IN_LINES.search(text) is not None
    returns = "\r" in text  # it ends a comment, too
    for padded in text.split("\n"):
        place.number += 1
        line = padded.lstrip(" ")
        if not line or (line[0] == "#" and not (returns and "\r" in line)):
            continue
        try:
            if len(line) > LONGEST:
                raise Unknown
            if line[0] == "@":
                line = _declarations(line, place)
            line = line.rstrip("# ")
            if line:
                _read(line, place, found)
        except Unknown:
            if other is None:
                raise
            other(place, padded, found)


def _texts(parts: Iterable[bytes], any_bytes: bool) -> Iterator[str]:
    """Yield the parts as text, in whole lines, with surrogates for bytes that are not UTF-8. Raises Unknown for a line
    that is too long, and, unless `any_bytes` are accepted, for other bytes than the shim writes."""
    rest = b""
    try:
        for part in parts:
            if b"\r" in part and not any_bytes:
                raise Unknown
            whole, newline, last = part.rpartition(b"\n")
            if newline:
                yield (rest + whole).decode("utf-8", "surrogateescape" if any_bytes else "strict")
            rest = last if newline else rest + last
            if len(rest) > LONGEST_LINE:
                raise Unknown
        yield rest.decode("utf-8", "surrogateescape" if any_bytes else "strict")
    except UnicodeDecodeError:
        raise Unknown from None


def _declarations(line: str, place: Place) -> str:
    """Read the declarations at the beginning of a line; return the rest."""
    while match := PREFIX.match(line):
        place.declare(match[1], match[2])
        line = line[match.end() :]
    if (match := BASE.match(line)) and match[1].endswith("/"):
        place.base = match[1]
        return line[match.end() :]
    return line


def _read(line: str, place: Place, found: MutableMapping[str, Record]) -> None:
    """Add the statements of a line to the records; raises Unknown."""
    start = line.find(" ")
    known = _shapes.get(line[start : start + 12], [])
    for shape in known:
        match = shape.line.fullmatch(line)
        if match:
            break
    else:
        if len(_all_shapes) >= MOST:
            raise Unknown
        shape = _learned(line)
        match = shape.line.fullmatch(line)
        if match is None:
            raise Unknown
        _all_shapes.append(shape)
        _shapes[line[start : start + 12]] = [*known, shape]
    if not shape.prefixes <= place.usual:
        raise Unknown
    values = match.groups()
    bases = place.base, place.above
    for statement in shape.statements:
        record = dict(zip(statement.names, values[statement.start : statement.end], strict=True))
        for name in statement.iris:
            record[name] = _resolved(record[name], *bases)
        record |= statement.fixed
        try:
            place.add(found, _resolved(values[statement.start - 1], *bases), record)
        except Malformed:
            raise Unknown from None


def _add(found: MutableMapping[str, Record], subject: str, record: Record) -> None:
    """Add a record to those of a file."""
    if subject in found:
        found[subject].update(record)
    else:
        found[subject] = record


def _resolved(name: str, base: str, above: str) -> str:
    """Resolve a relative IRI of the known forms."""
    if base and name[:3] == "../":
        return above + name[3:]
    if name[:8] == "https://":
        return name
    if not base:
        raise Unknown
    return base + name


def _learned(line: str) -> _Shape:
    """Return the shape of a line; raises Unknown."""
    tokens = list(_tokens(line))
    if not LINE.fullmatch("".join(kind for kind, _ in tokens)):
        raise Unknown
    shape = _ShapeBuilder()
    for kind, text in tokens:
        shape.add(kind, text)
    return _Shape(re.compile(shape.pattern), frozenset(shape.prefixes), tuple(shape.statements))


def _tokens(line: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(line):
        found = ((kind, look.match(line, place)) for kind, look in TOKENS)
        kind, match = next(((kind, match) for kind, match in found if match), (None, None))
        if kind is None or match is None:
            raise Unknown
        yield kind, match[0]
        place = match.end()


class _ShapeBuilder:
    """Builds a shape from tokens, in the order that LINE allows."""

    def __init__(self) -> None:
        self.pattern = ""
        self.prefixes: set[str] = set()
        self.statements: list[_Statement] = []
        self.values = 0
        self.place = 0  # within a statement: 0 its subject, then properties at odd places, values at even ones
        self.property = ""
        self.names: dict[str, None] = {}
        self.iris: list[str] = []
        self.fixed: dict[str, str] = {}

    def add(self, kind: str, text: str) -> None:
        """Add the next token."""
        if kind == ".":
            names, iris = tuple(self.names), tuple(self.iris)
            start = self.values - len(names)
            self.statements.append(_Statement(start, self.values, names, iris, self.fixed))
            self.place, self.names, self.iris, self.fixed = 0, {}, [], {}
        if kind in "_;.":
            self.pattern += KINDS[kind]
            return
        if kind in "NDX":
            self.prefixes.add(text.partition(":")[0] if kind == "N" else "xsd")
        if self.place % 2:
            self.property = text
            self.pattern += re.escape(text)
        elif self.place == 0:
            self._capture(kind)
        else:
            self._value(kind, text)
        self.place += 1

    def _capture(self, kind: str) -> None:
        self.pattern += KINDS[kind]
        self.values += 1

    def _value(self, kind: str, text: str) -> None:
        prefix, _, name = self.property.rpartition(":")
        if prefix:  # PROV's properties are not read
            self.pattern += KINDS[kind].replace("(", "(?:", 1)
            return
        if name in self.names or name in self.fixed or (kind not in "0M" and name in vocabulary().integers):
            raise Unknown
        if kind == "N":
            self.fixed[name] = _word(text, name == "a" and self.property == "a")
            self.pattern += re.escape(text)
        elif self.property == "a" or (kind in "XE" and name != "value") or (kind == "M" and name not in SIGNED):
            raise Unknown
        else:
            if name == "value" and kind in VALUES:
                self.fixed["valueType"] = VALUES[kind]
            self.names[name] = None
            if kind == "I":
                self.iris.append(name)
            self._capture(kind)


def _word(text: str, is_class: bool) -> str:
    """Return the value of a prefixed name: its IRI; for a class of provio, its local name."""
    prefix, _, local = text.partition(":")
    if is_class and not prefix:
        return local
    return PREFIXES[prefix] + local
