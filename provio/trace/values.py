"""Typed values in canonical form, so that equal values have equal texts."""

from __future__ import annotations

from typing import NamedTuple

from provio.base import turtle
from provio.base.records import pattern
from provio.system.statx import Record

TEXT = "string"
INTEGER = pattern(r"[+-]?[0-9]{1,4000}")
DECIMAL = pattern(r"[+-]?(?:[0-9]{1,4000}(?:\.[0-9]{0,4000})?|\.[0-9]{1,4000})")
DOUBLE = pattern(r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,10})?")
MOMENT = pattern(
    r"-?[0-9]{4,9}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,99})?(?:Z|[+-][0-9]{2}:[0-9]{2})?"
)
SPECIAL = frozenset({"NaN", "INF", "-INF"})
MOST = 1 << 63  # the limit of integers in stores


class Value(NamedTuple):
    """A value: the local name of its XSD type, and its text."""

    type: str
    text: str

    @property
    def term(self) -> str:
        """The value as an N-Triples term."""
        quoted = turtle.literal(self.text)
        return quoted if self.type == TEXT else f"{quoted}^^<{turtle.XSD}{self.type}>"


def of(record: Record, name: str = "value") -> Value:
    """Return the value of a record; one that is invalid for its type becomes a text."""
    text, kind = record.get(name, ""), record.get(name + "Type", TEXT)
    return FORMS[kind](text) if kind in FORMS else Value(TEXT, text)


def _integer(text: str) -> Value:
    if not INTEGER.fullmatch(text):
        return Value(TEXT, text)
    number = text.lstrip("+")
    number = ("-" if number.startswith("-") else "") + (number.lstrip("-0") or "0")
    number = "0" if number == "-0" else number
    return Value("integer" if len(number) < 20 and abs(int(number)) < MOST else "decimal", number)


def _decimal(text: str) -> Value:
    """Return a decimal number as a double, as programming languages treat it."""
    return _double(text) if DECIMAL.fullmatch(text) else Value(TEXT, text)


def _double(text: str) -> Value:
    if text in SPECIAL:
        return Value("double", text)
    if not DOUBLE.fullmatch(text):
        return Value(TEXT, text)
    number = repr(float(text))
    return Value("double", {"inf": "INF", "-inf": "-INF"}.get(number, number))


def _boolean(text: str) -> Value:
    known = {"true": "true", "1": "true", "false": "false", "0": "false"}.get(text)
    return Value("boolean", known) if known else Value(TEXT, text)


def _moment(text: str) -> Value:
    return Value("dateTime" if MOMENT.fullmatch(text) else TEXT, text)


FORMS = {
    "integer": _integer, "int": _integer, "long": _integer, "decimal": _decimal, "double": _double, "float": _double,
    "boolean": _boolean, "dateTime": _moment,
}  # fmt: skip
