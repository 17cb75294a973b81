"""How much numbers may differ, by the names of files and of their parts. In: `X`, or `GLOB=X` several times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

Given = float | Mapping[str, float] | None


class Tolerances:
    """The tolerances: each the glob of a file (`out/*.h5`), or of a file and a part (`*.h5:group/x`), and a number.

    The last one that matches counts; a plain number only where none does. Without any, all numbers must be equal.
    """

    def __init__(self, given: Iterable[tuple[str, float]] = ()) -> None:
        self.given = list(given)

    def __bool__(self) -> bool:
        return bool(self.given)

    def of(self, file: str, part: str = "") -> float | None:
        """Return the tolerance of a part of a file; None if there is none."""
        found = None
        for glob, value in self.given:
            if not glob:
                found = value if found is None else found
        for glob, value in self.given:
            if glob and any(_matches(name, glob) for name in (file, f"{file}:{part}")):
                found = value
        return found


def parsed(text: str) -> tuple[str, float]:
    """Return `NAME=X` as the name and the number, `X` with an empty name; raises ValueError."""
    name, _, number = text.rpartition("=")
    value = float(number)
    if math.isnan(value) or value < 0 or (text.startswith("=")):
        raise ValueError(text)
    return name, value


def of(given: Given) -> Tolerances:
    """Return the tolerances of a number, or of numbers by name."""
    if given is None or isinstance(given, Mapping):
        return Tolerances((given or {}).items())
    return Tolerances([("", given)])


def _matches(name: str, glob: str) -> bool:
    return fnmatchcase(name, glob) or fnmatchcase(name, f"*/{glob}")
