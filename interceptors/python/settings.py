"""Turn a value of the program into settings, and declare them to the recorder: any value in, named typed values out.

Nested keys are joined by `.`, items of a list by their index; a `.` or `\\` in a key has a `\\` before it. A value that
RDF cannot represent becomes a description. The number and the size of settings are limited: of the rest, the count and
a digest are recorded.
"""

from __future__ import annotations

import itertools
import os
import sys
import time

from . import parts
from .encoding import encode, encode_text
from .guard import CallFailed, description, guarded, qualified_name

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

MOST, DEEPEST = 10_000, 32
SECONDS = 1.0  # of processor time
LONGEST = 16 * 1024  # characters of a text
SHOWN = 256  # characters of a longer text that are recorded, before its digest
INTEGERS = range(-(2**63), 2**63)


# ---- to the recorder


def declare(recorder: Any, number: int, values: Any) -> Flattened:
    """Declare the settings of the Task, Configuration or entity of a number; return the flattened values."""
    flattened = Flattened()
    for name, kind, value in flattened.settings(values):
        if kind == "text":
            recorder.setting_text(number, encode(name), encode_text(value))
        elif kind == "dateTime":
            recorder.setting_typed(number, encode(name), value.encode(), b"dateTime")
        elif kind == "truth":
            recorder.setting_truth(number, encode(name), int(value))
        else:
            getattr(recorder, "setting_" + kind)(number, encode(name), value)
    return flattened


def declare_attributes(recorder: Any, number: int, attributes: Mapping[str, Any]) -> None:
    """Do the same for a few attributes; fast for plain values, as most attributes have."""
    for name, value in attributes.items():
        kind = type(value)
        if "." in name or "\\" in name:
            declare(recorder, number, {name: value})
        elif kind is int and value in INTEGERS:
            recorder.setting_integer(number, encode(name), value)
        elif kind is float:
            recorder.setting_real(number, encode(name), value)
        elif kind is str and len(value) <= LONGEST:
            recorder.setting_text(number, encode(name), encode_text(value))
        else:
            declare(recorder, number, {name: value})


# ---- from nested values


class _TimeLimit(Exception):
    """The processor time is used up."""


class Flattened:
    """The settings of one value, at most MOST. `omitted` describes the omitted ones, for a warning; `complete` is False
    if they have no digest either."""

    def __init__(self) -> None:
        self.until = time.thread_time() + SECONDS
        self.above: set[int] = set()
        self.omitted = ""
        self.complete = True

    def settings(self, value: Any) -> Iterator[tuple[str, str, Any]]:
        """Yield the name, the kind (`text`, `integer`, `real`, `truth`, `dateTime`) and the value of each setting."""
        found = self._below("", value, 0)
        try:
            yield from itertools.islice(found, MOST)
            number, digest = _digested(found)
            rest = f"{number} more, sha256:{digest}" if number else ""
            self.omitted = f"{number} of {MOST + number} settings are" if number else ""
        except _TimeLimit:
            rest, self.omitted = "more, which took too long to look at", "settings that took too long to read are"
            self.complete = False
        if rest:
            yield "…", "text", rest

    def _below(self, name: str, value: Any, depth: int) -> Iterator[tuple[str, str, Any]]:
        kind = type(value)
        plain = PLAIN.get(kind)
        if plain is not None:
            yield (name, *plain(value))
            return
        found = parts.parts(value)
        if found is None:
            yield (name, *converted(value))
        elif depth == DEEPEST or id(value) in self.above:
            yield name, "text", "(itself)" if id(value) in self.above else f"{qualified_name(kind)}, too deep"
        else:
            self.above.add(id(value))
            yield from self._each(name, found, depth + 1)
            self.above.discard(id(value))

    def _each(self, above: str, found: parts.Parts, depth: int) -> Iterator[tuple[str, str, Any]]:
        some = False
        for key, value in found:
            some = True
            if time.thread_time() > self.until:
                raise _TimeLimit
            name = escaped(key)
            yield from self._below(f"{above}.{name}" if above else name, value, depth)
        if not some and above:
            yield above, "text", "{}" if found.named else "[]"


def _digested(settings: Iterator[tuple[str, str, Any]]) -> tuple[int, str]:
    """Return the number of settings, and the digest of all."""
    number, digest = 0, None
    for setting in settings:
        digest = digest or sha256()
        digest.update(repr(setting).encode("utf-8", "surrogatepass"))
        number += 1
    return number, digest.hexdigest() if digest else ""


def escaped(key: Any) -> str:
    """Return a key as a part of a setting's name."""
    text = key if type(key) is str else _key_text(key)
    return text.replace("\\", "\\\\").replace(".", "\\.") if "." in text or "\\" in text else text


def _key_text(value: Any) -> str:
    if type(value) is bytes:
        return value[:SHOWN].decode("utf-8", "replace")
    kind = type(value)
    if issubclass(kind, str):
        return str.__str__(value)
    return str(value) if kind in (int, float, bool, type(None)) else description(value)


# ---- single values


def converted(value: Any) -> tuple[str, Any]:
    """Return the kind and the value of a setting that has no parts."""
    kind = type(value)
    for base, plain in PLAIN.items():
        if issubclass(kind, base):
            return plain(EXACT[base](value) if base in EXACT else value)
    if parts.is_array(kind):
        return _array(value)
    if _is(kind, "decimal", "Decimal"):
        return "real", float(guarded(float, value))
    if _is(kind, "datetime", "date"):
        return ("dateTime" if _is(kind, "datetime", "datetime") else "text"), guarded(value.isoformat)
    try:
        return "text", _as_text(value, kind)
    except CallFailed:
        return "text", description(value)


def _is(kind: type, module: str, name: str) -> bool:
    """Whether a class is that of a module, or a subclass; never if the module is not loaded."""
    found = getattr(sys.modules.get(module), name, None)
    return isinstance(found, type) and issubclass(kind, found)


def _as_text(value: Any, kind: type) -> str:
    if _is(kind, "enum", "Enum"):
        return f"{kind.__name__}.{value._name_}"
    if hasattr(kind, "__fspath__"):
        return os.fsdecode(guarded(os.fspath, value))[:LONGEST]
    if isinstance(value, (type, type(_as_text), type(len))):
        return qualified_name(value)
    return description(value)


def _array(value: Any) -> tuple[str, Any]:
    """Return the item of an array of one; of a larger array, a description with its digest."""
    shape = tuple(map(int, guarded(getattr, value, "shape")))
    if not shape:
        item = guarded(value.item)
        return PLAIN[type(item)](item) if type(item) in PLAIN else ("text", description(item))
    words = f"{guarded(getattr, value, 'dtype')} of shape {' '.join(map(str, shape))}"
    try:
        return "text", f"{words}, sha256:{sha256(guarded(parts.content, value)).hexdigest()}"
    except (CallFailed, TypeError, ValueError):
        return "text", words


def sha256(data: bytes = b"") -> Any:
    """Return a digest."""
    import hashlib  # slow to import, and rarely needed

    return hashlib.sha256(data)


def _text(value: str) -> tuple[str, str]:
    value = str.__str__(value)
    if len(value) <= LONGEST:
        return "text", value
    digest = sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return "text", f"{value[:SHOWN]}… ({len(value)} characters, sha256:{digest})"


def _bytes(value: Any) -> tuple[str, str]:
    data = bytes(value)
    if len(data) <= SHOWN:
        return "text", repr(data)
    return "text", f"{len(data)} bytes, sha256:{sha256(data).hexdigest()}"


def _integer(value: int) -> tuple[str, Any]:
    if value in INTEGERS:
        return "integer", value
    return "text", str(value) if value.bit_length() < 4096 else f"an integer of {value.bit_length()} bits"


# In this order: a bool is an int.
PLAIN: dict[type, Callable[[Any], tuple[str, Any]]] = {
    str: _text,
    bool: lambda value: ("truth", value),
    int: _integer,
    float: lambda value: ("real", value),
    type(None): lambda _: ("text", "None"),
    bytes: _bytes,
    bytearray: _bytes,
}

EXACT: dict[type, Callable[[Any], Any]] = {int: int.__int__, float: float.__float__}


def number(value: Any) -> Any:
    """Return a value as an int of 64 bits or a float; raise CallFailed if it is no number."""
    kind = type(value)
    if kind is not int and kind is not float:
        value = _number(value)
    return value if type(value) is float or value in INTEGERS else guarded(float, value)


def _number(value: Any) -> Any:
    if hasattr(type(value), "__index__"):
        try:
            return int(guarded(value.__index__))
        except CallFailed:
            pass
    if not hasattr(type(value), "__float__"):
        raise CallFailed
    return float(guarded(float, value))
