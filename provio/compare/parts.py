"""The differences of two files, part by part: datasets, attributes, columns, keys. A part is known by its name; a file
that has no parts is one with an empty name."""

from __future__ import annotations

import contextlib
import csv
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from provio.compare.tolerances import Tolerances
from provio.compare.values import Measure

DAMAGE = (  # errors of the readers about a damaged file
    OSError, ValueError, KeyError, TypeError, RuntimeError, EOFError, ArithmeticError, AttributeError, MemoryError,
    SyntaxError, zipfile.BadZipFile, zlib.error, struct.error, csv.Error, LookupError, NotImplementedError,
)  # fmt: skip
FIRST, SECOND = "only the first file has it", "only the second file has it"


class Unreadable(Exception):
    """No reader can read a file; the message is the reason."""


@dataclass
class Parts:
    """The measures of two files by the names of their parts, also of those that are equal."""

    parts: dict[str, Measure] = field(default_factory=dict)

    def part(self, name: str) -> Measure:
        """Return the measure of a part, a new one if there is none."""
        return self.parts.setdefault(name, Measure())

    @contextlib.contextmanager
    def reading(self, name: str) -> Iterator[Measure]:
        """Return the measure of a part; that it cannot be read does not hide the others."""
        found = self.part(name)
        try:
            yield found
        except DAMAGE as error:
            found.differs(f"cannot be read ({reason(error)})")

    def common(self, first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
        """Return the names that both files have, from descriptions by name; the others are differences."""
        for own, other, reason in ((first, second, FIRST), (second, first, SECOND)):
            for name in own:
                if name not in other:
                    found = self.part(name)
                    found.describe(*(own[name] if side is own else None for side in (first, second)))
                    found.differs(reason)
        return [name for name in first if name in second]

    @property
    def unlike(self) -> dict[str, Measure]:
        """The parts that differ."""
        return {name: one for name, one in self.parts.items() if not one.is_equal}

    @property
    def total(self) -> Measure:
        """The measure of the whole file."""
        found = Measure()
        for name, one in self.parts.items():
            one.add_to(found, name)
        return found

    def is_within(self, tolerances: Tolerances, file: str) -> bool:
        """Return whether all parts that differ are within the tolerance for their name."""
        limits = [(one, tolerances.of(file, name)) for name, one in self.unlike.items()]
        return all(limit is not None and one.is_within(limit) for one, limit in limits)


def reason(error: BaseException) -> str:
    """Return the text of an error in one line."""
    return " ".join(str(error).split()) or type(error).__name__
