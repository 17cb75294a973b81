"""How runs differ: figures of several runs in, for each group and measure its spread over them out.

A run stands out by its modified z-score (B. Iglewicz and D. Hoaglin, How to Detect and Handle Outliers, 1993): 0.6745
of its distance from the median over the median of all distances, above 3.5; where most runs are equal, by a tenth.
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
    from provio.stats.columns import Row

MEASURES: dict[str, Callable[[Tally], int | None]] = {
    "calls": lambda one: one.of("calls"),
    "bytes": lambda one: one.bytes,
    "nanoseconds": lambda one: one.of("nanoseconds"),
    "bytes_per_second": lambda one: one.bandwidth,
}
FEWEST, APART, TENTH = 4, 3.5, 0.1  # runs of which one can stand out, by which score, or by how much


@plain()
class Spread:
    """A measure of a group over runs: `deviation` is that of a sample, `variation` the deviation over the mean, `apart`
    the runs that stand out."""

    key: Key
    layer: str
    measure: str
    runs: int
    mean: float
    deviation: float | None
    variation: float | None
    least: int
    most: int
    apart: list[str]


def columns(ways: Sequence[str]) -> list[str]:
    """Return the columns of the rows."""
    spread = ("measure", "runs", "mean", "deviation", "variation", "least", "most", "apart")
    return [*tally.columns(ways), "layer", *spread]


def spreads(figures: Figures, ways: Sequence[str]) -> list[Spread]:
    """Return the spreads of all groups, those of the longest time first; a run without a group is none of its runs; of
    files those that are not the system's."""
    names, found = tally.columns(ways), dict[tuple[Key, str], dict[str, Tally]]()
    for group in figures.by(*ways, "run"):
        values = dict(zip(tally.columns([*ways, "run"]), group.key, strict=True))
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
        min(known.values()), max(known.values()), apart(known),
    )  # fmt: skip


def apart(values: dict[str, int]) -> list[str]:
    """Return the runs that stand out."""
    if len(values) < FEWEST:
        return []
    middle = median(values.values())
    usual = median(abs(value - middle) for value in values.values())

    def stands_out(value: int) -> bool:
        distance = abs(value - middle)
        return 0.6745 * distance > APART * usual if usual else distance > TENTH * middle

    return sorted(run for run, value in values.items() if stands_out(value))


def rows(figures: Figures, ways: Sequence[str]) -> list[Row]:
    """Return the spreads as rows of `columns`."""
    said = []
    for one in spreads(figures, ways):
        row: Row = dict(zip(tally.columns(ways), one.key, strict=True))
        row |= {"layer": one.layer, "measure": one.measure, "runs": one.runs, "mean": round(one.mean, 3)}
        row |= {name: None if value is None else round(value, 4)
                for name, value in (("deviation", one.deviation), ("variation", one.variation))}  # fmt: skip
        said.append(row | {"least": one.least, "most": one.most, "apart": " ".join(one.apart) or None})
    return said
