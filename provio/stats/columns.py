"""Figures as named columns, the same for every form of output: figures in, rows out. None: not recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from provio.stats import tally
from provio.stats.tally import SIZE_NAMES, Group, Tally, Value

if TYPE_CHECKING:
    from provio.stats import Figures

Cell = Value | float
Row = dict[str, Cell]

MEASURES = (
    "calls", "errors", "reads", "bytes_read", "writes", "bytes_written", "nanoseconds", "longest", "bytes_per_second",
    "mean_size", "consecutive",
)  # fmt: skip
SORTS: dict[str, Callable[[Tally], int]] = {
    "time": lambda one: one.of("nanoseconds") or 0,
    "calls": lambda one: one.of("calls") or 0,
    "bytes": lambda one: one.bytes or 0,
    "errors": lambda one: one.errors,
}
ALONE: dict[str, tuple[str, ...]] = {  # what cannot be grouped with anything else
    "size": ("layer", "up_to", "reads", "writes"),
    "latency": (
        "api",
        "layer",
        "calls",
        "median",
        "percentile_95",
        "percentile_99",
        "longest",
        "consecutive",
        "forward",
        "backward",
    ),
    "bottleneck": ("rule", "where", "evidence", "remedy", "nanoseconds"),
}


def columns(ways: Sequence[str]) -> list[str]:
    """Return the columns of groupings: of some of `BY`, or one of `ALONE`."""
    return [*ALONE[ways[0]]] if ways[0] in ALONE else [*tally.columns(ways), "layer", *MEASURES]


def of(figures: Figures, ways: Sequence[str], sort: str = "time") -> list[Row]:
    """Return the rows of groupings."""
    if ways[0] == "size":
        return [row for group in figures.totals() for row in _sizes(group)]
    if ways[0] == "bottleneck":
        return [{name: getattr(one, name) for name in ALONE["bottleneck"]} for one in figures.bottlenecks()]
    names = tally.columns(ways)
    return [_row(names, group) for group in sorted_groups(figures.by(*ways), sort)]


def sorted_groups(every: Sequence[Group], sort: str) -> list[Group]:
    """Return groups in the order of one of `SORTS`, the largest first, names from A on."""
    if sort == "name":
        return sorted(every, key=_name)
    return sorted(every, key=lambda group: (-SORTS[sort](group.tally), _name(group)))


def _name(group: Group) -> str:
    return " ".join(f"{part:020}" if isinstance(part, int) else str(part or "") for part in (*group.key, group.layer))


def _row(names: list[str], group: Group) -> Row:
    tally = group.tally
    sums = ("calls", "reads", "bytes_read", "writes", "bytes_written", "nanoseconds")
    measures: Row = {
        **{name: tally.of(name) for name in sums},
        "errors": tally.errors, "longest": tally.longest, "bytes_per_second": tally.bandwidth,
        "mean_size": tally.mean_size,
        "consecutive": None if tally.consecutive is None else round(tally.consecutive, 4),
    }  # fmt: skip
    head: Row = dict(zip(names, group.key, strict=True))
    return head | {"layer": group.layer} | {name: measures[name] for name in MEASURES}


def _sizes(group: Group) -> list[Row]:
    reads, writes = group.tally.sizes["Read"], group.tally.sizes["Write"]
    if not any(reads) and not any(writes):
        return []
    return [
        {"layer": group.layer, "up_to": name, "reads": read, "writes": wrote}
        for name, read, wrote in zip(SIZE_NAMES, reads, writes, strict=True)
    ]
