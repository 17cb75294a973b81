"""Explains a syntax error of SPARQL in one line. In: the query, the parser's message. Out: the reason with its place.

A parser lists all that its grammar would allow, hundreds of words, but not which word is wrong. Most errors are simple,
and are found in the tokens: a prefix without a declaration, a misspelt keyword, a bracket without its partner.
"""

from __future__ import annotations

import re

from provio.base.vocab import PREFIXES
from provio.settings.types import suggestion
from provio.store.sparql_tokens import matches

MOST = 160  # characters of another server's message
PIECE = 24  # characters of the query to show
WORDS = frozenset(
    "ABS ADD ALL AS ASC ASK AVG BASE BIND BNODE BOUND BY CEIL CLEAR COALESCE CONCAT CONSTRUCT CONTAINS COPY COUNT "
    "CREATE DATA DATATYPE DAY DEFAULT DELETE DESC DESCRIBE DISTINCT DROP ENCODE_FOR_URI EXISTS FILTER FLOOR FROM "
    "GRAPH GROUP GROUP_CONCAT HAVING HOURS IF IN INSERT INTO IRI ISBLANK ISIRI ISLITERAL ISNUMERIC ISURI LANG "
    "LANGMATCHES LCASE LIMIT LOAD MAX MD5 MIN MINUS MINUTES MONTH MOVE NAMED NOT NOW OFFSET OPTIONAL ORDER PREFIX "
    "RAND REDUCED REGEX REPLACE ROUND SAMETERM SAMPLE SECONDS SELECT SEPARATOR SERVICE SHA1 SHA256 SHA384 SHA512 "
    "SILENT STR STRAFTER STRBEFORE STRDT STRENDS STRLANG STRLEN STRSTARTS STRUUID SUBSTR SUM TIMEZONE TO TZ UCASE "
    "UNDEF UNION URI USING UUID VALUES WHERE WITH YEAR A TRUE FALSE".split()
)
# Namespaces that many queries use.
KNOWN = {
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "owl": "http://www.w3.org/2002/07/owl#",
    "schema": "https://schema.org/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
}
CLOSES = {"}": "{", ")": "(", "]": "["}
OPENS = frozenset(CLOSES.values())

Problem = tuple[int, str]  # its place in the text, and its description


def explained(text: str, message: str) -> str:
    """Return a parser's message about a query as one line that names the place and the probable reason."""
    problem = _undeclared(text) or _wrong_token(text) or _unbalanced(text)
    if problem:
        return f"{_place(text, problem[0])}: {problem[1]}"
    found = re.search(r"error at (\d+):(\d+): ?(.*)", message, re.DOTALL)
    if not found:
        line = " ".join(message.split())
        return line if len(line) < MOST else line[:MOST] + " …"
    stated = re.search(r"(?:^|, |one of )([A-Z][A-Za-z]+(?: [a-zA-Z]+){2,})", found[3])
    end = _offset(text, int(found[1]), int(found[2]))
    near = _near(text, end)
    unexpected = f"unexpected {near!r}" if near else "ends too early, or a part is not allowed"
    return f"{_place(text, end)}: {stated[1] if stated else unexpected}"


def _undeclared(text: str) -> Problem | None:
    """Return the first prefix that is not declared."""
    declared, before = set(PREFIXES), ""
    for found in matches(text):
        if found.lastgroup == "name" and before != "<":
            prefix = found[0].partition(":")[0]
            if before.upper() == "PREFIX":
                declared.add(prefix)
            elif prefix not in declared:
                add = f"PREFIX {prefix}: <{KNOWN.get(prefix, '…')}>"
                near = suggestion(prefix, declared) or f": add {add}"
                return found.start(), f"prefix {prefix}: is unknown{near}"
        before = found[0]
    return None


def _wrong_token(text: str) -> Problem | None:
    """Return the first word that SPARQL does not have, and the first IRI or string that does not end."""
    before = ""
    for found in matches(text):
        if found.lastgroup == "other" and found[0] in "'\"":
            return found.start(), f"the string that starts here has no closing {found[0]}"
        if found.lastgroup == "name" and before == "<":
            return found.start() - 1, "the IRI that starts here contains a space, or has no closing >"
        if found.lastgroup == "word" and before.upper() == "PREFIX":
            return found.start(), f"a prefix ends with a colon: PREFIX {_cut(found[0])}: <…>"
        if found.lastgroup == "word" and found[0].upper() not in WORDS:
            return found.start(), f"{_cut(found[0])} is no word{suggestion(found[0].upper()[:MOST], WORDS)}"
        before = found[0]
    return None


def _unbalanced(text: str) -> Problem | None:
    """Return the first bracket without its partner."""
    opened: list[tuple[str, int]] = []
    for found in matches(text):
        bracket = found[0] if found.lastgroup == "other" else ""
        if bracket in OPENS:
            opened.append((bracket, found.start()))
        elif bracket in CLOSES:
            if not opened:
                return found.start(), f"{bracket} closes nothing"
            before, place = opened.pop()
            if before != CLOSES[bracket]:
                return found.start(), f"{bracket} closes nothing: {before} of {_place(text, place)} is still open"
    return (opened[-1][1], f"{opened[-1][0]} is not closed") if opened else None


def _offset(text: str, row: int, column: int) -> int:
    """Return the place of a row and a column in a text."""
    lines = text.splitlines(keepends=True)
    return min(sum(map(len, lines[: row - 1])) + column - 1, len(text))


def _place(text: str, offset: int) -> str:
    before = text[:offset]
    return f"line {before.count(chr(10)) + 1}, column {offset - before.rfind(chr(10))}"


def _near(text: str, offset: int) -> str:
    """Return the piece of a text from a place on; empty at its end."""
    piece = " ".join(text[offset : offset + PIECE + 1].split())
    return _cut(piece)


def _cut(piece: str) -> str:
    return piece if len(piece) <= PIECE else piece[:PIECE] + "…"
