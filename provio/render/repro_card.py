"""A score card of the reproducibility of runs: one file, as a page (HTML) or as Markdown, with the figures as JSON.

In: `provio.compare.repro`. Out: text in UTF-8. The page needs no network and has no script that runs; its box plots are
SVG. The JSON in it is that of `provio repro --as json`, so that cards of different dates can be compared by programs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, FileSystemLoader
from jinja2.utils import htmlsafe_json_dumps

from provio.base.table import filled
from provio.base.text import cut_path, elapsed, moment, printable
from provio.render import repro as report
from provio.render.page.lineage import check_offline
from provio.stats import formatting, sample

if TYPE_CHECKING:
    from provio.compare.repro import Reproducibility
    from provio.stats.spread import Spread

TEMPLATES: Final = Path(__file__).parent / "page" / "templates"
ROWS, LONGEST, BOXES = 100, 200, 12
TEXTS: Final = frozenset("verdict result reason phase prefix host file layer measure run in activity".split()) | {
    "stands out"
}
WIDTH, EDGE = 600, 8  # of a box plot
TITLES: Final = {"phase": "By phase", "prefix": "By task prefix and program", "host": "By host", "file": "By file"}
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")

Table = dict[str, Any]


def page(found: Reproducibility) -> str:
    """Return the card as a page."""
    environment = Environment(loader=FileSystemLoader(TEMPLATES, encoding="utf-8"), autoescape=True)
    words = {
        **_words(found),
        "boxes": [*_boxes(found)],
        "data": htmlsafe_json_dumps(json.loads(report.as_json(found)), dumps=json.dumps),
    }
    text = environment.get_template("repro.html").render(page=words)
    check_offline(text)
    return text


def markdown(found: Reproducibility) -> str:
    """Return the card as Markdown."""
    words = _words(found)
    lines = [f"# {_plain(words['title'])}", "", *(f"- {_plain(line)}" for line in words["head"]), ""]
    lines += [f"> {_plain(line)}\n" for line in words["notes"]]
    for table in words["tables"]:
        lines += [f"## {table['name']}", "", _row(table["header"]), _row(["---"] * len(table["header"]))]
        lines += [_row([_plain(cell) for cell in row]) for row in table["rows"]]
        lines += [f"\nand {table['rest']:,} more" if table["rest"] else "", ""]
    data = report.as_json(found).rstrip("\n")
    return "\n".join([*lines, "## Data", "", "```json", data, "```", ""])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """Return a text of one line in which no character is a mark of Markdown."""
    return SPECIAL.sub(r"\\\1", printable(text))


def _words(found: Reproducibility) -> dict[str, Any]:
    """Return the texts that both forms have."""
    counts = ", ".join(f"{count:,} {verdict}" for verdict, count in found.counts.items()) or "no results"
    versions = ", ".join(f"{name} {version}" for name, version in report.versions().items())
    first, *_ = known = sorted(filter(None, found.starts)) or [""]
    return {
        "title": f"{len(found.runs)} runs: {counts}",
        "good": found.is_reproducible,
        "head": [
            printable(f"command: {found.command}"),
            f"runs from {moment(first)} to {moment(known[-1])}" if first else "times of the runs: not recorded",
            f"made on {moment(found.made.isoformat())} with {versions}",
        ],
        "notes": [printable(line) for line in found.notes],
        "tables": [table for table in _tables(found) if table["rows"]],
    }


def _tables(found: Reproducibility) -> Iterator[Table]:
    yield _table("Results", *report.result_cells(found))
    for way, title in TITLES.items():
        header, cells = formatting.across_cells(found.performance[way], (way,), None)
        yield _table(title, *filled(header, cells, {*header} - {"layer"}))
    apart = [[run, ", ".join(names)] for run, names in report.outliers(found)]
    yield _table("Outliers", ["run", "in"], apart)
    yield _table("Schedule", *report.schedule_cells(found))
    yield _table("I/O that differs", ["activity", "measure", "least", "most"], report.io_cells(found))


def _table(name: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    shown = [[cut_path(printable(cell), LONGEST) for cell in row] for row in rows[:ROWS]]
    numbers = [one not in TEXTS for one in header]
    return {"name": name, "header": header, "rows": shown, "rest": len(rows) - len(shown), "numbers": numbers}


def _boxes(found: Reproducibility) -> Iterator[Table]:
    """Yield the box plots of times, one scale for each grouping."""
    for way in ("phase", "prefix"):
        groups = [one for one in found.performance[way] if one.measure == "nanoseconds"][:BOXES]
        most = max((one.most for one in groups), default=0)
        if most:
            yield {"name": TITLES[way], "most": elapsed(most), "plots": [_box(one, most) for one in groups]}


def _box(one: Spread, most: int) -> Table:
    """Return the places of a box plot, and the runs beyond its whiskers."""
    least, low, middle, high, longest = sample.box([*one.values.values()])

    def place(value: float) -> float:
        return round(EDGE + (WIDTH - 2 * EDGE) * value / most, 1)

    beyond = [
        {"x": place(value), "title": f"{run[: report.RUN_SHOWN]}: {elapsed(value)}"}
        for run, value in one.values.items()
        if not least <= value <= longest
    ]
    return {
        "name": printable(" ".join(map(str, one.key))),
        "title": f"median {elapsed(middle)}, quartiles {elapsed(low)} and {elapsed(high)}",
        "least": place(least), "low": place(low), "median": place(middle), "high": place(high),
        "most": place(longest), "width": max(1.0, round(place(high) - place(low), 1)), "beyond": beyond,
    }  # fmt: skip
