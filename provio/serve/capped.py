"""Answers of a limited size for the context of a model: a question in, JSON of at most `MOST` bytes out.

A page with fewer rows is requested, so that its cursor continues with the first row that is left out; a lineage, with
fewer nodes. Of other answers the longest texts and lists are cut. The key `cut` of the answer states this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

Values = dict[str, Any]
Ask = Callable[[Values], dict[str, Any]]

MOST = 60_000  # bytes
LONG = 2_000  # characters of a text in an answer that is too large
MARGIN = 400  # bytes for the cursor and the remark
WHOLE = ("next",)  # texts that are useless in part
# Control characters, those that change the direction of writing, and bytes that are not UTF-8, as Python has them.
ESCAPED = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def answer(ask: Ask, values: Values) -> str:
    """Return the answer of `ask` to these values as JSON."""
    found = ask(values)
    if len(text := written(found)) <= MOST:
        return text
    found, remark = _clipped(found), ""
    if "limit" in values and _size(found) > MOST:
        found = _clipped(ask({**values, "limit": _fitting(found)}))
        remark = "`next` is the cursor of the rows that follow"
    while "nodes" in values and _size(found) > MOST and len(found.get("nodes", ())) > 1:
        nodes = len(found["nodes"])
        found = _clipped(ask({**values, "nodes": max(1, min(nodes * 3 // 4, nodes * MOST // _size(found)))}))
        remark = "`more` counts nodes that are left out: give a smaller depth, or query one of the shown files"
    while _size(found) > MOST:
        _halve(found)
        remark = "lists are shortened: query less (one run, one file, fewer columns)"
    cut = f"this answer has at most {MOST // 1000} kB and texts of {LONG} characters"
    return written({**found, "cut": f"{cut}; {remark}" if remark else cut})


def written(value: Any) -> str:
    """Return a value as JSON, in which each character is printable or escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _size(value: Any) -> int:
    """Return the bytes of a value, with those of the remark."""
    return len(written(value).encode()) + MARGIN


def _clipped(value: Any) -> Any:
    """Return a value with long texts cut."""
    if isinstance(value, dict):
        return {key: held if key in WHOLE else _clipped(held) for key, held in value.items()}
    if isinstance(value, list):
        return [_clipped(held) for held in value]
    if isinstance(value, str) and len(value) > LONG:
        return f"{value[:LONG]}… ({len(value) - LONG} more characters)"
    return value


def _fitting(found: dict[str, Any]) -> int:
    """Return how many rows of an answer fit, at least one."""
    rows = found["rows"] if "rows" in found else found.get("results", {}).get("bindings", [])
    left, count = MOST - (_size(found) - _size(rows)) - MARGIN, 0
    for row in rows:
        left -= len(written(row).encode()) + 1
        if left < 0:
            break
        count += 1
    return max(1, count)


def _halve(found: dict[str, Any]) -> None:
    """Remove the second half of the largest list in an answer; without lists, of the largest object."""
    parts = [*_parts(found)]
    lists = [part for part in parts if isinstance(part, list)]
    largest = max(lists or parts, key=_size)
    if isinstance(largest, list):
        del largest[len(largest) // 2 :]
    else:
        for key in [*largest][len(largest) // 2 :]:
            del largest[key]


def _parts(value: Any) -> Iterator[list[Any] | dict[str, Any]]:
    """Yield the lists and objects that are not empty in a value, itself first."""
    if isinstance(value, list | dict) and value:
        yield value
        for held in value if isinstance(value, list) else value.values():
            yield from _parts(held)
