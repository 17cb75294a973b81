"""`provio runs`: the list of what is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from provio import asking, runfiles, terminal
from provio.reports.text import size
from provio.verbs import FORMS, runs_options, stoppable, store_option

if TYPE_CHECKING:
    from pyoxigraph import Literal


@click.command("runs", short_help="List what is recorded.")
@click.option("--as", "form", type=FORMS, default="table", show_default=True)
@runs_options
@store_option
@stoppable
def command(form: str, campaign: str | None, name: str | None) -> int:
    """List what is recorded, oldest first; the table shows as much of an id as tells the runs apart.

    `size` is what a run's own files take on the disk (in bytes, but in the table), `files` how many they are: one, once
    it is packed.
    Example: provio runs --campaign das-2026 --as csv > runs.csv
    """
    from provio import runs
    from provio.reports import rows

    reader = asking.reader(None)
    names, found = runs.listing(reader, runs.chosen(reader, campaign, name), _extent)
    width = terminal.width()
    if form == "table":
        names, found = _shown(names, found, runs.shortest(reader), width)
    terminal.out(rows.render(names, found, form, width=width, unicode=terminal.unicode()))
    return 0


def _shown(
    names: list[str], found: list[list[Literal | None]], enough: int, width: int | None
) -> tuple[list[str], list[list[Literal | None]]]:
    """The rows as people read them: `enough` of an id, sizes in units, no column without a value, and where there are
    few columns, the start to the minute."""
    from pyoxigraph import Literal

    from provio.reports import rows

    start = slice(0, 16 if width is not None and width < 100 else None)
    shown: dict[str, Callable[[str], str]] = {
        "run": lambda text: text[:enough],
        "start": lambda text: text[start],
        "size": lambda text: size(int(text)),
    }
    cells = [
        [Literal(shown[name](cell.value)) if cell and name in shown else cell for name, cell in pairs]
        for pairs in (list(zip(names, row, strict=True)) for row in found)
    ]
    for column in ("name", "campaign", "size", "files"):
        names, cells = rows.without_empty(column, names, cells)
    return names, cells


def _extent(run: str) -> tuple[int, int] | None:
    """How many bytes and files a run takes; None where its files are gone."""
    from provio import home as homes

    folder = homes.find().runs / run
    return asking.extent([folder]) if runfiles.exists(folder) else None
