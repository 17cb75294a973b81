"""Detects from the text of a SPARQL 1.1 query or update, before parsing, whether it would access other servers; and
returns the graphs that a query names.

Oxigraph has no option to reject `SERVICE` and `LOAD`. So the text is split into the tokens of the grammar
(https://www.w3.org/TR/sparql11-query/#sparqlGrammar, rules 139 to 173): the content of an IRI, a string, a comment or
a variable, and the local part of a prefixed name are not keywords. If a text has several readings, each counts.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import urljoin

_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_CHARS = _BASE + "_0-9\u00b7\u0300-\u036f\u203f-\u2040-"
_HEX = "[0-9A-Fa-f]"
_CODE = rf"\\u{_HEX}{{4}}|\\U{_HEX}{{8}}"
_ESCAPED = rf"%{_HEX}{_HEX}|\\[_~.\-!$&'()*+,;=/?#@%]"
_PREFIX = rf"[{_BASE}](?:[{_CHARS}.]*[{_CHARS}])?"
_LOCAL = rf"(?:[{_CHARS}:]|{_ESCAPED})(?:(?:[{_CHARS}.:]|{_ESCAPED})*(?:[{_CHARS}:]|{_ESCAPED}))?"
TOKEN = re.compile(
    rf"""(?P<iri><(?:[^<>"{{}}|^`\\\x00-\x20]|{_CODE})*>)
    |(?P<string>'''(?:'{{0,2}}(?:[^'\\]|\\.))*'''|\"\"\"(?:"{{0,2}}(?:[^"\\]|\\.))*\"\"\"
               |'(?:[^'\\\n\r]|\\.)*'|"(?:[^"\\\n\r]|\\.)*")
    |(?P<comment>\#[^\n\r]*)
    |(?P<variable>[?$][{_CHARS}]+)
    |(?P<name>(?:{_PREFIX})?:(?:{_LOCAL})?)
    |(?P<blank>_:[{_CHARS}.]*)
    |(?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    |(?P<word>[{_BASE}][{_CHARS}]*)
    |(?P<other>[^\s])""",
    re.VERBOSE | re.DOTALL,
)
_UPDATES = {"INSERT", "DELETE", "WITH", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD"}
_NAMES_A_GRAPH = {"graph", "from", "named"}  # a prefixed name after one of these names a graph


# An IRI that can only be an IRI: it has a scheme and `//`, or none of `#`, `'` and `)`. Any other may be a comparison
# (`?a<…>`), and the text after it the rest of a string or a comment that started within it.
_PLAIN = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*://|[^#')]*$")


class Token(NamedTuple):
    """A token: its kind, a group of `TOKEN`, and its text."""

    kind: str
    text: str


class Dataset(NamedTuple):
    """The graphs that a query names: default graphs (FROM) and named graphs (FROM NAMED)."""

    default: list[str]
    named: list[str]


NONE = Token("", "")


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a text, without comments."""
    for found in TOKEN.finditer(text):
        if found.lastgroup != "comment":
            yield Token(found.lastgroup or "", found[0])


def calls_service(text: str) -> bool:
    """Return whether a query or update contains the keyword SERVICE, which queries another server."""
    return _contains(text, "service", _calls_service)


def loads(text: str) -> bool:
    """Return whether an update contains the keyword LOAD, which fetches a document."""
    return _contains(text, "load", _loads)


def names_graphs(text: str) -> bool:
    """Return whether a query contains the keyword GRAPH."""
    return any(token.kind == "word" and token.text.upper() == "GRAPH" for token in tokens(text))


def updates(text: str) -> bool:
    """Return whether a text starts like an update, after its prologue."""
    found = [token for token in tokens(text) if token.kind == "word"]
    first = next((word.text.upper() for word in found if word.text.upper() not in ("PREFIX", "BASE")), "")
    return first in _UPDATES


def dataset(text: str, prefixes: Mapping[str, str]) -> Dataset | None:
    """Return the graphs of a query's FROM and FROM NAMED clauses, None if it has neither; `prefixes` need no
    declaration.

    Raises SyntaxError for an undeclared prefix, which may also be a keyword without a following space.
    """
    base, known, found = "", dict(prefixes), Dataset([], [])
    ahead = [*tokens(text), NONE, NONE]
    for first, second, third in zip(ahead, ahead[1:], ahead[2:], strict=False):
        keyword = first.text.upper() if first.kind == "word" else ""
        if keyword == "BASE":
            base = urljoin(base, _decode(second.text[1:-1]))
        elif keyword == "PREFIX":
            known[second.text[:-1]] = resolved(third, base, known)
        elif keyword == "FROM" and second.text.upper() == "NAMED":
            found.named.append(resolved(third, base, known))
        elif keyword == "FROM":
            found.default.append(resolved(second, base, known))
        elif first.kind == "name" and first.text[:4].upper() == "FROM":
            resolved(first, base, known)
    return found if any(found) else None


def without_dataset(text: str) -> str:
    """Return a query with its FROM and FROM NAMED clauses blanked out: Virtuoso would query those graphs in addition
    to the requested ones."""
    found = [match for match in TOKEN.finditer(text) if match.lastgroup != "comment"]
    for first, second, third in zip(found, found[1:], found[2:], strict=False):
        if first.lastgroup == "word" and first[0].upper() == "FROM":
            end = (third if second[0].upper() == "NAMED" else second).end()
            text = text[: first.start()] + re.sub(r"\S", " ", text[first.start() : end]) + text[end:]
    return text


def with_graph(text: str, graph: str) -> str:
    """Return a query with one more FROM graph, if it has a FROM clause."""
    found = [match for match in TOKEN.finditer(text) if match.lastgroup != "comment"]
    for first, second in itertools.pairwise(found):
        if first.lastgroup == "word" and first[0].upper() == "FROM" and second[0].upper() != "NAMED":
            return f"{text[: first.start()]}FROM <{graph}> {text[first.start() :]}"
    return text


def repeats_a_choice(text: str) -> bool:
    """Return whether a query has a path such as `(a|b)+`: any number of steps over alternatives."""
    open_: list[bool] = []
    found = [*tokens(text)]
    for token, following in zip(found, [*found[1:], NONE], strict=True):
        if token.text == "(":
            open_.append(False)
        elif token.text == "|" and open_:
            open_[-1] = True
        elif token.text == ")" and open_ and open_.pop():
            if following.text in ("+", "*"):
                return True
            open_ = [*open_[:-1], True] if open_ else []
    return False


def without_service(text: str) -> str:
    """Return a query that parses like this one but calls no server: GRAPH replaces SERVICE.

    Raises SyntaxError if the keyword has no space on either side.
    """
    found = [match for match in TOKEN.finditer(text) if match.lastgroup != "comment"]
    for first, second in itertools.pairwise(found):
        if first.lastgroup == "word" and first[0].upper() == "SERVICE":
            silent = second.end() if second[0].upper() == "SILENT" else first.end()
            text = text[: first.start()] + "GRAPH".ljust(silent - first.start()) + text[silent:]
    if calls_service(text):
        raise SyntaxError("SERVICE needs a space on both sides")
    return text


def resolved(token: Token, base: str, known: Mapping[str, str]) -> str:
    """Return the IRI of a token that is an IRI or a prefixed name."""
    if token.kind == "iri":
        iri = _decode(token.text[1:-1])
        return urljoin(base, iri).rstrip("#") + "#" if iri.endswith("#") else urljoin(base, iri)
    prefix, _, local = token.text.partition(":")
    if prefix not in known:
        raise SyntaxError(f"{token.text}: no prefix {prefix}: is declared (and FROM needs a space after it)")
    return known[prefix] + local.replace("\\", "")


def _decode(text: str) -> str:
    return re.sub(_CODE, _decoded, text)


def _contains(text: str, word: str, found_in: Callable[[list[Token]], bool]) -> bool:
    """Return whether a keyword is in any reading of a text, or may be hidden in a doubtful IRI."""
    for reading in _readings(text, word):
        found = list(tokens(reading))
        if found_in(found) or any(token.kind == "iri" and not _PLAIN.match(token.text) for token in found):
            return True
    return False


def _readings(text: str, word: str) -> list[str]:
    r"""Return the text as it is, and with `\u0053` decoded first, as the standard requires, both with and without
    decoding one after a backslash. Readings without the word are omitted."""
    found = [text]
    if "\\" in text:
        found += [re.sub(_CODE, _decoded, text), re.sub(rf"{_CODE}|\\.", _decoded, text, flags=re.DOTALL)]
    return [reading for reading in found if word in reading.casefold()]


def _decoded(found: re.Match[str]) -> str:
    if found[0][:2] not in ("\\u", "\\U"):
        return found[0]
    code = int(found[0][2:], 16) if len(found[0]) > 2 else -1
    return chr(code) if 0 <= code <= 0x10FFFF else found[0]


def _calls_service(found: list[Token]) -> bool:
    """Return whether tokens contain SERVICE. Parsers accept a keyword without a space on either side:
    `trueSERVICE<…>`, `SERVICEex:name{`."""
    for before, token, after in zip([NONE, *found], found, [*found[1:], NONE], strict=False):
        if token.kind == "word" and "service" in token.text.casefold():
            return True
        prefix = token.text.partition(":")[0].casefold()
        named = before.kind == "word" and before.text.casefold() in _NAMES_A_GRAPH
        if token.kind == "name" and "service" in prefix and after.text == "{" and not named:
            return True
    return False


def _loads(found: list[Token]) -> bool:
    """Return whether tokens contain LOAD. An operation starts the text, or follows a `;` or the IRI of a prologue."""
    for before, token in zip([NONE, *found], found, strict=False):
        if token.kind == "word" and "load" in token.text.casefold():
            return True
        begins = before.kind in ("", "iri") or before.text == ";"
        if token.kind == "name" and begins and token.text.casefold().startswith("load"):
            return True
    return False
