"""Rows of a SELECT query as text. In: variables, and rows of pyoxigraph terms (None: unbound). Out: a string.

`json`, `csv` and `tsv` are the SPARQL 1.1 result formats, for programs. `json` and `tsv` are lossless. `csv` quotes
values by RFC 4180 (W3C, SPARQL 1.1 Query Results CSV and TSV Formats), except that a text that a spreadsheet would take
for a formula has an apostrophe before it, and control characters are escaped. `table` is for people: aligned, with
escaped control characters and times as in all texts, to the second. A column in which this would make different times
equal keeps their fractions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from provio.base.table import align
from provio.base.text import moment, printable
from provio.base.turtle import inert
from provio.base.vocab import PREFIXES

if TYPE_CHECKING:
    from pyoxigraph import BlankNode, Literal, NamedNode, Triple

    Term = NamedNode | BlankNode | Literal | Triple

Row = Sequence["Term | None"]

FORMS = ("table", "json", "csv", "tsv")
_XSD = "http://www.w3.org/2001/XMLSchema#"
_NUMBERS = {_XSD + name for name in ("integer", "decimal", "double", "float", "int", "long")}
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?INF")
_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # starts of a text that a spreadsheet would calculate


def render(
    variables: Sequence[str], rows: Iterable[Row], form: str, *, width: int | None = None, unicode: bool = True
) -> str:
    """Return the rows in one of `FORMS`; `variables` carry no `?`; `width` and `unicode` concern the table alone."""
    if form == "table":
        return _table(variables, rows, width, unicode)
    writers = {"json": _json, "csv": _csv, "tsv": _tsv}
    return writers[form](variables, rows)


def boolean(value: bool, form: str) -> str:
    """Return the answer to a yes-no query: SPARQL results JSON, or else `true` or `false`."""
    word = "true" if value else "false"
    return f'{{"head": {{}}, "boolean": {word}}}\n' if form == "json" else f"{word}\n"


def _kind(term: Term) -> str:
    return type(term).__name__


def _table(variables: Sequence[str], rows: Iterable[Row], width: int | None, unicode: bool) -> str:
    held = list(rows)
    numeric = {
        name
        for place, name in enumerate(variables)
        if held and all(row[place] is None or _is_number(row[place]) for row in held)
    }
    cells = [list(row) for row in zip(*(_column(column) for column in zip(*held, strict=True)), strict=True)]
    prose = {name for place, name in enumerate(variables) if any(_is_prose(row[place]) for row in held)}
    return align(variables, cells, width=width, unicode=unicode, right=numeric, fold=prose)


def _column(terms: Sequence[Any]) -> list[str]:
    """Return the cells of a column."""
    times = {term.value: moment(term.value) for term in terms if _is_time(term)}
    if len(set(times.values())) < len(times):
        times = {time: f"{time[:-1].replace('T', ' ')} UTC" for time in times}
    return [times[term.value] if _is_time(term) else _short(term) for term in terms]


def _is_time(term: Any) -> bool:
    return _kind(term) == "Literal" and term.datatype.value == _XSD + "dateTime" and bool(_UTC.fullmatch(term.value))


def _is_number(term: Any) -> bool:
    return _kind(term) == "Literal" and term.datatype.value in _NUMBERS


def _is_prose(term: Any) -> bool:
    return _kind(term) == "Literal" and " " in term.value


def _short(term: Any) -> str:
    """Return a term as short text: an IRI with its prefix."""
    text = _plain(term)
    if _kind(term) != "NamedNode":
        return text
    known = {**PREFIXES, "": "https://w3id.org/provio/"}
    return next((f"{name}:{text[len(base) :]}" for name, base in known.items() if text.startswith(base)), text)


def _plain(term: Any) -> str:
    """Return the value of a term: an IRI without brackets, a literal without quotes."""
    if term is None:
        return ""
    if _kind(term) == "BlankNode":
        return f"_:{term.value}"
    return str(term) if _kind(term) == "Triple" else str(term.value)


def _csv(variables: Sequence[str], rows: Iterable[Row]) -> str:
    lines = [list(variables), *([_harmless(term) for term in row] for row in rows)]
    return "".join(",".join(map(csv_field, line)) + "\r\n" for line in lines)


def _harmless(term: Any) -> str:
    """Return the value of a term; a text that a spreadsheet would calculate has an apostrophe before it, but no
    number has."""
    text = without_escapes(_plain(term))
    formula = text.startswith(FORMULA) and not (_is_number(term) and _NUMBER.fullmatch(text))
    return "'" + text if formula else text


def without_escapes(text: str) -> str:
    """Return a text with escaped control characters, except line ends and tabs."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in "\r\n\t" else printable(c) for c in text)


def csv_field(text: str) -> str:
    """Return a value as a field of RFC 4180."""
    return '"' + text.replace('"', '""') + '"' if set(text) & set('",\r\n') else text


def _tsv(variables: Sequence[str], rows: Iterable[Row]) -> str:
    lines = ["\t".join("?" + name for name in variables)]
    lines += ["\t".join("" if term is None else _turtle(term) for term in row) for row in rows]
    return "".join(line + "\n" for line in lines)


def _turtle(term: Any) -> str:
    """Return a term as Turtle on one line."""
    return inert(_turtle_text(term).encode()).decode()


def _turtle_text(term: Any) -> str:
    if _kind(term) != "Literal":
        return str(term)
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
    text = "".join(escapes.get(c) or (f"\\u{ord(c):04X}" if c < " " or c == "\x7f" else c) for c in term.value)
    if term.language:
        return f'"{text}"@{term.language}'
    datatype = term.datatype.value
    return f'"{text}"' if datatype == _XSD + "string" else f'"{text}"^^<{datatype}>'


def _json(variables: Sequence[str], rows: Iterable[Row]) -> str:
    bound = [
        {name: _json_term(term) for name, term in zip(variables, row, strict=True) if term is not None} for row in rows
    ]
    lines = ",\n    ".join(json.dumps(row, ensure_ascii=True) for row in bound)
    body = f"[\n    {lines}\n  ]" if bound else "[]"
    return f'{{\n  "head": {{"vars": {json.dumps(list(variables))}}},\n  "results": {{"bindings": {body}}}\n}}\n'


def _json_term(term: Any) -> dict[str, Any]:
    kind = _kind(term)
    if kind == "NamedNode":
        return {"type": "uri", "value": term.value}
    if kind == "BlankNode":
        return {"type": "bnode", "value": term.value}
    if kind == "Triple":
        parts = ("subject", "predicate", "object")
        return {"type": "triple", "value": {part: _json_term(getattr(term, part)) for part in parts}}
    if term.language:
        return {"type": "literal", "value": term.value, "xml:lang": term.language}
    datatype = term.datatype.value
    plain = {"type": "literal", "value": term.value}
    return plain if datatype == _XSD + "string" else {**plain, "datatype": datatype}
