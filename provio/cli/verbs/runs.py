"""`provio runs`: lists the recorded runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from provio.ask import session
from provio.base import terminal
from provio.base.text import plural
from provio.base.times import Between
from provio.cli.option_types import Choice, Count
from provio.cli.options import follow_option, form_option, runs_options, stoppable, store_option
from provio.trace import run_source

if TYPE_CHECKING:
    from provio.ask.document import Note
    from provio.cli.following import Event
    from provio.settings.home import Home

MOST = 100  # runs shown on a terminal
LEAST = 20  # columns of a command that stay

Row = dict[str, str | int | float | None]
COLUMNS = ("start", "seconds", "end", "name", "campaign", "size", "files", "command")
STATUS: dict[str, Callable[[Row], bool]] = {
    "ok": lambda row: row["end"] == "exit 0",
    "failed": lambda row: str(row["end"]).startswith(("signal ", "exit ")) and row["end"] != "exit 0",
    "running": lambda row: row["end"] == "in progress",
}
SHOWN = 13  # characters of a run's id in a row of --follow
TITLES = {"size": "record", "files": "in files"}  # not those that a run wrote


@click.command("runs", short_help="List the recorded runs.")
@click.option(
    "--by", type=Choice(["campaign"]), help="List campaigns: their runs, hosts, state, and files between runs."
)
@follow_option
@form_option
@click.option("--limit", type=Count(min=1), help="Only the last rows [default: 100 on a terminal, otherwise all].")
@click.option("--sort", type=Choice(COLUMNS), help="Sort by this column, the largest value last [default: start].")
@click.option("--note", metavar="GLOB", help="Only runs with a note that matches, or contains, GLOB.")
@click.option("--status", type=Choice([*STATUS]), help="Only runs that ended so.")
@runs_options
@store_option
@stoppable
def command(
    by: str | None,
    follow: bool,
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

    --by campaign lists the campaigns instead. --follow prints a row when a run starts, and one when it ends, of all
    runs from now on, until Ctrl-C; --as json an object per line (docs/live.md).

    \b
    Example: provio runs --campaign das-2026 --as csv > runs.csv
             provio runs --status failed --between yesterday now
             provio runs --sort seconds --limit 10
             provio runs --by campaign
             provio runs --follow --status failed
    """
    if follow:
        from provio.cli import following

        following.refuse(by=by, sort=sort, limit=limit, note=note)
        return _follow(following.events((), campaign, name, between), status, form)
    if by:
        return _campaigns(campaign, form, sort=sort, limit=limit, note=note, status=status, name=name, between=between)
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


def _follow(events: Iterable[Event | None], status: str | None, form: str) -> int:
    """Print a row when a run starts and when it ends."""
    from provio.ask import session
    from provio.base.text import span
    from provio.cli import following

    layout = following.Layout(
        (0, "run", SHOWN, lambda run: run[:SHOWN]),
        (1, "start (UTC)", 19, lambda text: text[:19].replace("T", " ")),
        (2, "seconds", -8, span),
        (3, "end", 11, str),
        (4, "name", 6, str),
        (8, "command", 1, str),
    )
    home, _ = session.project(None)
    following.show_rows("runs", _rows_of(events, status, home), form, layout)
    return 0


def _rows_of(events: Iterable[Event | None], status: str | None, home: Home) -> Iterator[list[Any]]:
    """Yield the cells of the table `runs` for each start and end of a run."""
    from provio.base.text import seconds
    from provio.base.turtle import instant_text
    from provio.trace.read import read_head

    for event in events:
        if event is None or event["type"] != "run":
            continue
        run, data = event["run"], event["data"]
        extent: tuple[int | None, int | None] = (None, None)
        row: Row = {"end": "in progress", "start": event["time"], "seconds": None}
        if data["state"] == "ended":
            head = read_head(home.runs / run)
            start, end = instant_text(int(head.get("startedNs", 0))), "ended" if "endedNs" in head else "not seen"
            row = {"end": data["end"] or end, "start": start, "seconds": seconds(start, event["time"])}
            extent = _extent(run) or extent
        if status is None or STATUS[status](row):
            facts = (run, row["start"], row["seconds"], row["end"], data["name"], data["campaign"])
            yield [*facts, *extent, data["command"], None]


def _campaigns(campaign: str | None, form: str, **refused: object) -> int:
    """Print the campaigns; raises UsageError for an option that selects or sorts runs."""
    from provio.ask import campaigns
    from provio.base.errors import NothingKnown
    from provio.render import records
    from provio.settings import home as homes

    for option, value in refused.items():
        if value is not None:
            raise click.UsageError(f"--{option} is about single runs, and --by campaign lists campaigns: leave one out")
    found = campaigns.listed(session.reader(None), homes.find(), campaign)
    if not found:
        which = "no run has a campaign" if campaign is None else f"no run has the campaign {campaign!r}"
        raise NothingKnown(f"{which}: provio run --campaign NAME gives a run one")
    rows = [campaigns.cells(one) for one in found]
    if form == "table":
        terminal.out(_table_of_campaigns(rows))
    else:
        shown = rows if form == "json" else [[_flat(cell) for cell in row] for row in rows]
        terminal.out(records.render("campaigns", shown, form))
    return 0


def _flat(cell: Any) -> Any:
    """Return a list or an object as a text."""
    if isinstance(cell, dict):
        return ", ".join(f"{count} {state}" for state, count in cell.items())
    if isinstance(cell, list):
        ties = [f"{one['maker']} {one['reader']} {one['files']}" if isinstance(one, dict) else one for one in cell]
        return ", ".join(ties)
    return cell


def _table_of_campaigns(rows: list[list[Any]]) -> str:
    """Return campaigns as a table: `runs` with the numbers by state, `ties` as the number of files between runs."""
    from provio.base import table
    from provio.base.text import moment

    lines = [
        [name, _counted(runs, states), moment(start)[:16] if start else "", moment(end)[:16] if end else "", state,
         ", ".join(hosts), str(sum(tie["files"] for tie in ties) or "")]
        for name, runs, hosts, _, start, end, state, states, ties in rows
    ]  # fmt: skip
    header = ["campaign", "runs", "start (UTC)", "end (UTC)", "state", "hosts", "files between"]
    header, lines = table.filled(header, lines, {"campaign"})
    fold = frozenset({"campaign", "hosts"})
    width = terminal.width()
    return table.align(header, lines, width=width, unicode=terminal.unicode(), right={"files between"}, fold=fold)


def _counted(runs: int, states: dict[str, int]) -> str:
    return f"{runs}: {_flat(states)}" if len(states) > 1 else str(runs)


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
