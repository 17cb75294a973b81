"""The largest difference of pairs of numbers. In: numbers, or NumPy arrays, of two sides. Out: a measure.

The difference of a pair is |a - b| / max(1, |a|, |b|): the absolute difference of numbers up to 1, otherwise the
difference relative to the larger magnitude. NaN equals NaN, and an infinity one of the same sign; the difference of any
other pair with NaN or an infinity is infinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

NUMBERS = "biufc"  # the kinds of NumPy's types that hold numbers
WHOLE = "biu"


class Different(Exception):
    """Two sides differ in more than numbers; the message is the reason."""


@dataclass
class Measure:
    """Pairs of numbers: how many, how many are unequal, and the largest difference with its place and magnitudes."""

    numbers: int = 0
    unequal: int = 0
    largest: float = 0.0
    absolute: float = 0.0
    where: str = ""

    def is_within(self, tolerance: float) -> bool:
        """Return whether no difference is larger than a tolerance."""
        return self.largest <= tolerance

    def text(self) -> str:
        """Return a sentence about the largest difference."""
        if not self.unequal:
            return f"all {self.numbers} numbers are equal"
        place = f" at {self.where}" if self.where else ""
        return (
            f"largest difference {self.largest:.3g}{place} (absolute {self.absolute:.3g}); "
            f"{self.unequal} of {self.numbers} numbers are unequal"
        )

    def add(self, first: float, second: float, where: str) -> None:
        """Add a pair of numbers."""
        self.numbers += 1
        if first == second or (first != first and second != second):  # noqa: PLR0124 (NaN)
            return
        absolute = _float(abs(first - second))
        size = max(1.0, _float(abs(first)), _float(abs(second)))
        if not (math.isfinite(size) and math.isfinite(absolute)):
            absolute = math.inf
        self._keep(absolute / size if absolute < math.inf else math.inf, absolute, where)
        self.unequal += 1

    def add_arrays(self, first: Any, second: Any, where: str) -> None:
        """Add the pairs of two arrays of NumPy; raises Different if their shapes, fields or other values differ."""
        import numpy as np

        if first.shape != second.shape:
            raise Different(f"{where}: the shape is {second.shape}, recorded {first.shape}")
        if first.dtype.names != second.dtype.names:
            raise Different(f"{where}: other fields")
        for name in first.dtype.names or ():
            self.add_arrays(first[name], second[name], f"{where}.{name}")
        if first.dtype.names:
            return
        if first.dtype == second.dtype == object:
            self._add_objects(first.ravel(), second.ravel(), where)
        elif first.dtype.kind not in NUMBERS or second.dtype.kind not in NUMBERS:
            if not np.array_equal(first, second):
                raise Different(f"{where}: other values, which are no numbers")
        elif "c" in (first.dtype.kind, second.dtype.kind):
            self.add_arrays(first.real, second.real, where)
            self.add_arrays(first.imag, second.imag, where)
        elif first.size:
            self._add(first.ravel(), second.ravel(), first.shape, where)

    def _add_objects(self, first: Any, second: Any, where: str) -> None:
        """Add arrays of variable length, in an array of such; other objects must be equal."""
        import numpy as np

        for number, (one, other) in enumerate(zip(first, second, strict=True)):
            if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
                self.add_arrays(one, other, f"{where}[{number}]")
            elif one != other:
                raise Different(f"{where}: other values, which are no numbers")

    def _add(self, first: Any, second: Any, shape: tuple[int, ...], where: str) -> None:
        import numpy as np

        with np.errstate(all="ignore"):
            floats = np.result_type(first, second, np.float64)
            left, right = first.astype(floats), second.astype(floats)
            if first.dtype.kind in WHOLE and first.dtype.kind == second.dtype.kind:  # exact beyond 2^53
                high, low = np.maximum(first, second), np.minimum(first, second)
                absolute = (high.astype(np.uint64) - low.astype(np.uint64)).astype(floats)
                equal = first == second
            else:
                absolute, equal = np.abs(left - right), (left == right) | (np.isnan(left) & np.isnan(right))
            size = np.maximum(1, np.maximum(np.abs(left), np.abs(right)))
            scaled = np.where(np.isfinite(absolute) & np.isfinite(size), absolute / size, np.inf)
            scaled[equal] = 0
        self.numbers += first.size
        self.unequal += int(first.size - np.count_nonzero(equal))
        at = int(np.argmax(scaled))
        if not equal[at]:
            index = ", ".join(str(int(one)) for one in np.unravel_index(at, shape)) if shape else ""
            absolute_at = float(absolute[at]) if np.isfinite(scaled[at]) else math.inf
            self._keep(float(scaled[at]), absolute_at, f"{where}[{index}]" if index else where)

    def _keep(self, scaled: float, absolute: float, where: str) -> None:
        if scaled > self.largest or not self.where:
            self.largest, self.absolute, self.where = scaled, absolute, where


def _float(value: float) -> float:
    """Return a number as a float; an integer beyond the range of floats is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
