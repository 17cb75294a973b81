"""A thread file's bytes in, its records out, without a Turtle parser: by the shapes of the lines that the shim writes.

A line is read here where all of it is of a form of which Turtle leaves no doubt; its shape (all but names and values)
then serves for every line like it, in one match. Of any other file nothing is said here: it is read as Turtle.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, MutableMapping

from provio.base.records import plain
from provio.base.vocab import NS, PROV, XSD, vocabulary

Record = dict[str, str]
Records = dict[str, Record]

MOST = 256  # shapes that are kept; the shim writes some 100
PREFIXES = {"": NS, "prov": PROV, "xsd": XSD}
SEGMENT = r"[A-Za-z0-9_%-][A-Za-z0-9_%.~-]*"
ABSOLUTE = rf"https://w3id\.org/provio/run/(?:{SEGMENT}/)*(?:{SEGMENT})?"
BASE = re.compile(rf"@base <({ABSOLUTE})> \. ?")
PREFIX = re.compile(r"@prefix (\w*): <([^<>]*)> \. ?")
TEXT = r"[ !#-\[\]-~\xa0-\ud7ff]*"
NAME = rf"{ABSOLUTE}|(?:\.\./)?(?:[A-Za-z0-9]+(?:/[A-Za-z0-9]+)*/?)?"
# The kinds of tokens: the letter that stands for one, what it looks like, and what of it is the value.
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
# What a `:value` of each kind is; of a text nothing is noted.
VALUES = {"D": "dateTime", "X": "double", "B": "boolean", "E": "double", "M": "integer", "0": "integer"}
SIGNED = frozenset({"value", "step"})
LINE = re.compile(rf"{STATEMENT}(?:_{STATEMENT})*")


class Unknown(Exception):
    """A line of no form that is read here."""


@plain(frozen=True, slots=True)
class _Statement:
    """What one statement of a shape says: its properties' names, and where their values are in a match; before them is
    the subject. Those of `iris` are IRIs; `fixed` are the same in each line."""

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


_shapes: dict[str, list[_Shape]] = {}  # by how a line goes on after its subject


def records(data: bytes) -> Records | None:
    """The records of a file, as `trace_records.records_in` has them; None where it is not made of such lines alone."""
    found: Records = {}
    try:
        read([data], found)
    except Unknown:
        return None
    return found


def read(parts: Iterable[bytes], found: MutableMapping[str, Record]) -> None:
    """Add the records of a file, which comes in parts, to those found, as they are read; raises Unknown."""
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
    """The same as text, in parts of whole lines; raises Unknown."""
    rest = b""
    try:
        for part in parts:
            if b"\r" in part:  # which ends a comment, too
                raise Unknown
            whole, newline, last = part.rpartition(b"\n")
            if newline:
                yield (rest + whole).decode()
            rest = last if newline else rest + last
        yield rest.decode()
    except UnicodeDecodeError:
        raise Unknown from None


def _declarations(line: str, base: str, declared: set[str]) -> tuple[str, str]:
    """Take the declarations from the beginning of a line; return the rest, and the base."""
    while match := PREFIX.match(line):
        if PREFIXES.get(match[1]) != match[2]:
            break
        declared.add(match[1])
        line = line[match.end() :]
    if (match := BASE.match(line)) and match[1].endswith("/"):
        return line[match.end() :], match[1]
    return line, base


def _read(line: str, bases: tuple[str, str], declared: set[str], found: MutableMapping[str, Record]) -> None:
    """Add what a line states to the records; `bases` are the base, and what is above it; raises Unknown."""
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
    """Resolve a relative IRI of the forms that a shape takes."""
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
    shape = _Maker()
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


class _Maker:
    """Puts a shape together, token by token, in the order that LINE allows."""

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
        """Take the next token."""
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
        if prefix:  # of PROV's properties nothing is read
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
    """Return what a record has for a word: its IRI, or of a class of ours the local name."""
    prefix, _, local = text.partition(":")
    if is_class and not prefix:
        return local
    return PREFIXES[prefix] + local
