"""Secrets in the first rows of tables and lines of texts, by the names of settings in them. In: raw rows, or a redacted
text. Out: rows without secrets; whether a text may be shown.

A page is handed on, so it is stricter than a command line: a cell next to or below the name of a secret is hidden, and
a text in which such a name has another value than `REDACTED` is not shown at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from provio.trace.redact import REDACTED, Redaction
from provio.trace.secret_forms import NUMBERS, STATED

Rows = list[list[str]]
LONGEST: Final = 100  # characters of a name
# A word, or two that a space parts (`API key`); a word inside another quote or bracket starts a new one.
WORD: Final = re.compile(r"[^\W\d_](?:[\w-]|\.(?=\w))*")
# The end of a private key, whose beginning is followed by REDACTED, and the end of an element of XML.
ENDS: Final = re.compile(r"-----END [A-Z0-9 ]*-----|</[\w:.-]{1,100}>")
BETWEEN: Final = re.compile(r"\W{0,99}")
# The value ends after REDACTED: with a quote, a bracket, the line, or the name of the next setting.
HIDDEN: Final = re.compile(
    REDACTED + r"(?:[\"'`\\\])}<&-]|[ \t,;.]*$|[,; \t]\s*[\"']?[\w.-]{1,100}[\"']?\s*[:=])", re.MULTILINE
)
VALUE: Final = re.compile(r"[^\n,;\"'`}\]]{0,200}")
BEFORE: Final = re.compile(r"[^\w\n]*(?:[A-Za-z]{1,20}[ ._-]){0,3}")  # `user `, `door ` before a name in a cell
ASSIGNED: Final = re.compile(r"[\"'\s]*[:=]")


def hidden(rows: Rows, redaction: Redaction) -> Rows:
    """Return rows in which the cells to the right of the name of a secret, and those below one in the header, are
    REDACTED. The header ends with the first row of the largest number of cells."""
    widest = max(map(len, rows), default=0)
    header = next((at for at, row in enumerate(rows) if len(row) == widest), 0)
    result = [list(row) for row in rows]
    for at, row in enumerate(rows):
        for column, cell in enumerate(row):
            right = [(at, other) for other in range(column + 1, len(row))]
            below = [(other, column) for other in range(at + 1, len(rows)) if column < len(rows[other])]
            for places in (right, below if at <= header else []):
                filled = [(line, place) for line, place in places if rows[line][place].strip()]
                number = all(NUMBERS.fullmatch(rows[line][place]) for line, place in filled)
                if filled and _is_name(redaction, cell, number=number):
                    for line, place in filled:
                        result[line][place] = REDACTED
    return result


def is_open(text: str, redaction: Redaction, cell: bool = False) -> bool:
    """Return whether a redacted text contains the name of a secret whose value is not redacted. In a table, a `cell`
    that is only a name is not open."""
    text = ENDS.sub("\n", text)
    return any(
        not (cell and BEFORE.fullmatch(text[:start]) and not text[end:].strip(" \t\r\n:=\"'"))
        for start, end in _names(text, redaction)
        if not HIDDEN.match(text, BETWEEN.match(text, end).end())  # type: ignore[union-attr]  # it matches always
    )


def _names(text: str, redaction: Redaction) -> Iterator[tuple[int, int]]:
    """Yield where the names of secrets are; not those whose value states that there is none, or is a number."""
    before: re.Match[str] | None = None
    for word in WORD.finditer(text):
        value = VALUE.match(text, BETWEEN.match(text, word.end()).end())[0].strip()  # type: ignore[union-attr,index]
        assigned = ASSIGNED.match(text, word.end())
        name = word[0]
        start = word.start()
        if before and text[before.end() : start].strip(" \t") == "" and not _is_name(redaction, name):
            name, start = f"{before[0]} {name}", before.start()  # `API key`
        before = word
        number = bool(value) and bool(NUMBERS.fullmatch(value))
        if name == REDACTED or (name.casefold() == "pass" and not assigned) or (assigned and STATED.fullmatch(value)):
            continue
        if _is_name(redaction, name, value, number):
            yield start, word.end()


def _is_name(redaction: Redaction, text: str, value: str = "", number: bool = False) -> bool:
    """Return whether a text is the name of a secret, in any spelling: `PassWord`, `API key`, `--db-password2:`."""
    if not text or len(text) > LONGEST or REDACTED in text:
        return False
    plain = re.sub(r"[\W\d_]+", "_", text).strip("_")
    return any(redaction.is_name(name, value, number) for name in dict.fromkeys((text, plain, plain.lower())))
