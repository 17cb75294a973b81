"""Finds the properties in the patterns of a SPARQL query, with the positions of their paths and objects in the text;
and rewrites patterns with a PROV class so that they also match the stored classes that imply it.

The text is read token by token, as far as the grammar of patterns requires. The content of GRAPH and SERVICE, the
template of a CONSTRUCT and its short form are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from provio.base.vocab import PREFIXES, RDF, RDFS
from provio.store import implied
from provio.store.sparql import Names
from provio.store.sparql_tokens import Token, Tokenizer

TYPE = RDF + "type"
A = Token("word", "a")
NUMBER = re.compile(r"[+-]?(\d+\.\d*[eE][+-]?\d+|\.?\d+[eE][+-]?\d+|\d*\.\d+|\d+)")
OPERANDS = ("variable", "string", "language", "name", "iri")  # after one of these, `<` is an operator


class Path(NamedTuple):
    """A part of a property path with its position: `what` is the property of a step, or the operator of `parts`."""

    start: int
    end: int
    what: str
    parts: tuple[Path, ...] = ()


class Property(NamedTuple):
    """A property of a subject: its path, and its objects, each with the position of the comma before it. The text of
    a subject or an object that is no IRI is empty."""

    subject: str
    path: Path
    objects: tuple[tuple[str, int, int], ...]


class Unclear(Exception):
    """A text that the reader does not understand."""


def properties(text: str) -> list[Property]:
    """Return the properties of a query; raises Unclear or SyntaxError if the query is not understood."""
    query = _Query(text)
    try:
        query.read()
    except RecursionError:
        raise Unclear from None
    return query.found


class _Tokens:
    """A text, read one token at a time."""

    def __init__(self, text: str) -> None:
        self.text, self.tokenizer = text, Tokenizer(text)
        self.start = self.end = self.before = 0
        self.token = Token("", "")
        self.next()

    def next(self) -> None:
        """Advance to the next token."""
        found = self.tokenizer.match(self.end)
        while found and found.lastgroup == "comment":
            found = self.tokenizer.match(found.end())
        self.before = self.end
        self.start, self.end = found.span() if found else (len(self.text),) * 2
        self.token = Token(found.lastgroup or "", found[0]) if found else Token("", "")

    def at(self, *texts: str) -> bool:
        """Return whether the token is one of these; words are compared in capitals."""
        return (self.token.text.upper() if self.token.kind == "word" else self.token.text) in texts

    def take(self, text: str) -> None:
        """Skip a token that must be this one."""
        if not self.at(text):
            raise Unclear
        self.next()

    def up_to(self, text: str) -> None:
        """Advance to the next token with this text."""
        while not self.at(text):
            if not self.token.kind or self.at("}"):
                raise Unclear
            self.next()

    def block(self) -> None:
        """Skip a block without reading its patterns."""
        depth = 0
        while True:
            depth += self.at("{") - self.at("}")
            if not self.token.kind:
                raise Unclear
            self.next()
            if not depth:
                return

    def number(self) -> bool:
        """Return whether a number starts here, and make its characters the token."""
        found = NUMBER.match(self.text, self.start)
        if found:
            self.end = found.end()
        return found is not None


class _Query(_Tokens):
    """A reader of a query; `found` contains the properties read so far."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.found: list[Property] = []
        self.names = Names(PREFIXES)

    def read(self) -> None:
        """Read the complete query."""
        while self.at("PREFIX", "BASE"):
            self._declaration()
        if self.at("CONSTRUCT"):
            self.next()
            if not self.at("{"):
                return
            self.block()
        elif not self.at("SELECT", "ASK", "DESCRIBE"):
            return
        self._head()
        if self.at("{"):
            self._group()
            self._modifiers()

    def _declaration(self) -> None:
        base = self.at("BASE")
        self.next()
        prefix = self.token.text[:-1]
        if not base:
            self.next()
        iri = self.names.resolved(self.token)
        self.next()
        if base:
            self.names.base = iri
        else:
            self.names.prefixes[prefix] = iri

    def _head(self) -> None:
        """Skip the part before the pattern of a query."""
        while self.token.kind and not self.at("{"):
            self._expression() if self.at("(") else self.next()

    def _modifiers(self) -> None:
        """Skip the part after the pattern of a query."""
        while self.token.kind and not self.at("}"):
            if self.at("VALUES"):
                self._values()
            else:
                self._expression() if self.at("(") else self.next()

    def _values(self) -> None:
        self.up_to("{")
        self.block()

    def _group(self) -> None:
        self.take("{")
        if self.at("SELECT"):
            self._head()
            self._group()
            self._modifiers()
        while not self.at("}"):
            self._part()
        self.next()

    def _part(self) -> None:
        """Read one part of a group."""
        if self.at("{"):
            self._group()
        elif self.at(".", "OPTIONAL", "MINUS", "UNION"):
            self.next()
        elif self.at("GRAPH", "SERVICE"):
            self.up_to("{")
            self.block()
        elif self.at("FILTER"):
            self.next()
            self._filter()
        elif self.at("BIND"):
            self.next()
            self._expression()
        elif self.at("VALUES"):
            self._values()
        elif self.token.kind in ("", "word"):
            raise Unclear
        else:
            subject = self._term()
            self._properties(subject)

    def _filter(self) -> None:
        if self.at("NOT", "EXISTS"):
            self.up_to("{")
            self._group()
            return
        if not self.at("("):
            self.next()
        self._expression()

    def _expression(self) -> None:
        """Read an expression in parentheses, with its patterns (EXISTS)."""
        if not self.at("("):
            raise Unclear
        depth, operand = 0, False
        while True:
            if self.at("{"):
                self._group()
                operand = True
                continue
            if not self.token.kind or self.at("}"):
                raise Unclear
            if self.token.kind == "iri" and operand:
                self.end = self.start + 1
            depth += self.at("(") - self.at(")")
            operand = self.token.kind in OPERANDS or self.at(")") or self.token.text[-1].isdigit()
            self.next()
            if not depth:
                return

    def _term(self) -> str:
        """Read a subject or an object; return its IRI, or an empty text for any other term."""
        token = self.token
        named = self.names.resolved(token) if token.kind in ("iri", "name") else ""
        if self.at("["):
            self.next()
            self._properties("")
            self.take("]")
        elif self.at("("):
            self.next()
            while not self.at(")"):
                self._term()
            self.next()
        elif token.kind == "string":
            self.next()
            if self.token.kind == "language":
                self.next()
            elif self.at("^"):
                for _ in "^^t":
                    self.next()
        elif named or token.kind in ("variable", "blank") or self.at("TRUE", "FALSE") or self.number():
            self.next()
        else:
            raise Unclear
        return named

    def _properties(self, subject: str) -> None:
        """Read the properties of a subject, with the objects of each."""
        while self.token.kind in ("variable", "iri", "name") or self.token == A or self.at("^", "(", "!"):
            path = None if self.token.kind == "variable" else self._path()
            if path is None:
                self.next()
            self._objects(subject, path)
            if not self.at(";"):
                return
            while self.at(";"):
                self.next()

    def _objects(self, subject: str, path: Path | None) -> None:
        """Read the objects of a property."""
        objects = [(self._term(), 0, 0)]
        while self.at(","):
            start, end = self.start, self.end
            self.next()
            objects.append((self._term(), start, end))
        if path:
            self.found.append(Property(subject, path, tuple(objects)))

    def _path(self) -> Path:
        return self._several("|", lambda: self._several("/", self._element))

    def _several(self, operator: str, read: Callable[[], Path]) -> Path:
        parts = [read()]
        while self.at(operator):
            self.next()
            parts.append(read())
        return parts[0] if len(parts) == 1 else Path(parts[0].start, parts[-1].end, operator, tuple(parts))

    def _element(self) -> Path:
        start = self.start
        if self.at("^"):
            self.next()
            inner = self._element()
            return Path(start, inner.end, "^", (inner,))
        part = self._primary()
        if self.at("*", "+", "?"):
            self.next()
            return Path(start, self.before, self.text[self.before - 1], (part,))
        return part

    def _primary(self) -> Path:
        start, token = self.start, self.token
        if self.at("("):
            self.next()
            inner = self._path()
            self.take(")")
            return Path(start, self.before, "|", (inner,))
        if self.at("!"):
            self.next()
            self._negated()
            return Path(start, self.before, "!")
        what = TYPE if token == A else self.names.resolved(token)
        self.next()
        return Path(start, self.before, what)

    def _negated(self) -> None:
        """Skip the steps that a negated path excludes."""
        if self.at("("):
            self.up_to(")")
        elif self.at("^"):
            self.next()
        self.next()


# The rewriting of patterns with implied PROV classes.


STEP = f"<{implied.IMPLIES}>"
Edit = tuple[int, int, str]
OFTEN = 1 << 14  # characters: a shorter query may be run often, and is widened once
ROOM = 4 << 20  # characters that are inserted


def widened(text: str) -> str:
    """Return a query that finds nodes by the PROV classes that their stored class implies."""
    return _widened(text) if len(text) < OFTEN else _widened.__wrapped__(text)


@lru_cache(maxsize=256)
def _widened(text: str) -> str:
    if not any(name.rpartition("#")[2] in text for name in implied.names()):
        return text
    try:
        found = properties(text)
    except (Unclear, SyntaxError):
        return text
    edits, room = [], ROOM
    for edit in (edit for one in found for edit in _edits(one, text)):
        edits.append(edit)
        room -= len(edit[2])
        if room < 0:  # a long path with many objects
            return text
    return _edited(text, edits)


def _edited(text: str, edits: Iterable[Edit], offset: int = 0) -> str:
    parts, last = [], 0
    for start, end, new in sorted(edits):
        parts += [text[last : start - offset], new]
        last = end - offset
    return "".join([*parts, text[last:]])


def _edits(one: Property, text: str) -> Iterator[Edit]:
    """Yield the changes of a property's text: an object that needs another path than its predecessor gets a predicate
    of its own."""
    start, end = one.path.start, one.path.end
    backwards = _ends(one.path, text, forward=False) if one.subject in implied.names() else []
    forwards = _ends(one.path, text) if any(value in implied.names() for value, *_ in one.objects) else []
    if not forwards and not backwards:
        return
    current = text[start:end]
    plain, wide = (_edited(current, edits, start) for edits in (backwards, [*forwards, *backwards]))
    for number, (value, *comma) in enumerate(one.objects):
        verb = wide if value in implied.names() else plain
        if verb != current:
            yield (comma[0], comma[1], f"; {verb} ") if number else (start, end, verb)
        current = verb


def _ends(path: Path, text: str, *, forward: bool = True) -> list[Edit]:
    """Return the edits that extend the last step of a path (the first if the path is reversed) through the stored
    classes, if that step leads to a class."""
    if path.what == TYPE:
        return [(path.start, path.end, f"{text[path.start : path.end]}/{STEP}")] if forward else []
    if path.what == "|":
        return [edit for part in path.parts for edit in _ends(part, text, forward=forward)]
    if path.what == "/":
        before, last = path.parts[-2:]
        if forward and before.what == TYPE and last.what in "*+" and last.parts[0].what == RDFS + "subClassOf":
            step = last.parts[0]
            return [(step.start, step.end, f"({text[step.start : step.end]}|{STEP})")]
        return _ends(path.parts[-1 if forward else 0], text, forward=forward)
    if path.what == "^":
        inner = path.parts[0]
        found = _ends(inner, text, forward=not forward)
        return [*found, (inner.start, inner.start, "("), (inner.end, inner.end, ")")] if found else []
    return []
