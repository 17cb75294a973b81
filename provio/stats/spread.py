"""Differences between runs. In: figures of several runs. Out: the spread of each measure of each group.

A run is an outlier by its modified z-score (B. Iglewicz and D. Hoaglin, How to Detect and Handle Outliers, 1993):
0.6745 times its distance from the median, divided by the median of all distances, above 3.5. If most runs are equal, a
run is an outlier that differs by a tenth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean, median, stdev
from typing import TYPE_CHECKING

from provio.base.records import plain
from provio.stats import tally
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
FEWEST, SCORE, TENTH = 4, 3.5, 0.1  # least number of runs, least score, and least difference of an outlier


@plain()
class Spread:
    """A measure of a group over runs: `deviation` is that of a sample, `variation` is `deviation` / `mean`."""

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


def columns(ways: Sequence[str]) -> list[str]:
    """Return the columns of the rows."""
    spread = ("measure", "runs", "mean", "deviation", "variation", "least", "most", "apart")
    return [*tally.key_columns(ways), "layer", *spread]


def spreads(figures: Figures, ways: Sequence[str]) -> list[Spread]:
    """Return the spreads of all groups, the longest time first, without system files; runs without a group do not count
    for it."""
    names, found = tally.key_columns(ways), dict[tuple[Key, str], dict[str, Tally]]()
    for group in figures.by(*ways, "run"):
        values = dict(zip(tally.key_columns([*ways, "run"]), group.key, strict=True))
        if values.get("kind", "file") == "file":
            key = tuple(values[name] for name in names)
            found.setdefault((key, group.layer), {})[str(values["run"])] = group.tally
    return [
        spread
        for (key, layer), tallies in found.items()
        for measure, value in MEASURES.items()
        if (spread := _spread(key, layer, measure, {run: value(tally) for run, tally in tallies.items()}))
    ]


def _spread(key: Key, layer: str, measure: str, values: dict[str, int | None]) -> Spread | None:
    known = {run: value for run, value in values.items() if value is not None}
    if not any(known.values()):
        return None
    middle = mean(known.values())
    deviation = stdev(known.values()) if len(known) > 1 else None
    return Spread(
        key, layer, measure, len(known), middle, deviation,
        deviation / middle if deviation is not None and middle else None,
        min(known.values()), max(known.values()), outliers(known),
    )  # fmt: skip


def outliers(values: dict[str, int]) -> list[str]:
    """Return the runs that are outliers."""
    if len(values) < FEWEST:
        return []
    middle = median(values.values())
    usual = median(abs(value - middle) for value in values.values())

    def is_outlier(value: int) -> bool:
        distance = abs(value - middle)
        return 0.6745 * distance > SCORE * usual if usual else distance > TENTH * middle

    return sorted(run for run, value in values.items() if is_outlier(value))


def rows(figures: Figures, ways: Sequence[str]) -> list[Row]:
    """Return the spreads as rows of `columns`."""
    found = []
    for one in spreads(figures, ways):
        row: Row = dict(zip(tally.key_columns(ways), one.key, strict=True))
        row |= {"layer": one.layer, "measure": one.measure, "runs": one.runs, "mean": round(one.mean, 3)}
        row |= {name: None if value is None else round(value, 4)
                for name, value in (("deviation", one.deviation), ("variation", one.variation))}  # fmt: skip
        found.append(row | {"least": one.least, "most": one.most, "apart": " ".join(one.outliers) or None})
    return found
