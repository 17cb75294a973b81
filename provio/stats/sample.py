"""Statistics of few numbers, as one of each run. In: numbers. Out: their spread, and the interval of their mean.

The interval is a percentile bootstrap (B. Efron, 1979): the means of 9,999 samples with replacement, without the lowest
and the highest 2.5 %. All groups of one size share the samples, so that an interval costs a product of matrices. It
needs NumPy, an optional package (extra `compare`); without it, there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from statistics import median, quantiles
from typing import Any, NamedTuple

RESAMPLES, SEED, LEVEL = 9999, 0, 0.95
PIECE = 256  # groups that are computed at once: 20 MB

Interval = tuple[float, float] | None


class Box(NamedTuple):
    """A box plot: the quartiles, and the ends of the whiskers."""

    least: float
    low: float
    middle: float
    high: float
    most: float


def box(values: Sequence[float]) -> Box:
    """Return the box plot of at least one number: the whiskers reach to the last number within 1.5 times the
    interquartile range (J. Tukey, 1977)."""
    low, middle, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [*values] * 3
    reach = 1.5 * (high - low)
    inside = [value for value in values if low - reach <= value <= high + reach]
    return Box(min(inside), low, middle, high, max(inside))


def quartiles(values: Sequence[float]) -> float | None:
    """Return the interquartile range divided by the median; None for fewer than 2 numbers and a median of 0."""
    centre = median(values)
    if len(values) < 2 or not centre:
        return None
    first, _, third = quantiles(values, n=4, method="inclusive")
    return (third - first) / centre


def intervals(samples: Sequence[Sequence[float]]) -> list[Interval]:
    """Return the interval of the mean of each of several samples; None for fewer than 2 numbers, and without NumPy."""
    found: list[Interval] = [None] * len(samples)
    if not has_numpy():
        return found
    import numpy as np

    of_size: dict[int, list[int]] = {}
    for place, sample in enumerate(samples):
        if len(sample) > 1:
            of_size.setdefault(len(sample), []).append(place)
    rest = (1 - LEVEL) / 2 * 100
    for size, places in of_size.items():
        weights = _weights(size)
        for at in range(0, len(places), PIECE):
            some = places[at : at + PIECE]
            means = weights @ np.array([samples[place] for place in some], dtype=np.float64).T
            low, high = np.percentile(means, [rest, 100 - rest], axis=0)
            for place, least, most in zip(some, low, high, strict=True):
                found[place] = float(least), float(most)
    return found


@cache
def _weights(size: int) -> Any:
    """Return the share of each number in each sample with replacement, a row for each sample."""
    import numpy as np

    drawn = np.random.default_rng(SEED).integers(0, size, (RESAMPLES, size))
    rows = np.arange(RESAMPLES)[:, None] * size + drawn
    return np.bincount(rows.ravel(), minlength=RESAMPLES * size).reshape(RESAMPLES, size) / size


@cache
def has_numpy() -> bool:
    """Return whether NumPy is installed."""
    from importlib.util import find_spec

    return find_spec("numpy") is not None


@cache
def has_scipy() -> bool:
    """Return whether SciPy is installed."""
    from importlib.util import find_spec

    return find_spec("scipy") is not None
