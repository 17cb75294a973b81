"""The table of the figures that `many_files.py` stores, as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

FIRST, NOW = "first", "now"
BEGIN = "<!-- written by `python bench/many_files.py` from here"
AGAIN = 100  # times that each file is opened in the cases `again`, of which the number of openings is stated
# name → operation on the files, number of files
CASES = {
    f"{kind}-{files}": (kind, files)
    for kind, sizes in {"grep": (50_000,), "read": (10_000, 50_000, 100_000, 1_000_000),
                        "written": (10_000, 50_000, 100_000, 1_000_000), "again": (1_000_000,)}.items()
    for files in sizes
}  # fmt: skip
QUERIES = {
    "lineage": ["lineage"], "why": ["why"], "show": ["show", "last"], "stats": ["stats"], "validate": ["validate"],
}  # fmt: skip
BOUNDED = 50_000  # files; bounds that are not for each size are for this one
Kept = Mapping[str, Mapping[str, Mapping[str, Sequence[float | None]]]]


class Row(NamedTuple):
    """A row of the table: name of the figure, title, digits, bound, and whether the bound is for each number of
    files."""

    name: str
    title: str
    digits: int = 1
    bound: float | None = None
    everywhere: bool = False


ROWS = (
    Row("recorded", "`provio run --no-merge`: processor time of the command, and of provio, s"),
    Row("merge", "`provio merge`: processor time, s", 1, 6),
    Row("each", "the same for each file, µs", 0),
    Row("growth", "the same, times that of 10,000 files", 2, 1.2, True),
    Row("largest", "its memory: the largest process, MB", 0, 300, True),
    Row("memory", "all its processes at once, MB", 0, 300, True),
    Row("store", "on disk: the store and its snapshot, MB", 0, 80),
    Row("statements", "the list of statements shared with other runs, MB"),
    Row("runs", "the run folder, MB", 0),
    Row("triples", "triples in the store for each file"),
    Row("fresh", "`provio lineage` at once after the run, merge included: processor time, s", 1, 7),
    Row("lineage", "`provio lineage` of its output, merged: processor time, s", 2, 2),
    Row("why", "`provio why` of the same, s", 2, 1),
    Row("show", "`provio show last`, s", 2, 1),
    Row("stats", "`provio stats`, s", 2, 2),
    Row("validate", "`provio validate`, s", 2, 8),
    Row("rounds", "rounds (the table shows the median)", 0),
    Row("beside", "cores busy with other processes"),
)


def table(kept: Kept) -> str:
    """Return the part of the page: the machines, and a column for each case and release."""
    columns = [(release, key) for key in CASES for release in (FIRST, NOW) if key in kept.get(release, {})]
    head = ["", "bound", *(_head(release, key) for release, key in columns)]
    rows = [[row.title, _bound(row), *(_cell(row, kept, *one) for one in columns)] for row in ROWS]
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
    lines.insert(1, "|---|" + "---:|" * (len(head) - 1))
    machines = sorted({kept[release][key]["machine"] for release, key in columns})
    return "\n".join([*machines, "", *lines]) + "\n"


def _head(release: str, key: str) -> str:
    kind, files = CASES[key]
    title = {"grep": "`grep -r`", "again": f"read {AGAIN} times, openings"}
    name = f"{title.get(kind, kind)} {files:,}"
    return f"{name}, first release" if release == FIRST else name


def _bound(row: Row) -> str:
    return "" if row.bound is None else f"{row.bound:g}"


def _figures(kept: Kept, release: str, key: str, name: str) -> Sequence[float | None]:
    found = kept[release][key]
    if name == "rounds":
        return [len(found["merge"])]
    if name != "growth":
        return found.get(name, ())
    least = f"{CASES[key][0]}-10000"
    if least == key or least not in kept[release]:
        return ()
    base = statistics.median(kept[release][least]["each"])
    return [each / base for each in found["each"] if each is not None]


def _cell(row: Row, kept: Kept, release: str, key: str) -> str:
    """Return the median of the rounds, bold if it exceeds the bound."""
    values = _figures(kept, release, key, row.name)
    if not values:
        return ""
    if None in values:
        return "not within 600"
    value = statistics.median(values)
    text = f"{value:,.{row.digits}f}"
    missed = row.bound is not None and value > row.bound and (row.everywhere or CASES[key][1] == BOUNDED)
    return f"**{text}**" if missed else text
