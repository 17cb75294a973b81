"""Differences between runs. In: figures of several runs. Out: the spread of each measure of each group.

This is `provio stats --across`, and the performance part of `provio repro`. Files are named relative to the folder of
their run if the runs started in several folders.

A run is an outlier by its modified z-score (B. Iglewicz and D. Hoaglin, How to Detect and Handle Outliers, 1993):
0.6745 times its distance from the median, divided by the median of all distances, above 3.5. If most runs are equal, a
run is an outlier that differs by a tenth.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import mean, median, stdev
from typing import TYPE_CHECKING

from provio.base.records import field, plain
from provio.stats import sample, tally
from provio.stats.tally import Key, Tally

if TYPE_CHECKING:
    from provio.stats import Figures
    from provio.stats.tally import Row

MEASURES: dict[str, Callable[[Tally], int | None]] = {
    "calls": lambda one: one.of("calls"),
    "bytes": lambda one: one.bytes,
    "nanoseconds": lambda one: one.of("nanoseconds"),
    "bytes_per_second": lambda one: one.bandwidth,
}
OTHER_WAYS = ("phase", "prefix")  # groupings of times, which have no calls: `provio.stats.phases`
FEWEST, SCORE, TENTH = 4, 3.5, 0.1  # least number of runs, least score, and least difference of an outlier


@plain()
class Spread:
    """A measure of a group over runs: `deviation` is that of a sample, `variation` is `deviation` / `mean`, `quartiles`
    is the interquartile range divided by the median, `low` and `high` are the bootstrap interval of the mean. `values`
    are those of the runs."""

    key: Key
    layer: str
    measure: str
    runs: int
    mean: float
    deviation: float | None
    variation: float | None
    least: int
    most: int
    outliers: list[str]
    quartiles: float | None = None
    low: float | None = None
    high: float | None = None
    values: dict[str, int] = field(default_factory=dict)


Measured = tuple[Key, str, str, Mapping[str, int | None]]  # key, layer, measure, the value of each run


def names(ways: Sequence[str]) -> list[str]:
    """Return the columns that name a group."""
    return [*ways] if ways and ways[0] in OTHER_WAYS else tally.key_columns(ways)


def columns(ways: Sequence[str]) -> list[str]:
    """Return the columns of the rows."""
    spread = ("measure", "runs", "mean", "deviation", "variation", "least", "most", "apart", "quartiles", "low", "high")
    return [*names(ways), "layer", *spread]


def spreads(figures: Figures, ways: Sequence[str]) -> list[Spread]:
    """Return the spreads of all groups, the longest time first, without system files; runs without a group do not count
    for it."""
    columns_, found = tally.key_columns(ways), dict[tuple[Key, str], dict[str, Tally]]()
    folders = {run.id: run.folder for run in figures.recorded.runs.values()}
    several = len(set(folders.values())) > 1
    for group in figures.by(*ways, "run"):
        values = dict(zip(tally.key_columns([*ways, "run"]), group.key, strict=True))
        run = str(values["run"])
        if several and values.get("file"):
            values["file"] = below(str(values["file"]), folders.get(run, ""))
        if values.get("kind", "file") == "file":
            key = tuple(values[name] for name in columns_)
            found.setdefault((key, group.layer), {}).setdefault(run, Tally()).join(group.tally)
    return described(
        (key, layer, measure, {run: value(one) for run, one in tallies.items()})
        for (key, layer), tallies in found.items()
        for measure, value in MEASURES.items()
    )


def below(path: str, folder: str) -> str:
    """Return a path relative to a folder that contains it, any other path as it is."""
    return os.path.relpath(path, folder) if folder and path.startswith(folder.rstrip("/") + "/") else path


def described(groups: Iterable[Measured]) -> list[Spread]:
    """Return the spreads of measures; those of which no run has a value are left out."""
    found = [spread for one in groups if (spread := _spread(*one))]
    for one, interval in zip(found, sample.intervals([[*one.values.values()] for one in found]), strict=True):
        one.low, one.high = interval or (None, None)
    return found


def _spread(key: Key, layer: str, measure: str, values: Mapping[str, int | None]) -> Spread | None:
    known = {run: value for run, value in values.items() if value is not None}
    if not any(known.values()):
        return None
    middle = mean(known.values())
    deviation = stdev(known.values()) if len(known) > 1 else None
    return Spread(
        key, layer, measure, len(known), middle, deviation,
        deviation / middle if deviation is not None and middle else None,
        min(known.values()), max(known.values()), outliers(known), sample.quartiles([*known.values()]), values=known,
    )  # fmt: skip


def outliers(values: Mapping[str, int]) -> list[str]:
    """Return the runs that are outliers."""
    if len(values) < FEWEST:
        return []
    middle = median(values.values())
    usual = median(abs(value - middle) for value in values.values())

    def is_outlier(value: int) -> bool:
        distance = abs(value - middle)
        return 0.6745 * distance > SCORE * usual if usual else distance > TENTH * middle

    return sorted(run for run, value in values.items() if is_outlier(value))


def rows(found: Iterable[Spread], ways: Sequence[str]) -> list[Row]:
    """Return spreads as rows of `columns`."""
    rows_ = []
    for one in found:
        row: Row = dict(zip(names(ways), one.key, strict=True))
        row |= {"layer": one.layer or None, "measure": one.measure, "runs": one.runs, "mean": round(one.mean, 3)}
        row |= {"deviation": _rounded(one.deviation), "variation": _rounded(one.variation)}
        row |= {"least": one.least, "most": one.most, "apart": " ".join(one.outliers) or None}
        row |= {"quartiles": _rounded(one.quartiles), "low": _rounded(one.low, 3), "high": _rounded(one.high, 3)}
        rows_.append(row)
    return rows_


def _rounded(value: float | None, digits: int = 4) -> float | None:
    return None if value is None else round(value, digits)
