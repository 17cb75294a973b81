"""`provio runs`: lists the recorded runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from provio.ask import session
from provio.base import terminal
from provio.base.text import plural
from provio.cli.verbs import Between, Choice, Count, form_option, runs_options, stoppable, store_option
from provio.trace import run_source

if TYPE_CHECKING:
    from provio.ask.document import Note

MOST = 100  # runs shown on a terminal
LEAST = 20  # columns of a command that stay

Row = dict[str, str | int | float | None]
COLUMNS = ("start", "seconds", "end", "name", "campaign", "size", "files", "command")
STATUS: dict[str, Callable[[Row], bool]] = {
    "ok": lambda row: row["end"] == "exit 0",
    "failed": lambda row: str(row["end"]).startswith(("signal ", "exit ")) and row["end"] != "exit 0",
    "running": lambda row: row["end"] == "in progress",
}
TITLES = {"size": "record", "files": "in files"}  # not those that a run wrote


@click.command("runs", short_help="List the recorded runs.")
@form_option
@click.option("--limit", type=Count(min=1), help="Only the last rows [default: 100 on a terminal, otherwise all].")
@click.option("--sort", type=Choice(COLUMNS), help="Sort by this column, the largest value last [default: start].")
@click.option("--note", metavar="GLOB", help="Only runs with a note that matches, or contains, GLOB.")
@click.option("--status", type=Choice([*STATUS]), help="Only runs that ended so.")
@runs_options
@store_option
@stoppable
def command(
    form: str,
    limit: int | None,
    sort: str | None,
    status: str | None,
    note: str | None,
    campaign: str | None,
    name: str | None,
    between: Between | None,
) -> int:
    """List the recorded runs, oldest first; the table shows as much of each id as is unique.

    `size` is the disk usage of a run's own files (in bytes, except in the table), `files` their number: one after the
    run is packed. On a terminal, the line below the table is the disk usage of the whole record: runs, store,
    additional files of snapshots, others.

    \b
    Example: provio runs --campaign das-2026 --as csv > runs.csv
             provio runs --status failed --between yesterday now
             provio runs --sort seconds --limit 10
    """
    import textwrap

    from provio.ask import disk_usage, notes, runs
    from provio.render import records
    from provio.settings import home as homes

    reader = session.reader(None)
    ids = runs.chosen(reader, campaign, name, between)
    ids = [row["run"] for row in reader.rows(runs.LISTING)] if ids is None else ids
    noted = notes.of_runs(reader)
    if note is not None:
        ids = [run for run in ids if any(notes.matches(one["text"], note) for one in noted.get(run, ()))]
    width = terminal.width()
    if sort or status:
        every = runs.listing(reader, ids, _extent if sort in ("size", "files") else lambda _: None)
        ids = [str(row["run"]) for row in _sorted(every, sort) if status is None or STATUS[status](row)]
    most = limit or (len(ids) if width is None else MOST)
    place = {run: at for at, run in enumerate(ids)}
    found = sorted(runs.listing(reader, ids[-most:], _extent), key=lambda row: place[str(row["run"])])
    if form == "table":
        texts = {run: " / ".join(" ".join(one["text"].split()) for one in some) for run, some in noted.items()}
        terminal.out(_table(found, runs.shortest(reader), terminal.width(), {} if note is None else texts))
    else:
        rows = ([*row.values(), _notes(noted.get(str(row["run"]), []), form)] for row in found)
        terminal.out(records.render("runs", rows, form))
    if len(ids) > most:
        left = plural(len(ids) - most, "other run" if sort else "older run")
        terminal.note(f"{left} not shown: --limit {len(ids)} shows all")
    if form == "table" and terminal.width():
        for line in textwrap.wrap(disk_usage.taken(homes.find()).line(), terminal.width() or 0):
            terminal.note(line)
    if homes.find().words_left.exists():
        terminal.note(f"{homes.LEFT_WORDS}: provio merge removes them")
    return 0


def _sorted(rows: list[Row], sort: str | None) -> list[Row]:
    """Return the rows by a column, ascending: unknown values first, numbers by value."""
    if sort is None:
        return rows
    return sorted(rows, key=lambda row: (row[sort] is not None, row[sort] if row[sort] is not None else 0))


def _notes(found: list[Note], form: str) -> list[dict[str, str]] | str:
    """Return the notes on a run: in JSON objects, else their texts."""
    if form != "json":
        return "; ".join(one["text"] for one in found)
    return [{key: text for key, text in one.items() if key in ("time", "user", "text")} for one in found]  # type: ignore[misc]


def _table(found: list[Row], enough: int, width: int | None, notes: dict[str, str]) -> str:
    """Return the rows as a table: `enough` characters of an id, sizes and times with units, no empty columns; on a
    narrow terminal the start without seconds, and no sizes. With `notes` they are a column before the command."""
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
    found = [{**row, "note": notes.get(str(row["run"]), "")} for row in found]
    cells = [{name: "" if cell is None else shown.get(name, str)(cell) for name, cell in row.items()} for row in found]
    every = [{"notes": "command", "command": "note"}.get(name, name) for name in records.TABLES["runs"].names]
    always, wide = ("run", "start", "seconds", "end", "command"), ("size", "files")
    names = [name for name in every if name in always or (_any(cells, name) and not (narrow and name in wide))]
    if width is not None:
        names = _fit(cells, names, width)
    lines = [[row[name] for name in names] for row in cells]
    header = [TITLES.get(name, name) for name in names]
    return table.align(header, lines, width=width, unicode=terminal.unicode(), right={TITLES["files"]})


def _fit(cells: list[dict[str, str]], names: list[str], width: int) -> list[str]:
    """Cut texts, and leave out the campaign, so that ids and times stay whole: an id is to be copied."""
    from provio.base.text import columns, cut_end, printable

    unicode = terminal.unicode()
    room = {name: max(columns(printable(text, unicode)) for text in (name, *(row[name] for row in cells)))
            for name in names}  # fmt: skip
    texts: list[str] = [name for name in ("command", "note", "name") if name in room]

    def least() -> int:
        return sum(min(each, LEAST) if name in texts else each for name, each in room.items()) + 2 * len(room) - 2

    if least() > width:
        room.pop("campaign", None)
    texts += ["campaign"] * ("campaign" in room)
    while sum(room.values()) + 2 * len(room) - 2 > width and max(room[name] for name in texts) > 6:
        room[max(texts, key=lambda name: room[name])] -= 1
    for row in cells:
        row.update({name: cut_end(printable(row[name], unicode), room[name], unicode) for name in texts})
    return [*room]


def _any(cells: list[dict[str, str]], name: str) -> bool:
    return any(row[name] for row in cells)


def _extent(run: str) -> tuple[int, int] | None:
    """Return the number of bytes and files of a run; None if its files were removed."""
    from provio.settings import home as homes

    folder = homes.find().runs / run
    return session.disk_usage([folder]) if run_source.exists(folder) else None
