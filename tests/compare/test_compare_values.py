"""Two numbers, or arrays, in; the measures of their differences out, compared with those that NumPy computes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from provio.compare.values import Measure

INF, NAN = math.inf, math.nan
PAIRS = [
    (1.0, 1.0, 0.0), (0.5, 0.25, 0.25), (200.0, 100.0, 0.5), (-2.0, 2.0, 2.0), (NAN, NAN, 0.0), (INF, INF, 0.0),
    (INF, -INF, INF), (NAN, 1.0, INF), (1.0, INF, INF), (0.0, -0.0, 0.0), (1e-12, 2e-12, 1e-12),
    (2**62, 2**62 + 1, 2.0**-62), (1e308, -1e308, INF),
]  # fmt: skip


def of(first: object, second: object) -> Measure:
    """Return the measure of two arrays."""
    found = Measure()
    found.add_arrays(np.asarray(first), np.asarray(second))
    return found


@pytest.mark.parametrize(("first", "second", "largest"), PAIRS)
def test_a_pair(first: float, second: float, largest: float) -> None:
    """Plain numbers and arrays have the same measures, on both sides."""
    for left, right in ((first, second), (second, first)):
        plain = Measure()
        plain.add(left, right, "[0]")
        arrays = of([left], [right])
        assert (plain.largest, plain.unequal) == pytest.approx((largest, int(first != second and largest > 0)))
        for word in ("largest", "unequal", "numbers", "absolute", "absolute_most", "relative_most", "ulps", "squares"):
            assert getattr(arrays, word) == getattr(plain, word), word
        assert (plain.reference, plain.finite) == (arrays.reference, arrays.finite)


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ">f4", ">f8"])
def test_the_measures_are_those_of_numpy(kind: str) -> None:
    """Share of equal values, largest differences, ULP, RMSE and relative L2 of random numbers."""
    random = np.random.default_rng(7)
    first = random.normal(size=(50, 7)).astype(kind)
    second = first.copy()
    second[::3] = (second[::3] * (1 + 4 * np.finfo(kind).eps * random.integers(0, 5, second[::3].shape))).astype(kind)
    found = of(first, second)
    left, right = first.astype("f8"), second.astype("f8")
    assert found.share_equal == pytest.approx(np.mean(left == right))
    assert found.absolute_most == np.max(np.abs(left - right))
    assert found.relative_most == np.max(np.abs(left - right) / np.maximum(np.abs(left), np.abs(right)))
    assert found.rmse == pytest.approx(np.sqrt(np.mean((left - right) ** 2)), rel=1e-12)
    assert found.relative_l2 == pytest.approx(np.linalg.norm(left - right) / np.linalg.norm(left), rel=1e-12)
    assert found.ulps >= 4


@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
@pytest.mark.parametrize("start", [1.0, -1.0, 0.0, 3e-5, 1000.0])
def test_units_in_the_last_place(kind: str, start: float) -> None:
    """They count the neighbours between two numbers, also across zero and a power of two."""
    first = np.array([start], kind)
    second = first
    for steps in range(1, 4):
        second = np.nextafter(second, np.array([np.inf], kind))
        assert of(first, second).ulps == of(second, first).ulps == steps
        assert of(first, second).absolute_most == pytest.approx(abs(float(second[0]) - float(first[0])))


ANY = some.floats() | some.sampled_from([0.0, -0.0, 1.0, NAN, INF, -INF, 5e-324, 1.7e308])


@given(some.lists(some.tuples(ANY, ANY) | ANY.map(lambda one: (one, one)), min_size=1, max_size=20))
def test_arrays_are_measured_as_their_numbers(pairs: list[tuple[float, float]]) -> None:
    """One by one, or all at once."""
    plain, arrays = Measure(), of([one for one, _ in pairs], [other for _, other in pairs])
    for number, (one, other) in enumerate(pairs):
        plain.add(one, other, f"[{number}]")
    for word in ("numbers", "unequal", "finite", "largest", "absolute", "absolute_most", "relative_most", "ulps"):
        assert getattr(arrays, word) == pytest.approx(getattr(plain, word), rel=1e-15), word
    assert arrays.where == plain.where
    assert (arrays.rmse, arrays.relative_l2) == pytest.approx((plain.rmse, plain.relative_l2), nan_ok=True)


def test_byte_order_and_type() -> None:
    """Neither counts; a note states it."""
    found = of(np.array([1, 2], ">f8"), np.array([1, 2], "<f8"))
    assert (found.is_equal, found.numbers, list(found.notes)) == (True, 2, ["other byte order"])
    found = of(np.array([1, 2], ">f8"), np.array([1, 2], "<f4"))
    assert (found.is_equal, list(found.notes)) == (True, ["type >f8 and float32"])


def test_the_largest_difference_has_a_place_and_values() -> None:
    """Of arrays, parts of complex numbers, and fields."""
    found = of([[1, 2], [3, 4]], [[1, 2], [3, 5]])
    assert (found.largest, found.where, found.first, found.second) == (0.2, "[1, 1]", 4, 5)
    found = of(1 + 2j, 1 + 4j)
    assert (found.largest, found.numbers, found.where) == (0.5, 2, "")
    kind = [("x", "f8"), ("y", "i2"), ("z", "f4", (2,))]
    found = of(np.array([(1, 2, (3, 4))], kind), np.array([(1, 8, (3, 4))], kind))
    assert (found.largest, found.absolute, found.where, found.numbers) == (0.75, 6, ".y[0]", 4)
    assert (found.is_within(0.7), found.is_within(0.75)) == (False, True)


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [
        (np.array([2**53]), np.array([2**53 + 1]), 1), (np.array([2**63], "u8"), np.array([2**63 + 1], "u8"), 1),
        (np.array([2**62 + 1]), np.array([2**62 + 1], "u8"), 0), (np.array([2**62]), np.array([2**62 + 1], "u8"), 1),
        (np.array([-(2**63)]), np.array([2**63 - 1]), 2.0**64), (np.array([-1]), np.array([2**64 - 1], "u8"), 2.0**64),
        (np.array([-3], "i1"), np.array([-128], "i1"), 125), (np.array([True]), np.array([False]), 1),
        (np.array([True]), np.array([1]), 0), (np.array([], "f8"), np.array([], "f8"), 0),
        (np.array(3), np.array(5), 2),
    ],
)  # fmt: skip
def test_whole_numbers(first: np.ndarray, second: np.ndarray, distance: float) -> None:
    """They are exact beyond 2^53; they have no units in the last place. Truth values are 0 and 1."""
    found = of(first, second)
    assert (found.absolute_most, found.ulps, found.unequal) == (distance, 0, int(distance > 0))


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (np.zeros(2), np.zeros(3), "another shape"), (np.array(["a", "b"]), np.array(["a", "c"]), "[1]: another text"),
        (np.array(["a", "b"]), np.array(["c", "d"]), "[0]: another text (2 times)"),
        (np.zeros(1), np.zeros(1, [("x", "f8")]), "other fields"),
        (np.array([0.0]), np.array(["0"]), "[0]: another value"),
        (np.array([b"a"], "V1"), np.array([b"b"], "V1"), "[0]: another text"),
    ],
)  # fmt: skip
def test_other_than_numbers(first: np.ndarray, second: np.ndarray, reason: str) -> None:
    """It is named, and never within a tolerance."""
    found = of(first, second)
    assert found.other_text() == reason
    assert not found.is_within(1e9)


def test_a_text_does_not_hide_a_number() -> None:
    """Of fields, both differences are known."""
    kind = [("name", "S3"), ("x", "f8")]
    found = of(np.array([(b"a", 1), (b"b", 2)], kind), np.array([(b"a", 1), (b"c", 2.5)], kind))
    assert (found.other_text(), found.where, found.unequal) == (".name[1]: another text", ".x[1]", 1)


def test_moments() -> None:
    """Dates are numbers of their unit; one that is none equals itself."""
    days = np.array(["2026-01-01", "NaT"], "M8[D]")
    assert of(days, days.astype("M8[s]")).is_equal
    assert of(days, np.array(["2026-01-03", "NaT"], "M8[D]")).absolute_most == 2


@pytest.mark.parametrize("other", [NAN, INF])
def test_what_is_not_finite_is_within_no_tolerance(other: float) -> None:
    """Not even within an infinite one; the other measures are those of the finite pairs."""
    found = of([1.0, 2.0, NAN], [1.5, other, NAN])
    assert not found.is_within(INF)
    assert (found.finite, found.rmse, found.relative_l2) == (1, 0.5, 0.5)
    assert (found.absolute_most, found.ulps, found.where) == (INF, INF, "[1]")
