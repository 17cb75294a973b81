"""Whether several runs made the same results. In: the runs, bounds by name. Out: a verdict for each file.

A result is `identical` if all runs made the same content. With a bound its numbers are compared with those of the first
run: it is `within bounds` if the mean of their differences is equivalent to zero (TOST, 5 %), otherwise it `deviates`.
Without a bound it `differs`. A result that cannot be compared is `not compared`, never identical.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from provio.ask.content import Contents
from provio.base.text import plural
from provio.compare import statistics
from provio.compare.expected import Expected
from provio.compare.side import END, Side, exit_of
from provio.stats.sample import has_scipy

if TYPE_CHECKING:
    from provio.store import Reader

IDENTICAL, WITHIN, DEVIATES, DIFFERS, UNKNOWN = "identical", "within bounds", "deviates", "differs", "not compared"
VERDICTS = (IDENTICAL, WITHIN, DEVIATES, DIFFERS, UNKNOWN)
BAD = frozenset({DEVIATES, DIFFERS})
NO_SCIPY = "the test needs SciPy"


@dataclass
class Result:
    """A file that the runs made: in how many of them, the number of different contents, the verdict and its reason.

    With a bound, the figures of the run that is least like the first: `mean` and `largest`, the mean and the largest
    absolute difference; `p` of the equivalence test; the statistic `ks` of Kolmogorov and Smirnov, and its p-value."""

    name: str
    runs: int
    contents: int
    verdict: str
    reason: str = ""
    bound: float | None = None
    values: int | None = None
    mean: float | None = None
    largest: float | None = None
    p: float | None = None
    ks: float | None = None
    ks_p: float | None = None


def of_sides(
    reader: Reader, sides: Sequence[Side], bounds: Mapping[str, float], project: str = ""
) -> list[Result]:  # fmt: skip
    """Return the verdict of each file that a run made and kept, without those in temporary folders other than its own
    and that of the project; `bounds` are by a glob of the names."""
    contents, expected = Contents(reader), Expected(project=project)
    kept = [{name: iri for name, iri in side.kept.items() if not expected.is_temporary(name)} for side in sides]
    contents.load(iri for own in kept for iri in own.values())
    names = sorted(set().union(*kept))
    every = [_verdict(name, sides, [own.get(name) for own in kept], contents, bounds) for name in names]
    ends = [exit_of(side.facts.facts) for side in sides if not side.facts.as_of]
    if len(set(ends) - {""}) > 1:  # stated only if the runs ended otherwise
        every.append(Result(END, len(ends), len(set(ends)), DIFFERS, ", ".join(ends)))
    return every


def matching(name: str, bounds: Mapping[str, float]) -> str | None:
    """Return the first glob of bounds that matches the name of a result, or the last part of it."""
    return next((one for one in bounds if fnmatchcase(name, one) or fnmatchcase(os.path.basename(name), one)), None)


def _verdict(
    name: str, sides: Sequence[Side], made: Sequence[str | None], contents: Contents, bounds: Mapping[str, float]
) -> Result:
    versions = [iri for iri in made if iri]
    known = _Known(contents, versions)
    found = Result(name, len(versions), len(known.groups), IDENTICAL)
    if any(side.facts.as_of for side in sides) or len(versions) < len(sides):
        return _judged(found, *_incomplete(sides, made))
    if len(known.groups) == 1 and not known.several:
        return found
    if not known.differ:
        found.contents = 0
    glob = matching(name, bounds)
    if glob is not None:
        found.bound = bounds[glob]
        return _by_numbers(found, sides, versions, contents, bounds[glob])
    if known.differ:
        return _judged(found, DIFFERS, f"{len(known.groups)} different contents")
    return _judged(found, UNKNOWN, "a version had several contents" if known.several else "no SHA-256 is recorded")


def _incomplete(sides: Sequence[Side], made: Sequence[str | None]) -> tuple[str, str]:
    """Return the verdict and the reason about a result that not all runs have made."""
    for side in sides:
        if side.facts.as_of:
            return UNKNOWN, f"run {side.run} goes on"
    without = [side for side, iri in zip(sides, made, strict=True) if not iri]
    for side in without:
        if side.facts.gaps:
            return UNKNOWN, f"run {side.run}, which has gaps, made no such file"
    return DIFFERS, f"{plural(len(without), 'run')} made no such file"


class _Known:
    """The contents of versions: groups of equal ones, and whether some certainly differ. Each version is regarded once:
    a comparison of all pairs would be quadratic in the runs."""

    def __init__(self, contents: Contents, versions: Sequence[str]) -> None:
        self.groups: set[tuple[str, str]] = set()
        self.several = False
        sizes, digests = set[str](), set[str]()
        for version in versions:
            size = version.partition("~")[0].rpartition(".")[2]
            hashes = contents.digests(version)
            sizes.add(size)
            if size == "0":
                self.groups.add((size, ""))
            elif len(hashes) == 1:
                self.groups.add((size, next(iter(hashes))))
                digests |= hashes
            else:
                self.several = self.several or len(hashes) > 1
                self.groups.add((size, min(contents.keys(version))))
        self.differ = len(sizes) > 1 or len(digests) > 1


def _by_numbers(
    found: Result, sides: Sequence[Side], versions: Sequence[str], contents: Contents, bound: float
) -> Result:
    """Return the verdict about numbers: those of each run are compared with those of the first, file by file."""
    if not has_scipy():
        return _judged(found, UNKNOWN, NO_SCIPY)
    first, single = None, list[float]()
    for side, version in zip(sides, versions, strict=True):
        sample = _numbers(side, version, contents)
        if isinstance(sample, str):
            return _judged(found, UNKNOWN, sample)
        if first is None:
            first, found.values = sample, len(sample)
            continue
        if len(sample) != len(first):
            return _judged(found, DEVIATES, f"{len(sample):,} numbers in run {side.run}, {len(first):,} in the first")
        if reason := _add(found, first, sample, side.run, bound):
            return _judged(found, DEVIATES, reason)
        single.append(float(sample[0]) - float(first[0]))
    if found.values == 1 and math.isfinite(single[0]):  # the runs are the sample
        found.mean, found.p = sum(single) / len(single), statistics.equivalence(single, bound)
    is_within = found.p is not None and found.p < statistics.SIGNIFICANT
    return _judged(found, WITHIN if is_within else DEVIATES, _reason(found))


def _numbers(side: Side, version: str, contents: Contents) -> Any:
    """Return the numbers of a version, if it is still there; otherwise the reason."""
    from provio.compare.numbers import numbers
    from provio.compare.parts import Unreadable

    path = side.paths.get(version, "")
    now = contents.current(os.fsencode(path)) if path else None
    if now != version.partition("~")[0]:
        return f"{path} of run {side.run} {'has changed since' if now else 'is missing'}"
    try:
        return numbers(path)
    except Unreadable as error:
        return f"{path} {error}"


def _add(found: Result, first: Any, sample: Any, run: str, bound: float) -> str:
    """Add the differences of a run from the first to the figures of a result; return why they decide alone."""
    import numpy as np

    finite = np.isfinite(first) & np.isfinite(sample)
    equal = (first == sample) | (np.isnan(first) & np.isnan(sample))
    if unlike := int(np.count_nonzero(~finite & ~equal)):
        return f"{plural(unlike, 'number')} of run {run} not finite, or not finite in the first"
    differences = sample[finite] - first[finite]
    if not differences.size:
        found.p, found.mean, found.largest = found.p or 0.0, found.mean or 0.0, found.largest or 0.0
        return ""
    p, middle = statistics.equivalence(differences, bound) or 0.0, float(np.mean(differences))
    if found.p is None or (p, abs(middle)) >= (found.p, abs(found.mean or 0.0)):
        found.p, found.mean = p, middle
    found.largest = max(found.largest or 0.0, float(np.max(np.abs(differences))))
    tested = statistics.same_distribution(first[finite], sample[finite])
    if tested and (found.ks is None or tested[0] > found.ks):
        found.ks, found.ks_p = tested
    return ""


def _reason(found: Result) -> str:
    other = found.ks_p is not None and found.ks_p < statistics.SIGNIFICANT
    text = f"mean difference {found.mean:.3g}, bound ±{found.bound:g}, p = {found.p:.3g}"
    return f"{text}; other distribution (Kolmogorov-Smirnov p = {found.ks_p:.3g})" if other else text


def _judged(found: Result, verdict: str, reason: str) -> Result:
    found.verdict, found.reason = verdict, reason
    return found
