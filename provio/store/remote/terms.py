"""Converts the JSON results of servers to rows or solutions, with the terms that the embedded store would return.

Servers write the same value differently: `46.100Z` or `46.1Z`, `1` or `true`, `007` or `7`. Here each has Oxigraph's
form. The conversion goes row by row: an answer may be larger than the memory.
"""

from __future__ import annotations

import io
import json
import os
import re
import tempfile
from collections.abc import Iterator
from typing import IO

import pyoxigraph as ox

from provio.base.errors import StoreError
from provio.base.vocab import XSD

Row = list["ox.NamedNode | ox.BlankNode | ox.Literal | None"]
VIRTUOSO_ASK = ["__ASK_RETVAL"]
JSON = ox.QueryResultsFormat.JSON
_FRACTION = re.compile(r"(T\d\d:\d\d:\d\d)(?:\.(\d*?)0*)?(Z|[+-]\d\d:\d\d)?$")
_NEAR = 1 << 20  # bytes that are kept in memory


def rows(answer: IO[bytes]) -> Iterator[dict[str, str]]:
    """Yield the solutions of a SELECT: variable → lexical value, without the unbound ones; raises StoreError."""
    names, found = _select(answer)
    for row in found:
        yield {name: lexical(term) for name, term in zip(names, row, strict=True) if term is not None}


def table(answer: IO[bytes]) -> Iterator[list[str]]:
    """Yield the solutions of a SELECT as lists of lexical values, unbound ones empty."""
    for row in _select(answer)[1]:
        yield ["" if term is None else lexical(term) for term in row]


def solutions(answer: IO[bytes]) -> ox.QuerySolutions | ox.QueryBoolean:
    """Return the result of a SELECT or an ASK in the type that the embedded store's `query` returns."""
    found = _parsed(answer)
    if isinstance(found, ox.QueryBoolean):
        return found
    names, every = _names(found), _rows(found, answer)
    if names == VIRTUOSO_ASK:
        yes = any(lexical(row[0]) in ("1", "true") for row in every if row[0] is not None)
        return _parsed(io.BytesIO(f'{{"head": {{}}, "boolean": {json.dumps(yes)}}}'.encode()))
    return _parsed(_written(names, every))


def lexical(term: ox.NamedNode | ox.BlankNode | ox.Literal) -> str:
    """Return the value of a term in Oxigraph's form."""
    value = term.value
    kind = term.datatype.value if isinstance(term, ox.Literal) else ""
    if kind == XSD + "dateTime":
        return _FRACTION.sub(_time, value)
    if kind == XSD + "boolean":
        return {"1": "true", "0": "false"}.get(value, value)
    if kind == XSD + "integer" and re.fullmatch(r"[+-]?\d+", value):
        return str(int(value))
    if kind == XSD + "decimal" and re.fullmatch(r"[+-]?\d+\.\d+", value):
        return value.rstrip("0").rstrip(".")
    return value


def _select(answer: IO[bytes]) -> tuple[list[str], Iterator[Row]]:
    found = _parsed(answer)
    if isinstance(found, ox.QueryBoolean):
        raise TypeError("rows needs a SELECT")
    return _names(found), _rows(found, answer)


def _names(found: ox.QuerySolutions) -> list[str]:
    return [variable.value for variable in found.variables]


def _parsed(answer: IO[bytes]) -> ox.QuerySolutions | ox.QueryBoolean:
    """Parse results in the standard format; raises StoreError for anything else."""
    try:
        return ox.parse_query_results(answer, format=JSON)
    except (SyntaxError, ValueError) as error:
        raise _wrong(answer) from error


def _rows(found: ox.QuerySolutions, answer: IO[bytes]) -> Iterator[Row]:
    try:
        for solution in found:
            yield list(solution)
    except (SyntaxError, ValueError) as error:
        raise _wrong(answer) from error


def _wrong(answer: IO[bytes]) -> StoreError:
    """Return the error for an invalid answer: Oxigraph's server ends an answer at its time limit with a sentence."""
    answer.seek(-min(answer.seek(0, os.SEEK_END), 100), os.SEEK_END)
    if b"cancelled" in answer.read():
        return StoreError("the server stopped at a limit of its own: query less data, or see --timeout-s there")
    return StoreError("the server does not speak SPARQL (it answers with no results): see docs/servers.md")


def _written(names: list[str], every: Iterator[Row]) -> IO[bytes]:
    """Return a document of the rows, with terms in Oxigraph's form."""
    file = tempfile.SpooledTemporaryFile(_NEAR)  # noqa: SIM115 - the reader of the file closes it
    file.write(f'{{"head": {{"vars": {json.dumps(names)}}}, "results": {{"bindings": ['.encode())
    comma = ""
    for row in every:
        terms = {name: _json(term) for name, term in zip(names, row, strict=True) if term is not None}
        file.write((comma + json.dumps(terms)).encode())
        comma = ",\n"
    file.write(b"]}}")
    file.seek(0)
    return file


def _json(term: ox.NamedNode | ox.BlankNode | ox.Literal) -> dict[str, str]:
    if not isinstance(term, ox.Literal):
        return {"type": "uri" if isinstance(term, ox.NamedNode) else "bnode", "value": term.value}
    written = {"type": "literal", "value": lexical(term)}
    return {**written, "xml:lang": term.language} if term.language else {**written, "datatype": term.datatype.value}


def _time(found: re.Match[str]) -> str:
    return found[1] + (f".{found[2]}" if found[2] else "") + (found[3] or "")
