"""Tests of samples of numbers. In: numbers of two runs. Out: p-values and coefficients.

The two one-sided t-tests (TOST: D. Schuirmann, 1987), the test of Kolmogorov and Smirnov and Kendall's tau are those of
SciPy, an optional package (extra `compare`). Without it they are None; `provio.stats.sample.has_scipy` tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any
from warnings import catch_warnings, simplefilter

from provio.stats.sample import has_scipy

SIGNIFICANT = 0.05


def equivalence(differences: Any, bound: float) -> float | None:
    """Return the p-value of the two one-sided t-tests that the mean of differences is within ± a bound; None without
    SciPy. Equal differences, and a single one, decide without a test: 0 or 1."""
    is_array = hasattr(differences, "min")
    least, most = (differences.min(), differences.max()) if is_array else (min(differences), max(differences))
    if least == most:
        return 0.0 if least == 0 or abs(float(least)) < bound else 1.0
    if not has_scipy():
        return None
    from scipy import stats

    upper = stats.ttest_1samp(differences, bound, alternative="less").pvalue
    lower = stats.ttest_1samp(differences, -bound, alternative="greater").pvalue
    return float(max(upper, lower))


def same_distribution(first: Any, second: Any) -> tuple[float, float] | None:
    """Return the statistic and the p-value of the test of Kolmogorov and Smirnov; None without SciPy, and for an empty
    sample."""
    if not has_scipy() or not len(first) or not len(second):
        return None
    from scipy import stats

    with catch_warnings():
        simplefilter("ignore", RuntimeWarning)  # of many equal numbers: the p-value is that for large samples
        found = stats.ks_2samp(first, second)
    return float(found.statistic), float(found.pvalue)


def tau(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Kendall's tau of two orders; None without SciPy, for fewer than 2 pairs, and if all are equal."""
    if not has_scipy() or len(first) < 2:
        return None
    from scipy import stats

    found = float(stats.kendalltau(first, second).statistic)
    return None if isnan(found) else found
