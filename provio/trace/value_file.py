"""Read a file of parameters or metrics: its name and bytes in, named and typed values out, as a program declares them.

TOML, JSON, YAML (needs PyYAML) and INI, by the ending of the name. Names and values are those that the usual library
of the format gives, and the interceptors flatten them (`interceptors/python/settings.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from provio.interceptors.python import documents
from provio.interceptors.python.settings import INTEGERS, Flattened
from provio.trace.declarations import Settings
from provio.trace.values import TEXT, Value, of

MOST = 1_000  # values of a file
WIDEST = 100_000  # pairs of a YAML mapping with those that it merges: each step of a chain could double them
TYPES = {"text": TEXT, "integer": "integer", "real": "double", "truth": "boolean", "dateTime": "dateTime"}
SPECIAL = {"nan": "NaN", "inf": "INF", "-inf": "-INF"}
NUMBERS = frozenset({"integer", "real"})
CUT = "…"  # name of a setting that stands for the rest
LINE = re.compile(r"\bline (\d+)")


class Unreadable(Exception):
    """A file has no values; the message gives the reason, without any text of the file."""


class MissingLibrary(Unreadable):
    """The format needs a library that is not installed."""


def values(name: str, data: bytes, numbers: bool = False) -> tuple[Settings, bool]:
    """Return the values of a file, only the numbers if requested, and whether these are all. Raises Unreadable."""
    flattened = (_Numbers() if numbers else Flattened()).settings(loaded(name, data))
    kept = ((one, kind, value) for one, kind, value in flattened if one and (kind in NUMBERS or not numbers))
    found = list(islice(kept, MOST + 1))
    whole = len(found) <= MOST and not any(one == CUT for one, *_ in found)
    return {one: _value(kind, value) for one, kind, value in found[:MOST] if one != CUT}, whole


class _Numbers(Flattened):
    """Flattens a value for its numbers: an integer of more than 64 bits becomes a double, as in `provio.metric`."""

    def _below(self, name: str, value: Any, depth: int) -> Iterator[tuple[str, str, Any]]:
        if type(value) is int and value not in INTEGERS and value.bit_length() < 1024:
            yield name, "real", float(value)
        else:
            yield from super()._below(name, value, depth)


def _value(kind: str, value: Any) -> Value:
    text = str(value).lower() if kind == "truth" else str(value)
    return of({"value": SPECIAL.get(text, text) if kind == "real" else text, "valueType": TYPES[kind]})


def loaded(name: str, data: bytes) -> Any:
    """Return the content of a file as Python values."""
    ending = documents.ending_of(name)
    label, load = FORMATS.get(ending, ("INI", _ini)) if ending else ("", _ini)
    if not label:
        raise Unreadable("its name has no ending of TOML, YAML, JSON or INI")
    try:
        return load(data)
    except Unreadable:
        raise
    except ImportError:
        raise MissingLibrary(f"{label} needs a library that is not installed") from None
    except UnicodeDecodeError as error:
        raise Unreadable(f"it is not UTF-8 (line {data[: error.start].count(10) + 1})") from None
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None
    except Exception as error:  # of any parser, also of YAML for a value such as the date 2026-99-99
        line = _line(error)
        raise Unreadable(f"it is no valid {label}" + (f" (line {line})" if line else "")) from None


def _line(error: Exception) -> int:
    """Return the line of a parser's error; 0 if it states none."""
    mark = getattr(error, "problem_mark", None)
    found = LINE.search(str(error))
    line = mark.line + 1 if mark else getattr(error, "lineno", None) or (found and found[1]) or 0
    return int(line)


def _json(data: bytes) -> Any:
    import json

    return json.loads(data.decode(json.detect_encoding(data)))


def _toml(data: bytes) -> Any:
    import tomllib

    return tomllib.loads(data.decode("utf-8"))


def _ini(data: bytes) -> Any:
    try:
        return documents.parsed(data.decode("utf-8-sig"), "ini")
    except documents.Unreadable as error:
        line = LINE.search(str(error))
        raise Unreadable("it is no valid INI" + (f" (line {line[1]})" if line else "")) from None


def _yaml(data: bytes) -> Any:
    import yaml

    loader = yaml.SafeLoader(data)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _check_width(node, {})
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _check_width(node: Any, known: dict[int, int]) -> int:
    """Return the number of pairs of a node of YAML with those of the mappings that it merges (`<<`). Raises Unreadable
    above a limit."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = 1  # for a node that contains itself
    width, value = 1, node.value if isinstance(node.value, list) else []
    for one in value:
        key, part = one if isinstance(one, tuple) else (None, one)
        found = _check_width(part, known)
        width += found if key is None or key.tag == "tag:yaml.org,2002:merge" else 1
        if key is not None:
            _check_width(key, known)
    if width > WIDEST:
        raise Unreadable("its aliases stand for too many values")
    known[id(node)] = width
    return width


FORMATS: dict[str, tuple[str, Callable[[bytes], Any]]] = {
    "json": ("JSON", _json), "toml": ("TOML", _toml), "yaml": ("YAML", _yaml), "yml": ("YAML", _yaml),
}  # fmt: skip
