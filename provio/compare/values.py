"""The measures of the differences of pairs of numbers. In: numbers, or NumPy arrays, of two sides. Out: a measure.

The difference of a pair is |a - b| / max(1, |a|, |b|): the absolute difference of numbers up to 1, otherwise the
difference relative to the larger magnitude. NaN equals NaN, and an infinity one of the same sign; the difference of
any other pair with NaN or an infinity is infinite. A unit in the last place (ULP) is the distance of two neighbours
among the floating-point numbers of the type of the file, in text and JSON of a double; whole numbers have none.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

NUMBERS = "biufc"  # the kinds of NumPy's types that hold numbers
WHOLE = "biu"
MOMENTS = "mM"
Place = Callable[[int], str]  # from the number of an element in a piece to its index as text


@dataclass
class Measure:
    """Pairs of numbers: how many, how many are unequal, and the largest difference with its place and values.

    `absolute_most` and `relative_most` are the largest absolute and relative differences of any pair, `ulps` the
    largest distance in units in the last place. `squares` is the sum of the squared differences, `reference` that of
    the squared numbers of the first side, both of the `finite` pairs. `others` are the differences in more than
    numbers: each with the first place and how many there are. `notes` are remarks that are no difference. `first` and
    `second` are the values of the largest difference, or descriptions of a part that is another one.
    """

    numbers: int = 0
    unequal: int = 0
    largest: float = 0.0
    absolute: float = 0.0
    where: str = ""
    absolute_most: float = 0.0
    relative_most: float = 0.0
    ulps: float = 0.0
    squares: float = 0.0
    reference: float = 0.0
    finite: int = 0
    others: dict[str, tuple[str, int]] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    first: Any = None
    second: Any = None

    @property
    def share_equal(self) -> float:
        """The share of the pairs that are equal, from 0 to 1."""
        return 1 - self.unequal / self.numbers if self.numbers else 1.0

    @property
    def rmse(self) -> float:
        """The root of the mean squared difference of the finite pairs."""
        return math.sqrt(self.squares / self.finite) if self.finite else 0.0

    @property
    def relative_l2(self) -> float:
        """The Euclidean norm of the differences, divided by that of the first side."""
        if not self.squares:
            return 0.0
        return math.sqrt(self.squares / self.reference) if self.reference else math.inf

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.unequal or self.others)

    def is_within(self, tolerance: float) -> bool:
        """Return whether only numbers differ, and no difference is larger than a tolerance or not finite."""
        return not self.others and math.isfinite(self.largest) and self.largest <= tolerance

    def text(self) -> str:
        """Return a sentence about the largest difference."""
        if not self.unequal:
            return f"all {self.numbers} numbers are equal"
        place = f" at {self.where}" if self.where else ""
        return (
            f"largest difference {self.largest:.3g}{place} (absolute {self.absolute:.3g}); "
            f"{self.unequal} of {self.numbers} numbers are unequal"
        )

    def differs(self, reason: str, where: str = "", count: int = 1) -> None:
        """Note a difference that is not one of numbers."""
        place, so_far = self.others.get(reason, (where, 0))
        self.others[reason] = (place, so_far + count)

    def describe(self, first: object, second: object) -> None:
        """Set the descriptions of both sides, if there are no values yet."""
        if self.first is None and self.second is None:
            self.first, self.second = first, second

    def other_text(self) -> str:
        """Return the differences that are not ones of numbers; empty if there is none."""
        return "; ".join(
            (f"{where}: " if where else "") + reason + (f" ({count:,} times)" if count > 1 else "")
            for reason, (where, count) in self.others.items()
        )

    def add_to(self, total: Measure, name: str) -> None:
        """Add all pairs to those of a whole file; places there begin with the name of this part."""
        if (self.unequal and self.largest > total.largest) or not total.where:
            total.largest, total.absolute, total.where = self.largest, self.absolute, joined(name, self.where)
            total.first, total.second = self.first, self.second
        for word in ("absolute_most", "relative_most", "ulps"):
            setattr(total, word, max(getattr(total, word), getattr(self, word)))
        for word in ("numbers", "unequal", "squares", "reference", "finite"):
            setattr(total, word, getattr(total, word) + getattr(self, word))
        for reason, (where, count) in self.others.items():
            total.differs(reason, joined(name, where), count)
        total.notes |= self.notes

    def add(self, first: float, second: float, where: str) -> None:
        """Add a pair of numbers."""
        self.numbers += 1
        left, right = _float(first), _float(second)
        is_finite = math.isfinite(left - right)
        if is_finite:
            self.reference += left * left
            self.finite += 1
        if first == second or (first != first and second != second):  # noqa: PLR0124 (NaN)
            return
        absolute = _float(abs(first - second)) if is_finite else math.inf
        larger = max(abs(left), abs(right))
        self.unequal += 1
        self._keep(absolute / max(1.0, larger) if is_finite else math.inf, absolute, where, first, second)
        self.absolute_most = max(self.absolute_most, absolute)
        self.relative_most = max(self.relative_most, absolute / larger if is_finite else math.inf)
        if not (isinstance(first, int) and isinstance(second, int)):
            self.ulps = max(self.ulps, abs(_place(left) - _place(right)) if is_finite else math.inf)
        self.squares += absolute * absolute if is_finite else 0.0

    def add_arrays(self, first: Any, second: Any, where: str = "", place: Place | None = None) -> None:
        """Add the pairs of two arrays of NumPy; `place` gives the index of an element, by default that in the array."""
        if first.shape != second.shape:
            self.describe(f"shape {first.shape}", f"shape {second.shape}")
            self.differs("another shape", where)
            return
        place = place or index_in(first.shape)
        if first.dtype.names or second.dtype.names:
            self._add_fields(first, second, where, place)
            return
        kinds = (first.dtype.kind, second.dtype.kind)
        if first.dtype.newbyteorder("=") != second.dtype.newbyteorder("="):
            self.notes[f"type {first.dtype} and {second.dtype}"] = None
        elif first.dtype != second.dtype:
            self.notes["other byte order"] = None
        if kinds[0] == kinds[1] and kinds[0] in MOMENTS:
            unit = _common(first, second)
            self._add(first.astype(unit).view("i8").ravel(), second.astype(unit).view("i8").ravel(), where, place)
        elif kinds[0] not in NUMBERS or kinds[1] not in NUMBERS:
            self._add_others(first.ravel(), second.ravel(), where, place)
        elif "c" in kinds:
            self.add_arrays(first.real, second.real, where, place)
            self.add_arrays(first.imag, second.imag, where, place)
        elif first.size:
            self._add(first.ravel(), second.ravel(), where, place)

    def _add_fields(self, first: Any, second: Any, where: str, place: Place) -> None:
        names, others = first.dtype.names or (), second.dtype.names or ()
        if set(names) != set(others):
            self.describe(f"fields {', '.join(names) or 'none'}", f"fields {', '.join(others) or 'none'}")
            self.differs("other fields", where)
        for name in names:
            if name in others:
                inner = first.dtype[name].shape  # of a field that is an array
                there = place if not inner or inner != second.dtype[name].shape else _above(place, math.prod(inner))
                self.add_arrays(first[name], second[name], f"{where}.{name}", there)

    def _add_others(self, first: Any, second: Any, where: str, place: Place) -> None:
        """Add arrays of variable length, in an array of such, and texts and other objects, which must be equal."""
        import numpy as np

        for number, (one, other) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
                self.add_arrays(one, other, where + place(number))
            elif not _is_same(one, other):
                kind = "text" if all(isinstance(value, str | bytes) for value in (one, other)) else "value"
                self.differs(f"another {kind}", where + place(number))

    def _add(self, first: Any, second: Any, where: str, place: Place) -> None:
        import numpy as np

        with np.errstate(all="ignore"):
            floats = np.result_type(first, second, np.float64)
            left, right = first.astype(floats), second.astype(floats)
            finite = np.isfinite(left - right)
            if first.dtype.kind in WHOLE and second.dtype.kind in WHOLE:
                absolute = _whole_distances(first, second).astype(floats)
                equal = absolute == 0
            else:
                absolute, equal = np.abs(left - right), (left == right) | (np.isnan(left) & np.isnan(right))
            self.finite += int(np.count_nonzero(finite))
            self.reference += float(np.sum(np.where(finite, left, 0) ** 2))
            self.numbers += first.size
            if equal.all():
                return
            absolute = np.where(equal, 0, np.where(finite, absolute, np.inf))
            larger = np.maximum(np.abs(left), np.abs(right))
            scaled = np.where(absolute == np.inf, np.inf, absolute / np.maximum(1, np.where(equal, 1, larger)))
            relative = np.where(absolute == np.inf, np.inf, absolute / np.where(equal, 1, larger))
            self.squares += float(np.sum(np.where(finite, absolute, 0) ** 2))
            self.absolute_most = max(self.absolute_most, float(np.max(absolute)))
            self.relative_most = max(self.relative_most, float(np.max(relative)))
            if "f" in (first.dtype.kind, second.dtype.kind):
                self.ulps = max(self.ulps, _ulps(first[~equal], second[~equal], finite[~equal]))
        self.unequal += int(first.size - np.count_nonzero(equal))
        at = int(np.argmax(scaled))
        self._keep(float(scaled[at]), float(absolute[at]), where + place(at), first[at].item(), second[at].item())

    def _keep(self, scaled: float, absolute: float, where: str, first: object, second: object) -> None:
        if scaled > self.largest or not self.where:
            self.largest, self.absolute, self.where = scaled, absolute, where
            self.first, self.second = first, second


def index_in(shape: tuple[int, ...], start: tuple[int, ...] = ()) -> Place:
    """Return the function from the number of an element in a piece, which begins at `start`, to its index as text."""

    def place(number: int) -> str:
        import numpy as np

        if not shape:
            return ""
        inner = [int(one) for one in np.unravel_index(number, shape)]
        begins = [*start, *([0] * len(inner))]
        return f"[{', '.join(str(one + begin) for one, begin in zip(inner, begins, strict=False))}]"

    return place


def joined(name: str, where: str) -> str:
    """Return a place in a part, with the name of the part."""
    return name + where if not name or not where or where[0] in "[." else f"{name}, {where}"


def _above(place: Place, size: int) -> Place:
    """Return the place of the element that holds an inner array of a size."""
    return lambda number: place(number // size)


def _is_same(one: object, other: object) -> bool:
    """Return whether two objects are equal; NaN equals NaN."""
    return type(one) is type(other) and bool(one == other or (one != one and other != other))  # noqa: PLR0124


def _common(first: Any, second: Any) -> Any:
    import numpy as np

    return np.promote_types(first.dtype.newbyteorder("="), second.dtype.newbyteorder("="))


def _whole_distances(first: Any, second: Any) -> Any:
    """Return the distances of whole numbers, exact up to the largest ones of 64 bits, also of signed and unsigned."""
    import numpy as np

    negative = [side < 0 if side.dtype.kind == "i" else np.zeros(side.shape, bool) for side in (first, second)]
    plain = [side.astype(np.uint64) for side in (first, second)]
    sizes = [np.where(minus, 0 - one, one) for minus, one in zip(negative, plain, strict=True)]
    high, low = np.maximum(*sizes), np.minimum(*sizes)
    apart = sizes[0].astype(np.float64) + sizes[1].astype(np.float64)
    return np.where(negative[0] == negative[1], (high - low).astype(np.float64), apart)


def _ulps(first: Any, second: Any, finite: Any) -> float:
    """Return the largest distance of two arrays in units in the last place of their type; of long doubles, of a
    double."""
    import numpy as np

    if not finite.all():
        return math.inf
    kind = np.result_type(first, second)
    whole: Any = {2: np.int16, 4: np.int32}.get(kind.itemsize, np.int64)
    floats: Any = {2: np.float16, 4: np.float32}.get(kind.itemsize, np.float64)
    places = []
    for side in (first, second):
        bits = np.ascontiguousarray(side.astype(floats)).view(whole).astype(np.int64)
        places.append(np.where(bits < 0, np.int64(np.iinfo(whole).min) - bits, bits))
    high, low = np.maximum(*places), np.minimum(*places)
    return float(np.max(high.astype(np.uint64) - low.astype(np.uint64)))


def _place(value: float) -> int:
    """Return the number of a double in the order of all doubles."""
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else -(1 << 63) - bits


def _float(value: float) -> float:
    """Return a number as a float; an integer beyond the range of floats is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
