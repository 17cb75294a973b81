"""`provio runs`: the list of what is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from provio.ask import session
from provio.base import terminal
from provio.cli.verbs import FORMS, runs_options, stoppable, store_option
from provio.trace import run_source

MOST = 100  # runs that a terminal is shown

TITLES = {"size": "record", "files": "in files"}  # not those that a run wrote


@click.command("runs", short_help="List what is recorded.")
@click.option("--as", "form", type=FORMS, default="table", show_default=True)
@click.option("--limit", type=click.IntRange(min=1), help="The newest so many [default: 100 on a terminal, else all].")
@runs_options
@store_option
@stoppable
def command(form: str, limit: int | None, campaign: str | None, name: str | None) -> int:
    """List what is recorded, oldest first; the table shows as much of an id as tells the runs apart.

    `size` is what a run's own files take on the disk (in bytes, but in the table), `files` how many they are: one, once
    it is packed. The line below the table, on a terminal, is what the whole record takes: runs, store, what snapshots
    take beyond the store, others.

    \b
    Example: provio runs --campaign das-2026 --as csv > runs.csv
    """
    import textwrap

    from provio.ask import disk_usage, runs
    from provio.render import records
    from provio.settings import home as homes

    reader = session.reader(None)
    ids = runs.chosen(reader, campaign, name)
    ids = [row["run"] for row in reader.rows(runs.LISTING)] if ids is None else ids
    most = limit or (len(ids) if terminal.width() is None else MOST)
    found = runs.listing(reader, ids[-most:], _extent)
    if form == "table":
        terminal.out(_table(found, runs.shortest(reader), terminal.width()))
    else:
        terminal.out(records.render("runs", ([*row.values()] for row in found), form))
    if len(ids) > most:
        terminal.note(f"{len(ids) - most} older runs not shown: --limit {len(ids)} shows all")
    if form == "table" and terminal.width():
        for line in textwrap.wrap(disk_usage.taken(homes.find()).line(), terminal.width() or 0):
            terminal.note(line)
    if homes.find().words_left.exists():
        terminal.note(f"{homes.LEFT_WORDS}: provio merge takes them out")
    return 0


def _table(found: list[dict[str, str | int | float | None]], enough: int, width: int | None) -> str:
    """The rows as people read them: `enough` of an id, sizes and times in units, no column without a value, and where
    there are few columns, the start to the minute and no sizes."""
    from provio.base import table
    from provio.base.text import moment, size, span
    from provio.render import records

    narrow = width is not None and width < 100
    start = slice(0, 16 if narrow else None)
    shown: dict[str, Callable[[Any], str]] = {
        "run": lambda text: str(text[:enough]),
        "start": lambda text: moment(text)[start],
        "seconds": span,
        "size": size,
        "files": str,
    }
    cells = [{name: "" if cell is None else shown.get(name, str)(cell) for name, cell in row.items()} for row in found]
    every = records.TABLES["runs"].names
    always, wide = ("run", "start", "seconds", "end", "command"), ("size", "files")
    names = [name for name in every if name in always or (_any(cells, name) and not (narrow and name in wide))]
    lines = [[row[name] for name in names] for row in cells]
    header = [TITLES.get(name, name) for name in names]
    return table.align(header, lines, width=width, unicode=terminal.unicode(), right={TITLES["files"]})


def _any(cells: list[dict[str, str]], name: str) -> bool:
    return any(row[name] for row in cells)


def _extent(run: str) -> tuple[int, int] | None:
    """How many bytes and files a run takes; None where its files are gone."""
    from provio.settings import home as homes

    folder = homes.find().runs / run
    return session.extent([folder]) if run_source.exists(folder) else None
