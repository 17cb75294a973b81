"""Values and settings held against each other: two in, whether they are the same, or in what they differ, out.

Numbers are compared as numbers, however they are written and whichever type they have: 256, 256.0, 2.56e2 and the text
"256" are one. A truth is the same as the word for it; all else is compared as text.
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
    """A key whose value is another, or that one side alone has (None: it has none)."""

    key: str
    first: Value | None
    second: Value | None


def of_term(text: str, datatype: str) -> Value:
    """Return a literal as Python has it; what is no number or truth stays text."""
    if datatype == XSD + "boolean":
        return text in ("true", "1")
    number = number_of(text) if datatype in NUMBERS else None
    return text if number is None else number


def number_of(value: Value) -> int | float | None:
    """Return the number that a value is, or that a text says; None where it is none."""
    if not isinstance(value, str):
        return None if isinstance(value, bool) else value
    text = value.strip()
    if INTEGER.fullmatch(text):
        return int(text)
    return float(text) if REAL.fullmatch(text) else None


def same(one: Value, other: Value) -> bool:
    """Tell whether two values are the same."""
    if isinstance(one, bool) or isinstance(other, bool):
        return _truth(one) is not None and _truth(one) == _truth(other)
    first, second = number_of(one), number_of(other)
    if first is None or second is None:
        return str(one) == str(other)
    return first == second or (math.isnan(first) and math.isnan(second))


def _truth(value: Value) -> bool | None:
    return TRUTHS.get(str(value).strip().lower())


def rank(value: Value) -> tuple[bool, float]:
    """Return what values are sorted by: numbers by size; what is none, or no number at all (NaN), comes last."""
    number = number_of(value)
    if number is None or math.isnan(number):
        return True, 0.0
    return False, number


def differences(first: Mapping[str, Value], second: Mapping[str, Value]) -> list[Difference]:
    """Return in which keys settings differ, sorted."""
    found = []
    for key in sorted(first.keys() | second.keys()):
        one, other = first.get(key), second.get(key)
        if one is None or other is None or not same(one, other):
            found.append(Difference(key, one, other))
    return found


def text(value: Value | None) -> str:
    """Return a value on one line, as people read it; nothing for none."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(plain(value))


def plain(value: Value) -> Value:
    """Return a value as JSON can have it: it has no word for infinities, or for what is no number."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"
    return value


def listed(settings: Mapping[str, Value]) -> str:
    """Return settings on one line."""
    return "; ".join(f"{key} = {text(value)}" for key, value in settings.items())


def varying(every: Iterable[Mapping[str, Value]]) -> list[str]:
    """Return the keys that are not the same in all of some settings, sorted."""
    held = list(every)
    first = held[0] if held else {}
    return sorted({one.key for other in held[1:] for one in differences(first, other)})


def last_part(key: str) -> str:
    """Return the last part of a dotted key, as the section or group that it is in has it."""
    return re.split(r"(?<!\\)\.", key)[-1]
