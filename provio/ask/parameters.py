"""Parameters of stored queries: the user's values in, checked; the query's SPARQL with the values as terms out.

A value becomes a term of its type and is never pasted as text. A new type needs a row in `TERMS`, with the function
that returns the term (or several) and a note about it, and a row in `provio.ask.queries.KINDS`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from provio.ask.queries import ANY, IRI, KINDS, Parameter, Question, any_term, with_terms
from provio.base import turtle
from provio.base.errors import BadQuery, NothingKnown
from provio.base.vocab import PREFIXES, RUN_BASE, XSD
from provio.settings.types import suggestion
from provio.store import Store

UNITS = {"": 10**9, "ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(ns|us|µs|ms|s|min|h|)")


class Asked(NamedTuple):
    """A query that is ready to run: its SPARQL, and notes about its values."""

    text: str
    notes: list[str]


def bound(question: Question, values: Mapping[str, str], reader: Store) -> Asked:
    """Return a query with its values in their places; files and runs are looked up in the store.

    Raises BadQuery for a parameter that the query does not have, for a missing required one and for an invalid value;
    NothingKnown.
    """
    check_names(question, values)
    terms, notes = {}, []
    for parameter in question.parameters:
        if parameter.name in values:
            terms[parameter.name], note = _term(question, parameter, values[parameter.name], reader)
            notes += [note] if note else []
    return Asked(with_terms(question.text, terms), notes)


def check_names(question: Question, values: Mapping[str, str]) -> None:
    """Raise BadQuery for a parameter that the query does not have, and for a required one that is missing."""
    known = [parameter.name for parameter in question.parameters]
    name_of = question.name or "the query"
    for name in values:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise BadQuery(f"{name_of} has no parameter {name}{suggestion(name, known)}: {has}{_example(question)}")
    wanted = [one.name for one in question.parameters if one.required and one.name not in values]
    if wanted:
        raise BadQuery(f"{name_of} needs {' and '.join(wanted)}{_example(question)}")


def by_place(question: Question, given: Sequence[str]) -> dict[str, str]:
    """Assign positional values to the names of the parameters, in the order of the header."""
    if len(given) > len(question.parameters):
        count = len(question.parameters)
        takes = f"{count} value{'s' if count != 1 else ''}" if count else "no value"
        raise BadQuery(f"{question.name or 'the query'} takes {takes}, not {len(given)}{_example(question)}")
    return {parameter.name: value for parameter, value in zip(question.parameters, given, strict=False)}


def where(question: Question, values: Mapping[str, str]) -> str | None:
    """Return the first file among the values: its folder determines the record that answers."""
    found = (values[one.name] for one in question.parameters if one.kind in ("file", "path") and one.name in values)
    return next(found, None)


def _example(question: Question) -> str:
    return f" (example: {question.example})" if question.example else ""


def _term(question: Question, parameter: Parameter, value: str, reader: Store) -> tuple[str, str]:
    try:
        return TERMS[parameter.kind](value, reader)
    except ValueError:
        wanted = KINDS[parameter.kind]
        raise BadQuery(f"{parameter.name}: {value!r} is no {wanted}{_example(question)}") from None


def _text(value: str, _: Store) -> tuple[str, str]:
    return turtle.literal(value), ""


def _words(value: str, _: Store) -> tuple[str, str]:
    """Encode arguments as a trace encodes a command line: each percent-encoded, separated by one space."""
    return turtle.literal(turtle.encode_argv([os.fsencode(word) for word in shlex.split(value)])), ""


def _any(value: str, _: Store) -> tuple[str, str]:
    return any_term(value), ""


def _integer(value: str, _: Store) -> tuple[str, str]:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", value):
        raise ValueError
    return str(int(value)), ""


def _count(value: str, _: Store) -> tuple[str, str]:
    if not re.fullmatch(r"[0-9]{1,9}", value):
        raise ValueError
    return str(int(value)), ""


def _decimal(value: str, _: Store) -> tuple[str, str]:
    if not re.fullmatch(r"[+-]?([0-9]{1,18}(\.[0-9]{1,18})?|\.[0-9]{1,18})", value):
        raise ValueError
    return f'"{value}"^^<{XSD}decimal>', ""


def _boolean(value: str, _: Store) -> tuple[str, str]:
    if value not in ("true", "false"):
        raise ValueError
    return value, ""


def _value(value: str, _: Store) -> tuple[str, str]:
    """Return the value as text and, if it is one, also as a number or a boolean."""
    number = re.fullmatch(r"[+-]?(?:[0-9]{1,300}(?:\.[0-9]{0,300})?|\.[0-9]{1,300})(?:[eE][+-]?[0-9]{1,3})?", value)
    kind = "double" if number or value in ("NaN", "INF", "-INF") else "boolean" if value in ("true", "false") else ""
    text = turtle.literal(value)
    return f"{text}^^<{XSD}{kind}> {text}" if kind else text, ""


def _moment(value: str, _: Store) -> tuple[str, str]:
    from provio.base import times

    try:
        found = times.moment(value, datetime.now(UTC))
    except OverflowError as error:
        raise ValueError from error
    return f'"{found:%Y-%m-%dT%H:%M:%S.%f}Z"^^<{XSD}dateTime>', ""


def _duration(value: str, _: Store) -> tuple[str, str]:
    found = DURATION.fullmatch(value)
    if not found:
        raise ValueError
    whole, _dot, part = found[1].partition(".")
    return str((int(whole + part) * UNITS[found[2]]) // 10 ** len(part)), ""


def _iri(value: str, _: Store) -> tuple[str, str]:
    if IRI.fullmatch(value):
        return value, ""
    prefix, colon, local = value.partition(":")
    if colon and prefix in PREFIXES and re.fullmatch(r"\w+", local):
        return f"<{PREFIXES[prefix]}{local}>", ""
    if not colon or not IRI.fullmatch(f"<{value}>"):
        raise ValueError
    return f"<{value}>", ""


def _path(value: str, _: Store) -> tuple[str, str]:
    """Return the absolute path, also with links resolved; one that is not UTF-8 in the form of `provio:pathEncoded`."""
    if not value or "\0" in value:
        raise ValueError
    full = os.path.abspath(os.fsencode(value))
    return " ".join(_path_term(path) for path in dict.fromkeys((full, os.path.realpath(full)))), ""


def _path_term(path: bytes) -> str:
    try:
        return turtle.literal(path.decode("utf-8"))
    except UnicodeDecodeError:
        return turtle.literal(turtle.path_iri(path))


def _file(value: str, reader: Store) -> tuple[str, str]:
    """Return the version that a file holds now, or else the newest recorded one; or an object inside it."""
    from provio.ask import object_target
    from provio.ask.target import find_target

    if object_target.may_name_object(value):
        found = object_target.find(reader, value, lambda path: find_target(reader, path))
    else:
        found = find_target(reader, value)
    if not IRI.fullmatch(f"<{found.iri}>"):
        raise ValueError
    return f"<{found.iri}>", f"{value}: {found.changed}" if found.changed else ""


def _run(value: str, reader: Store) -> tuple[str, str]:
    from provio.ask import runs

    found = runs.find(reader, value.removeprefix(RUN_BASE))
    if found is None:
        raise NothingKnown(f"no run {value!r} is recorded (provio runs lists them)")
    return f"<{RUN_BASE}{found}>", ""


TERMS: dict[str, Callable[[str, Store], tuple[str, str]]] = {
    "text": _text,
    "words": _words,
    "path": _path,
    "file": _file,
    "run": _run,
    "iri": _iri,
    "integer": _integer,
    "count": _count,
    "decimal": _decimal,
    "boolean": _boolean,
    "value": _value,
    "dateTime": _moment,
    "duration": _duration,
    ANY: _any,
}
