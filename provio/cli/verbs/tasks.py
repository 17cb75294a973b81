"""`provio tasks`: lists the Tasks of runs, or groups of them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.base.errors import NothingKnown
from provio.base.text import plural, sortable
from provio.base.times import Between
from provio.cli.option_types import Choice, Count
from provio.cli.options import chosen_runs, follow_option, form_option, run_names, runs_options, stoppable, store_option

if TYPE_CHECKING:
    from provio.ask.task_list import Group, Row
    from provio.cli.following import Event

MOST = 30  # rows shown on a terminal
SORTS: dict[str, Callable[[Row], str | float]] = {
    "start": lambda row: sortable(row.start or ""),
    "seconds": lambda row: row.seconds or 0.0,
    "name": lambda row: row.name,
    "kind": lambda row: row.kind or "",
    "worker": lambda row: row.worker,
    "status": lambda row: row.status,
    "bytes_read": lambda row: row.read,
    "bytes_written": lambda row: row.written,
    "bytes_result": lambda row: row.result or 0,
    "attempt": lambda row: row.attempt or 0,
}
GROUP_SORTS: dict[str, Callable[[Group], str | float]] = {
    "name": lambda one: one.name,
    "tasks": lambda one: one.tasks,
    "median": lambda one: one.percentile(0.5) or 0.0,
    "seconds": lambda one: sum(one.times),
    "bytes_read": lambda one: one.read,
    "bytes_written": lambda one: one.written,
    "bytes_transferred": lambda one: one.transferred,
    "failed": lambda one: one.failed,
}
SHOWN = 13  # characters of a run's id in a row of --follow
REFRESH = 1.0  # seconds between two states of the screen
STATUS = ("failed", "ok", "unfinished")


@click.command("tasks", short_help="List the tasks of a run.")
@click.option("--by", type=Choice(["prefix", "worker"]), help="Figures for each prefix of keys, or each worker.")
@click.option("--kind", metavar="KIND", help="Only tasks of this kind: dask, cell, function, …")
@click.option("--status", type=Choice(STATUS), help="Only tasks that ended so.")
@click.option(
    "--sort",
    type=Choice(list(dict.fromkeys([*SORTS, *GROUP_SORTS]))),
    metavar="COLUMN",
    help="Sort by this column, the largest value last [default: start; with --by seconds].",
)
@click.option("--limit", type=Count(min=1), help=f"Only the last rows [default: {MOST} on a terminal, otherwise all].")
@follow_option
@form_option
@runs_options
@run_names
@store_option
@stoppable
def command(
    names: tuple[str, ...],
    by: str | None,
    kind: str | None,
    status: str | None,
    sort: str | None,
    limit: int | None,
    follow: bool,
    form: str,
    campaign: str | None,
    name: str | None,
    between: Between | None,
) -> int:
    """List the tasks of each RUN (default: the newest run with tasks), oldest first: tasks of Dask, cells of notebooks,
    and the parts of programs that they name.

    --by prefix groups tasks of Dask by the prefix of their keys (`inc` of `inc-4a1b…`), others by their names, over
    all RUNs; --by worker by the worker that ran them, or the process. Reads and writes of files by a task include those
    of tasks inside it, as its duration does. docs/output.md describes the columns.

    --follow shows the tasks in progress and the slowest ones on a terminal. Elsewhere, and with --status, it prints a
    row for each task when it ends; --as json an object per line (docs/live.md). Without RUN it follows all runs.

    \b
    Example: provio tasks
             provio tasks last --by prefix
             provio tasks --campaign das-2026 --status failed
             provio tasks --kind dask --sort seconds --limit 10
             provio tasks --follow
    """
    if follow:
        from provio.cli import following

        following.refuse(by=by, sort=sort, limit=limit)
        return _follow(following.events(names, campaign, name, between), kind, status, form)
    from provio.ask import task_list
    from provio.settings import home as homes

    if by and status:
        raise click.UsageError("--by counts all tasks, with a column of failed ones: omit --status")
    if sort and sort not in (GROUP_SORTS if by else SORTS):
        allowed = ", ".join(GROUP_SORTS if by else SORTS)
        raise click.UsageError(f"--sort {sort} is no column {'of --by' if by else 'without --by'}: use {allowed}")
    gc.disable()  # the process ends before a collection pays off
    store = session.reader(None)
    wanted = task_list.chosen(store, chosen_runs(store, names, campaign, name, between))
    results = bool(by) or form != "table" or sort == "bytes_result"
    found = task_list.listed(store, homes.find(), wanted, kind, results)
    if not found.rows:
        of_kind = f"no task of the kind {kind!r}" if kind else "no task"
        where = "this run" if len(wanted) == 1 else f"these {len(wanted)} runs"
        raise NothingKnown(f"{of_kind} is recorded in {where}: provio tasks RUN lists those of another run")
    most = limit or (MOST if form == "table" and terminal.width() is not None else None)
    if by:
        groups = task_list.groups(found, by)[::-1]
        groups.sort(key=GROUP_SORTS[sort or "seconds"])
        _print(_group_cells(groups[-(most or len(groups)) :]), f"tasks --by {by}", form)
        _note(len(groups), most, "other group")
        return 0
    rows = [row for row in found.rows if status is None or task_list.STATUS[status](row)]
    if sort:
        rows.sort(key=SORTS[sort])
    _print([task_list.cells(row) for row in (rows[-most:] if most else rows)], "tasks", form)
    _note(len(rows), most, "other task" if sort else "older task")
    return 0


def _follow(events: Iterator[Event | None], kind: str | None, status: str | None, form: str) -> int:
    """Print the tasks of runs that go on: on a terminal as a screen, else a row for each that has ended."""
    from provio.cli import following

    if form == "table" and status is None and following.has_screen():
        return _show_screen(events, kind)
    layout = following.Layout(
        (3, "start (UTC)", 19, lambda text: text[:19].replace("T", " ")),
        (4, "time", -8, lambda seconds: _shown("seconds", seconds, True)),
        (5, "status", 6, str),
        (6, "read", -8, lambda count: _shown("bytes_read", count, True)),
        (7, "written", -8, lambda count: _shown("bytes_written", count, True)),
        (13, "run", SHOWN, lambda run: run[:SHOWN]),
        (0, "name", 1, str),
    )
    following.show_rows("tasks", _ended(events, kind, status), form, layout)
    return 0


def _ended(events: Iterable[Event | None], kind: str | None, status: str | None) -> Iterator[list[Cell]]:
    """Yield the cells of the table `tasks` for each task of a kind that ended so, as far as events have them."""
    from provio.ask.key_prefix import prefix
    from provio.ask.task_list import FAILED
    from provio.follow.task_rows import TaskRows
    from provio.lineage.identity import SEALED

    tasks = TaskRows()
    for event in events:
        for one in tasks.add(event) if event else ():
            if kind in (None, one.kind) and status in (None, "failed" if one.status in FAILED else one.status):
                group = prefix(one.name) if one.kind in SEALED else one.name
                facts = (one.name, one.kind, one.worker, one.start, one.seconds, one.status, one.read, one.written)
                yield [*facts, None, group, None, None, None, one.run, one.iri]


def _show_screen(events: Iterable[Event | None], kind: str | None) -> int:
    """Show the tasks of runs on a terminal, about once a second, and at the end."""
    import shutil
    import time

    from provio.cli.following import Screen
    from provio.follow.task_rows import TaskRows
    from provio.render.task_screen import TaskScreen

    terminal.out("")
    tasks, content, screen, due, is_first = TaskRows(), TaskScreen(), Screen(), time.monotonic() + REFRESH, True

    def show() -> None:
        columns, rows = shutil.get_terminal_size()
        screen.show(content.lines(time.time(), columns - 1, rows - 1, terminal.unicode()))

    for event in events:
        ended = tasks.add(event) if event else ()
        if event and (kind is None or event["type"] != "task" or event["data"]["kind"] == kind):
            content.add(event)
        for one in ended:
            if kind in (None, one.kind):
                content.end(one)
        if time.monotonic() >= due or (event is None and is_first):
            show()
            due, is_first = time.monotonic() + REFRESH, False
    show()
    return 0


def _note(count: int, most: int | None, what: str) -> None:
    if most is not None and count > most:
        terminal.note(f"{plural(count - most, what)} not shown: --limit {count} shows all")


Cell = str | int | float | None


def _group_cells(groups: Sequence[Group]) -> list[list[Cell]]:
    """Return the cells of the tables `tasks --by …`."""
    found: list[list[Cell]] = []
    for one in groups:
        times = (None if time is None else round(time, 6) for time in map(one.percentile, (0.5, 0.05, 0.95)))
        total = round(sum(one.times), 6)
        moved = (one.read, one.written, len(one.files), one.transferred)
        found.append([one.name, ", ".join(sorted(one.kinds)), one.tasks, *times, total, *moved, one.failed])
    return found


def _print(rows: list[list[Cell]], table: str, form: str) -> None:
    from provio.render import records

    if form == "table":
        terminal.out(_table(records.TABLES[table].names, rows))
    else:
        terminal.out(records.render(table, rows, form))


SHORT = {"start": "start (UTC)", "seconds": "time", "percentile_5": "5 %", "percentile_95": "95 %",
         "bytes_read": "read", "bytes_written": "written", "bytes_transferred": "moved"}  # fmt: skip
SPANS = frozenset({"seconds", "median", "percentile_5", "percentile_95"})
RIGHT = frozenset({"time", "read", "written", "attempt", "tasks", "median", "5 %", "95 %", "files", "moved", "failed"})
NOT_SHOWN = frozenset({"bytes_result", "priority", "restrictions", "run", "iri"})


def _table(names: list[str], rows: list[list[Cell]]) -> str:
    """Return the rows as a table: times and sizes with units; no columns that are empty or the same in all rows."""
    from provio.base import table

    by_name: dict[str, list[Cell]] = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    omitted = NOT_SHOWN | ({"prefix"} if "name" in by_name else set())
    omitted |= {name for name in ("kind", "status") if set(by_name.get(name, ())) <= {"ok", by_name["kind"][0]}}
    kept = [name for name in names if name not in omitted]
    same_day = len({str(start)[:10] for start in by_name.get("start", ())}) == 1
    cells = [[_shown(name, by_name[name][place], same_day) for name in kept] for place in range(len(rows))]
    header, cells = table.filled([SHORT.get(name, name) for name in kept], cells, {"tasks", "time", names[0]})
    return table.align(header, cells, width=terminal.width(), unicode=terminal.unicode(), right=RIGHT)


def _shown(name: str, cell: Cell, same_day: bool) -> str:
    from provio.base.text import elapsed, size

    if cell is None or (cell == 0 and name not in SPANS) or (name, cell) == ("attempt", 1):
        return ""
    if name in SPANS:
        return elapsed(float(cell) * 1e9)
    if name.startswith("bytes_"):
        return size(int(cell))
    if name == "worker":
        return str(cell).removeprefix("tcp://")
    if name == "start":
        return f"{cell}"[11 if same_day else 0 : 23].rstrip("Z").replace("T", " ")
    return str(cell)
