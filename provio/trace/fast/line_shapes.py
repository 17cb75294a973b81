"""Reads thread files without a Turtle parser: by the shapes of the lines that the shim writes.

A line's shape is all of it except names and values. It is learnt from the first such line, if every token has a form
with only one meaning in Turtle; it then reads each such line with one regular expression. A file with any other line
is left to the Turtle parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, MutableMapping

from provio.base.records import plain
from provio.base.vocab import NS, PROV, XSD, vocabulary

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
LINE = re.compile(rf"{STATEMENT}(?:_{STATEMENT})*")


class Unknown(Exception):
    """A line that has no known form."""


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


def records(data: bytes) -> Records | None:
    """Return the records of a file, equal to those of `records.records_in`; None if it has other lines."""
    found: Records = {}
    try:
        read([data], found)
    except Unknown:
        return None
    return found


def read(parts: Iterable[bytes], found: MutableMapping[str, Record]) -> None:
    """Add the records of a file, given in parts, to `found` as they are read; raises Unknown."""
    base, above, declared = "", "", set[str]()
    for text in _texts(parts):
        for padded in text.split("\n"):
            line = padded.lstrip(" ")
            if not line or line[0] == "#":
                continue
            if line[0] == "@":
                line, base = _declarations(line, base, declared)
                above = base[: base.rindex("/", 0, -1) + 1] if base else ""
            line = line.rstrip("# ")
            if line:
                _read(line, (base, above), declared, found)


def _texts(parts: Iterable[bytes]) -> Iterator[str]:
    """Yield the parts as text, in whole lines; raises Unknown."""
    rest = b""
    try:
        for part in parts:
            if b"\r" in part:  # it ends a comment, too
                raise Unknown
            whole, newline, last = part.rpartition(b"\n")
            if newline:
                yield (rest + whole).decode()
            rest = last if newline else rest + last
        yield rest.decode()
    except UnicodeDecodeError:
        raise Unknown from None


def _declarations(line: str, base: str, declared: set[str]) -> tuple[str, str]:
    """Read the declarations at the beginning of a line; return the rest, and the base."""
    while match := PREFIX.match(line):
        if PREFIXES.get(match[1]) != match[2]:
            break
        declared.add(match[1])
        line = line[match.end() :]
    if (match := BASE.match(line)) and match[1].endswith("/"):
        return line[match.end() :], match[1]
    return line, base


def _read(line: str, bases: tuple[str, str], declared: set[str], found: MutableMapping[str, Record]) -> None:
    """Add the statements of a line to the records; `bases` are the base and its parent; raises Unknown."""
    place = line.find(" ")
    known = _shapes.setdefault(line[place : place + 12], [])
    for shape in known:
        match = shape.line.fullmatch(line)
        if match:
            break
    else:
        shape = _learned(line)
        match = shape.line.fullmatch(line)
        if match is None or sum(map(len, _shapes.values())) >= MOST:
            raise Unknown
        known.append(shape)
    if not shape.prefixes <= declared:
        raise Unknown
    values = match.groups()
    for statement in shape.statements:
        record = dict(zip(statement.names, values[statement.start : statement.end], strict=True))
        for name in statement.iris:
            record[name] = _resolved(record[name], *bases)
        record |= statement.fixed
        subject = _resolved(values[statement.start - 1], *bases)
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
        self.names: list[str] = []
        self.iris: list[str] = []
        self.fixed: dict[str, str] = {}

    def add(self, kind: str, text: str) -> None:
        """Add the next token."""
        if kind == ".":
            names, iris = tuple(self.names), tuple(self.iris)
            start = self.values - len(names)
            self.statements.append(_Statement(start, self.values, names, iris, self.fixed))
            self.place, self.names, self.iris, self.fixed = 0, [], [], {}
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
            self.names.append(name)
            if kind == "I":
                self.iris.append(name)
            self._capture(kind)


def _word(text: str, is_class: bool) -> str:
    """Return the value of a prefixed name: its IRI; for a class of provio, its local name."""
    prefix, _, local = text.partition(":")
    if is_class and not prefix:
        return local
    return PREFIXES[prefix] + local
