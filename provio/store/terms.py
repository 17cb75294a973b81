"""What servers answer, in the terms that the embedded store would use: results in JSON in, rows or solutions out.

Servers differ in how they write one value: `46.100Z` or `46.1Z`, `1` or `true`, `007` or `7`. Here each is written as
Oxigraph does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

import pyoxigraph as ox

from provio.errors import StoreError
from provio.vocab import XSD

VIRTUOSO_ASK = ["__ASK_RETVAL"]
_FRACTION = re.compile(r"(T\d\d:\d\d:\d\d)(?:\.(\d*?)0*)?(Z|[+-]\d\d:\d\d)?$")


def document(answer: bytes) -> dict[str, Any]:
    """Return results as the standard has them; raises StoreError for anything else."""
    try:
        found = json.loads(answer)
        if found["head"].get("vars") == VIRTUOSO_ASK:
            yes = [row[VIRTUOSO_ASK[0]]["value"] in ("1", "true") for row in found["results"]["bindings"]]
            return {"head": {}, "boolean": any(yes)}
        for row in found.get("results", {"bindings": ()})["bindings"]:
            for term in row.values():
                _correct(term)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise StoreError(
            "the server does not speak SPARQL (it answers with no results): see docs/servers.md"
        ) from error
    return cast("dict[str, Any]", found)


def rows(answer: bytes) -> Iterator[dict[str, str]]:
    """Yield the solutions of a SELECT: variable → lexical value, unbound ones left out."""
    for row in _bindings(document(answer)):
        yield {name: term["value"] for name, term in row.items()}


def table(answer: bytes) -> Iterator[list[str]]:
    """Yield the solutions of a SELECT as lists of lexical values, unbound ones empty."""
    found = document(answer)
    names = found["head"].get("vars", [])
    for row in _bindings(found):
        yield [row[name]["value"] if name in row else "" for name in names]


def solutions(answer: bytes) -> ox.QuerySolutions | ox.QueryBoolean:
    """Return what the embedded store's `query` returns of a SELECT or an ASK."""
    text = json.dumps(document(answer)).encode()
    return ox.parse_query_results(text, format=ox.QueryResultsFormat.JSON)


def term(binding: dict[str, str]) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    """Return one term of the results."""
    value, kind = binding["value"], binding["type"]
    if kind == "uri":
        return ox.NamedNode(value)
    if kind == "bnode":
        return ox.BlankNode(value)
    if "xml:lang" in binding:
        return ox.Literal(value, language=binding["xml:lang"])
    return ox.Literal(value, datatype=ox.NamedNode(binding.get("datatype", XSD + "string")))


def _bindings(found: dict[str, Any]) -> list[dict[str, Any]]:
    if "results" not in found:
        raise TypeError("rows needs a SELECT")
    return found["results"]["bindings"]  # type: ignore[no-any-return]


def _correct(term: dict[str, str]) -> None:
    kind, value = term.get("datatype", ""), term["value"]
    if term["type"] == "typed-literal":
        term["type"] = "literal"
    if kind == XSD + "dateTime":
        term["value"] = _FRACTION.sub(_time, value)
    elif kind == XSD + "boolean":
        term["value"] = {"1": "true", "0": "false"}.get(value, value)
    elif kind == XSD + "integer" and re.fullmatch(r"[+-]?\d+", value):
        term["value"] = str(int(value))
    elif kind == XSD + "decimal" and re.fullmatch(r"[+-]?\d+\.\d+", value):
        term["value"] = value.rstrip("0").rstrip(".")


def _time(found: re.Match[str]) -> str:
    return found[1] + (f".{found[2]}" if found[2] else "") + (found[3] or "")
