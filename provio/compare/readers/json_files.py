"""Two JSON files: the numbers by the top-level key under which they are."""

from __future__ import annotations

import json
import os
from typing import Any

from provio.compare.parts import FIRST, SECOND, Parts, Unreadable
from provio.compare.values import Measure

LARGEST = 1 << 26


def compare(first: str, second: str, found: Parts) -> None:
    """Add the values of both files."""
    if max(os.path.getsize(first), os.path.getsize(second)) > LARGEST:
        raise Unreadable(f"is larger than {LARGEST >> 20} MiB, so it is not read as JSON")
    with open(first, "rb") as one, open(second, "rb") as other:
        old, new = json.load(one), json.load(other)
    if isinstance(old, dict) and isinstance(new, dict):
        for name in found.common(*({name: _kind(value) for name, value in side.items()} for side in (old, new))):
            _add(old[name], new[name], "", found.part(name))
    else:
        _add(old, new, "", found.part(""))


def _add(old: Any, new: Any, where: str, part: Measure) -> None:
    if _is_number(old) and _is_number(new):
        part.add(old, new, where)
    elif type(old) is not type(new):
        part.describe(_kind(old), _kind(new))
        part.differs("another kind of value", where)
    elif isinstance(old, dict):
        _add_object(old, new, where, part)
    elif isinstance(old, list):
        if len(old) != len(new):
            part.describe(f"{len(old):,} values", f"{len(new):,} values")
            part.differs("another number of values", where)
        for at, (value, other) in enumerate(zip(old, new, strict=False)):
            _add(value, other, f"{where}[{at}]", part)
    elif old != new:
        part.differs(f"another {_kind(old)}", where)


def _add_object(old: dict[str, Any], new: dict[str, Any], where: str, part: Measure) -> None:
    for own, other, reason in ((old, new, FIRST), (new, old, SECOND)):
        for key in own:
            if key not in other:
                part.differs(reason, f"{where}.{key}")
    for key, value in old.items():
        if key in new:
            _add(value, new[key], f"{where}.{key}", part)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(value: object) -> str:
    """Return the kind of a value, in words of JSON."""
    kinds = {dict: "object", list: "list", str: "text", bool: "truth value", type(None): "null"}
    return kinds.get(type(value), "number")
