"""Comparison of values and settings: two values in, equality out; two sets of settings in, their differences out.

Numbers are compared as numbers, independent of notation and type: 256, 256.0, 2.56e2 and the text "256" are equal. A
boolean equals the word for it; all other values are compared as text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from provio.base.vocab import XSD

Value = int | float | bool | str
NUMBERS = frozenset(
    XSD + name for name in ("integer", "decimal", "double", "float", "int", "long", "short", "nonNegativeInteger")
)
INTEGER = re.compile(r"[+-]?[0-9]{1,400}")
REAL = re.compile(r"[+-]?([0-9]{1,400}(\.[0-9]*)?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,5})?|[+-]?(inf|infinity|nan)", re.I)
TRUTHS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


class Difference(NamedTuple):
    """A key with different values, or a key that only one side has (None on the other side)."""

    key: str
    first: Value | None
    second: Value | None


def of_term(text: str, datatype: str) -> Value:
    """Return a literal as a Python value; a literal that is neither number nor boolean stays text."""
    if datatype == XSD + "boolean":
        return text in ("true", "1")
    number = number_of(text) if datatype in NUMBERS else None
    return text if number is None else number


def number_of(value: Value) -> int | float | None:
    """Return the number that a value is, or that a text represents; None if there is none."""
    if not isinstance(value, str):
        return None if isinstance(value, bool) else value
    text = value.strip()
    if INTEGER.fullmatch(text):
        return int(text)
    return float(text) if REAL.fullmatch(text) else None


def same(one: Value, other: Value) -> bool:
    """Return whether two values are equal."""
    if isinstance(one, bool) or isinstance(other, bool):
        return _truth(one) is not None and _truth(one) == _truth(other)
    first, second = number_of(one), number_of(other)
    if first is None or second is None:
        return str(one) == str(other)
    return first == second or (math.isnan(first) and math.isnan(second))


def _truth(value: Value) -> bool | None:
    return TRUTHS.get(str(value).strip().lower())


def rank(value: Value) -> tuple[bool, float]:
    """Return a sort key: numbers in order of size; NaN and values that are not numbers come last."""
    number = number_of(value)
    if number is None or math.isnan(number):
        return True, 0.0
    return False, number


def differences(first: Mapping[str, Value], second: Mapping[str, Value]) -> list[Difference]:
    """Return the keys in which settings differ, sorted."""
    found = []
    for key in sorted(first.keys() | second.keys()):
        one, other = first.get(key), second.get(key)
        if one is None or other is None or not same(one, other):
            found.append(Difference(key, one, other))
    return found


def text(value: Value | None) -> str:
    """Return a value on one line in readable form; "" for None."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(plain(value))


def plain(value: Value) -> Value:
    """Return a value that JSON can represent: infinities and NaN become text."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"
    return value


def listed(settings: Mapping[str, Value]) -> str:
    """Return settings on one line."""
    return "; ".join(f"{key} = {text(value)}" for key, value in settings.items())


def varying(every: Iterable[Mapping[str, Value]]) -> list[str]:
    """Return the keys that differ between any of the given settings, sorted."""
    held = list(every)
    first = held[0] if held else {}
    return sorted({one.key for other in held[1:] for one in differences(first, other)})


def last_part(key: str) -> str:
    """Return the last part of a dotted key, its name within its section or group."""
    return re.split(r"(?<!\\)\.", key)[-1]
