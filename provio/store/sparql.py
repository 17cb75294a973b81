"""Detects from the text of a SPARQL 1.1 query or update, before parsing, whether it would access other servers; and
returns the graphs that a query names.

Oxigraph has no option to reject `SERVICE` and `LOAD`. So the text is split into tokens (`sparql_tokens`): the content
of an IRI, a string, a comment or a variable, and the local part of a prefixed name are not keywords. If a text has
several readings, each counts. A client may send any text: each function here takes a time proportional to its length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, tee
from typing import NamedTuple, TypeGuard, TypeVar
from urllib.parse import urljoin

from provio.store.sparql_tokens import CODE, NONE, Token, matches, tokens

Item = TypeVar("Item")
_UPDATES = {"INSERT", "DELETE", "WITH", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD"}
_NAMES_A_GRAPH = {"graph", "from", "named"}  # a prefixed name after one of these names a graph
ROOM = 32 << 20  # characters of all resolved IRIs: a long base or prefix is repeated in each


# An IRI that can only be an IRI: it has a scheme and `//`, or none of `#`, `'` and `)`. Any other may be a comparison
# (`?a<…>`), and the text after it the rest of a string or a comment that started within it.
_PLAIN = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*+://|[^#')]*+$")


class Refused(SyntaxError):
    """A text that provio itself refuses, with its own reason."""


class Dataset(NamedTuple):
    """The graphs that a query names: default graphs (FROM) and named graphs (FROM NAMED)."""

    default: list[str]
    named: list[str]


class Names:
    """The base and the prefixes that a text has declared so far."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self.base, self.prefixes, self.room = "", dict(prefixes), ROOM

    def resolved(self, token: Token) -> str:
        """Return the IRI of a token that is an IRI or a prefixed name; raises SyntaxError for an undeclared prefix."""
        iri = self._resolved(token)
        self.room -= len(iri)
        if self.room < 0:
            raise Refused("the IRIs are too long together: use a shorter BASE or PREFIX")
        return iri

    def _resolved(self, token: Token) -> str:
        if token.kind == "iri":
            iri = re.sub(CODE, _decoded, token.text[1:-1])
            return urljoin(self.base, iri).rstrip("#") + "#" if iri.endswith("#") else urljoin(self.base, iri)
        prefix, _, local = token.text.partition(":")
        if prefix not in self.prefixes:
            raise Refused(f"{token.text}: no prefix {prefix}: is declared (and FROM needs a space after it)")
        return self.prefixes[prefix] + local.replace("\\", "")


def calls_service(text: str) -> bool:
    """Return whether a query or update contains the keyword SERVICE, which queries another server."""
    return _contains(text, "service", _is_service)


def loads(text: str) -> bool:
    """Return whether an update contains the keyword LOAD, which fetches a document."""
    return _contains(text, "load", _is_load)


def names_graphs(text: str) -> bool:
    """Return whether a query contains the keyword GRAPH."""
    return any(token.kind == "word" and token.text.upper() == "GRAPH" for token in tokens(text))


def updates(text: str) -> bool:
    """Return whether a text starts like an update, after its prologue."""
    words = (token.text.upper() for token in tokens(text) if token.kind == "word")
    return next((word for word in words if word not in ("PREFIX", "BASE")), "") in _UPDATES


def dataset(text: str, prefixes: Mapping[str, str]) -> Dataset | None:
    """Return the graphs of a query's FROM and FROM NAMED clauses, None if it has neither; `prefixes` need no
    declaration.

    Raises SyntaxError for an undeclared prefix, which may also be a keyword without a following space.
    """
    if "FROM" not in text.upper():
        return None
    names, found = Names(prefixes), Dataset([], [])
    for first, second, third in _windows(tokens(text), NONE, NONE):
        keyword = first.text.upper() if first.kind == "word" else ""
        if keyword == "BASE":
            names.base = names.resolved(second._replace(kind="iri"))
        elif keyword == "PREFIX":
            names.prefixes[second.text[:-1]] = names.resolved(third)
        elif keyword == "FROM" and second.text.upper() == "NAMED":
            found.named.append(names.resolved(third))
        elif keyword == "FROM":
            found.default.append(names.resolved(second))
        elif first.kind == "name" and first.text[:4].upper() == "FROM":
            names.resolved(first)
    return found if any(found) else None


def without_dataset(text: str) -> str:
    """Return a query with its FROM and FROM NAMED clauses blanked out: Virtuoso would query those graphs in addition
    to the requested ones."""
    parts, end = [], 0
    for first, second, third in _windows(matches(text), None, None):
        if _is_word(first, "FROM"):
            last = (third if _is_word(second, "NAMED") else second) or first
            parts += [text[end : first.start()], re.sub(r"\S", " ", text[first.start() : last.end()])]
            end = last.end()
    return "".join([*parts, text[end:]])


def with_graph(text: str, graph: str) -> str:
    """Return a query with one more FROM graph, if it has a FROM clause."""
    for first, second in _windows(matches(text), None):
        if _is_word(first, "FROM") and not _is_word(second, "NAMED"):
            return f"{text[: first.start()]}FROM <{graph}> {text[first.start() :]}"
    return text


def repeats_a_choice(text: str) -> bool:
    """Return whether a query has a path such as `(a|b)+`: any number of steps over alternatives."""
    open_: list[bool] = []
    for token, following in _windows(tokens(text), NONE):
        if token.text == "(":
            open_.append(False)
        elif token.text == "|" and open_:
            open_[-1] = True
        elif token.text == ")" and open_ and open_.pop():
            if following.text in ("+", "*"):
                return True
            open_[-1:] = [True] if open_ else []
    return False


def without_service(text: str) -> str:
    """Return a query that parses like this one but calls no server: GRAPH replaces SERVICE.

    Raises SyntaxError if the keyword has no space on either side.
    """
    parts, end = [], 0
    for first, second in _windows(matches(text), None):
        if _is_word(first, "SERVICE"):
            last = second if _is_word(second, "SILENT") else first
            parts += [text[end : first.start()], "GRAPH".ljust(last.end() - first.start())]
            end = last.end()
    text = "".join([*parts, text[end:]])
    if calls_service(text):
        raise Refused("SERVICE needs a space on both sides")
    return text


def _windows(found: Iterator[Item], *after: Item) -> Iterator[tuple[Item, ...]]:
    """Yield each item with the items that follow it, as many as `after`, which follow the last one."""
    copies = tee(chain(found, after), len(after) + 1)
    for number, copy in enumerate(copies):
        for _ in range(number):
            next(copy, None)
    return zip(*copies, strict=False)


def _is_word(found: re.Match[str] | None, word: str) -> TypeGuard[re.Match[str]]:
    return found is not None and found.lastgroup == "word" and found[0].upper() == word


def _contains(text: str, word: str, is_keyword: Callable[[Token, Token, Token], bool]) -> bool:
    """Return whether a keyword is in any reading of a text, or may be hidden in a doubtful IRI."""
    return any(
        is_keyword(before, token, after) or (token.kind == "iri" and not _PLAIN.match(token.text))
        for reading in _readings(text, word)
        for before, token, after in _windows(chain([NONE], tokens(reading)), NONE, NONE)
    )


def _readings(text: str, word: str) -> Iterable[str]:
    r"""Return the text as it is, and with `\u0053` decoded first, as the standard requires, both with and without
    decoding one after a backslash. Readings without the word are omitted."""
    found = [text]
    if "\\" in text:
        found += [re.sub(CODE, _decoded, text), re.sub(rf"{CODE}|\\.", _decoded, text, flags=re.DOTALL)]
    return [reading for reading in dict.fromkeys(found) if word in reading.casefold()]


def _decoded(found: re.Match[str]) -> str:
    if found[0][:2] not in ("\\u", "\\U"):
        return found[0]
    code = int(found[0][2:], 16) if len(found[0]) > 2 else -1
    return chr(code) if 0 <= code <= 0x10FFFF else found[0]


def _is_service(before: Token, token: Token, after: Token) -> bool:
    """Return whether a token contains SERVICE. Parsers accept a keyword without a space on either side:
    `trueSERVICE<…>`, `SERVICEex:name{`."""
    if token.kind == "word" and "service" in token.text.casefold():
        return True
    prefix = token.text.partition(":")[0].casefold()
    named = before.kind == "word" and before.text.casefold() in _NAMES_A_GRAPH
    return token.kind == "name" and "service" in prefix and after.text == "{" and not named


def _is_load(before: Token, token: Token, _after: Token) -> bool:
    """Return whether a token contains LOAD. An operation starts the text, or follows a `;` or the IRI of a prologue."""
    if token.kind == "word" and "load" in token.text.casefold():
        return True
    begins = before.kind in ("", "iri") or before.text == ";"
    return token.kind == "name" and begins and token.text.casefold().startswith("load")
