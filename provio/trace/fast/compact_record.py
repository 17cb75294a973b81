"""Records in little memory: a record (property → value) is packed into one text, and unpacked on request.

A run of many files has a record for each access. As a mapping it takes 1.4 KB, most of it for the zeros that the shim
pads counters with and for Python's string objects; packed it takes a tenth.
"""

from __future__ import annotations

from provio.base.vocab import vocabulary
from provio.system.statx import Record

BETWEEN = "\0"  # separates values

_shapes: dict[tuple[str, ...], tuple[tuple[str, ...], tuple[bool, ...]]] = {}


class Packed:
    """A packed record; its integers have no leading zeros."""

    __slots__ = ("_names", "_values")

    def __init__(self, record: Record) -> None:
        names = tuple(record)
        known = _shapes.get(names)
        if known is None:
            integers = vocabulary().integers
            known = _shapes[names] = names, tuple(name in integers for name in names)
        self._names = known[0]
        values = [
            value.lstrip("0") or "0" if integer and value else value
            for value, integer in zip(record.values(), known[1], strict=True)
        ]
        text = BETWEEN.join(values)
        self._values: str | list[str] = text if text.count(BETWEEN) == len(values) - 1 else values

    def record(self) -> Record:
        """Return the record."""
        values = self._values
        return dict(zip(self._names, values.split(BETWEEN) if isinstance(values, str) else values, strict=True))

    def packed(self) -> Packed:
        """Return it in packed form."""
        return self


class Loose(Packed):
    """A record that is used for a short time, and so is not worth packing."""

    __slots__ = ("_record",)

    def __init__(self, record: Record) -> None:
        self._record = record

    def record(self) -> Record:
        """Return the record; not to be changed."""
        return self._record

    def packed(self) -> Packed:
        """Return it in packed form."""
        return Packed(self._record)
