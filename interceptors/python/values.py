"""Settings out of what a program calls its configuration: any value in, names with typed values out.

Nested keys are joined by `.`, items of a list by their index; a `.` or `\\` in a key has a `\\` before it. What has no
form in RDF is told of in words. No more is taken than is sensible: of the rest, its number and digest.
"""

from __future__ import annotations

import itertools
import os
import sys
import time

from . import shapes
from .foreign import Refused, asked, description, name_of

TYPE_CHECKING = False  # what is for types alone is dear to load
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

MOST, DEEPEST = 10_000, 32
SECONDS = 1.0  # of processor time
LONGEST = 16 * 1024  # characters of a text
SHOWN = 256  # of what is told of in words
INTEGERS = range(-(2**63), 2**63)


class _Enough(Exception):
    """The time is over."""


class Taken:
    """Settings as they were found, no more than so many; `left` says what was left out, and `whole` whether what was
    left out is told from anything else by its digest."""

    def __init__(self) -> None:
        self.until = time.thread_time() + SECONDS
        self.above: set[int] = set()
        self.left = ""
        self.whole = True

    def settings(self, value: Any) -> Iterator[tuple[str, str, Any]]:
        """Yield each setting: its name, what sort of value it has (`text`, `integer`, `real`, `truth`, `dateTime`),
        and the value."""
        found = self._below("", value, 0)
        try:
            yield from itertools.islice(found, MOST)
            number, digest = _digested(found)
            rest = f"{number} more, sha256:{digest}" if number else ""
            self.left = f"{number} of {MOST + number} settings are" if number else ""
        except _Enough:
            rest, self.left = "more, which took too long to look at", "what took too long to look at is"
            self.whole = False
        if rest:
            yield "…", "text", rest

    def _below(self, name: str, value: Any, depth: int) -> Iterator[tuple[str, str, Any]]:
        kind = type(value)
        plain = PLAIN.get(kind)
        if plain is not None:
            yield (name, *plain(value))
            return
        parts = shapes.parts(value)
        if parts is None:
            yield (name, *told(value))
        elif depth == DEEPEST or id(value) in self.above:
            yield name, "text", "(itself)" if id(value) in self.above else f"{name_of(kind)}, too deep"
        else:
            self.above.add(id(value))
            yield from self._each(name, parts, depth + 1)
            self.above.discard(id(value))

    def _each(self, above: str, parts: shapes.Parts, depth: int) -> Iterator[tuple[str, str, Any]]:
        some = False
        for key, value in parts:
            some = True
            if time.thread_time() > self.until:
                raise _Enough
            name = escaped(key)
            yield from self._below(f"{above}.{name}" if above else name, value, depth)
        if not some and above:
            yield above, "text", "{}" if parts.named else "[]"


def _digested(settings: Iterator[tuple[str, str, Any]]) -> tuple[int, str]:
    """Return how many there are, and the digest of all."""
    number, digest = 0, None
    for setting in settings:
        digest = digest or sha256()
        digest.update(repr(setting).encode("utf-8", "surrogatepass"))
        number += 1
    return number, digest.hexdigest() if digest else ""


def escaped(key: Any) -> str:
    """Return a key as a part of a name."""
    text = key if type(key) is str else _words(key)
    return text.replace("\\", "\\\\").replace(".", "\\.") if "." in text or "\\" in text else text


def _words(value: Any) -> str:
    if type(value) is bytes:
        return value[:SHOWN].decode("utf-8", "replace")
    kind = type(value)
    if issubclass(kind, str):
        return str.__str__(value)
    return str(value) if kind in (int, float, bool, type(None)) else description(value)


def told(value: Any) -> tuple[str, Any]:
    """Return the sort and the value of what has no parts."""
    kind = type(value)
    for base, plain in PLAIN.items():
        if issubclass(kind, base):
            return plain(EXACT[base](value) if base in EXACT else value)
    if shapes.is_array(kind):
        return _array(value)
    if _is(kind, "decimal", "Decimal"):
        return "real", float(asked(float, value))
    if _is(kind, "datetime", "date"):
        return ("dateTime" if _is(kind, "datetime", "datetime") else "text"), asked(value.isoformat)
    try:
        return "text", _as_text(value, kind)
    except Refused:
        return "text", description(value)


def _is(kind: type, module: str, name: str) -> bool:
    """Whether it is a class of a library's, or below it: where nobody loaded that, nothing is."""
    found = getattr(sys.modules.get(module), name, None)
    return isinstance(found, type) and issubclass(kind, found)


def _as_text(value: Any, kind: type) -> str:
    if _is(kind, "enum", "Enum"):
        return f"{kind.__name__}.{value._name_}"
    if hasattr(kind, "__fspath__"):
        return os.fsdecode(asked(os.fspath, value))[:LONGEST]
    if isinstance(value, (type, type(_as_text), type(len))):
        return name_of(value)
    return description(value)


def _array(value: Any) -> tuple[str, Any]:
    """An array of one is that; of a large one, the digest tells it from others."""
    shape = tuple(map(int, asked(getattr, value, "shape")))
    if not shape:
        item = asked(value.item)
        return PLAIN[type(item)](item) if type(item) in PLAIN else ("text", description(item))
    words = f"{asked(getattr, value, 'dtype')} of shape {' '.join(map(str, shape))}"
    try:
        return "text", f"{words}, sha256:{sha256(asked(shapes.content, value)).hexdigest()}"
    except (Refused, TypeError, ValueError):
        return "text", words


def sha256(data: bytes = b"") -> Any:
    """Return a digest; what computes it is dear to load, and seldom needed."""
    import hashlib

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


# The order counts: a bool is an int.
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
    """Return a value as an int of 64 bits or a float; raises Refused where it is no number."""
    kind = type(value)
    if kind is not int and kind is not float:
        value = _number(value)
    return value if type(value) is float or value in INTEGERS else asked(float, value)


def _number(value: Any) -> Any:
    if hasattr(type(value), "__index__"):
        try:
            return int(asked(value.__index__))
        except Refused:
            pass
    if not hasattr(type(value), "__float__"):
        raise Refused
    return float(asked(float, value))
