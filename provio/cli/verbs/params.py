"""`provio params`: lists the parameters of runs side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from provio.ask import session
from provio.base import terminal
from provio.cli.option_types import Count
from provio.cli.options import chosen_runs, form_option, run_names, runs_options, stoppable, store_option

if TYPE_CHECKING:
    from provio.ask.run_parameters import Row, Table

MOST = 100  # rows on a terminal


@click.command("params", short_help="List the parameters of runs side by side.")
@form_option
@click.option("--all", "everything", is_flag=True, help="Show the parameters that are equal in all rows too.")
@click.option("--sort", metavar="COLUMN", help="Sort by this parameter or column, the largest value last.")
@click.option("--limit", type=Count(min=0), help="Only the last rows; 0: all [default: 100 on a terminal].")
@run_names
@runs_options
@store_option
@stoppable
def command(
    names: tuple[str, ...],
    form: str,
    everything: bool,
    sort: str | None,
    limit: int | None,
    **chosen: Any,
) -> int:
    """List the parameters of RUNs, or of all runs: a row for each run, or for each program of a run, and a column for
    each parameter that differs.

    A program's parameters are those in force at its end. Rows of the same program are compared with each other. Of a
    single row, all parameters are shown.

    \b
    Example: provio params
             provio params --campaign sweep --sort lr
             provio params last --as json
    """
    from provio.ask import run_parameters

    store = session.reader(None)
    ids = chosen_runs(store, names, **chosen)
    found = run_parameters.of_runs(store, ids)
    rows = run_parameters.ordered(found, sort) if sort else found.rows
    most = len(rows) if limit == 0 else limit or (MOST if form == "table" and terminal.width() else len(rows))
    keys = found.keys(everything)
    if form == "table":
        from provio.ask import runs

        _show(rows[-most:], keys, runs.shortest(store))
    else:
        terminal.out(_rows(rows[-most:], keys, form))
    if len(rows) > most:
        terminal.note(
            f"{len(rows) - most} {'other' if sort else 'older'} rows not shown: --limit {len(rows)} shows all"
        )
    if form == "table" and (note := _equal(found, keys)):
        terminal.note(note)
    if left_out := run_parameters.left_out(store, ids, found):
        terminal.note(left_out)
    return 0


def _equal(found: Table, keys: list[str]) -> str:
    from provio.base.text import plural

    count = len(found.every) - len(keys)
    if not count:
        return ""
    are, them = ("is", "it") if count == 1 else ("are", "them")
    return f"{plural(count, 'parameter')} {are} equal in all rows and not shown: --all shows {them}"


def _rows(rows: list[Row], keys: list[str], form: str) -> str:
    from provio.ask.comparison import plain
    from provio.ask.run_parameters import FIXED
    from provio.render import records

    if form != "json":
        cells = ([*row.cells(), *(plain(row.values[key]) if key in row.values else None for key in keys)]
                 for row in rows)  # fmt: skip
        return records.render([*FIXED, *keys], cells, form)
    held = ({key: plain(row.values[key]) for key in keys if key in row.values} for row in rows)
    return records.render("params", ([*row.cells(), values] for row, values in zip(rows, held, strict=True)), form)


def _show(rows: list[Row], keys: list[str], enough: int) -> None:
    from provio.ask.comparison import text
    from provio.base.text import moment
    from provio.render import by_run

    programs = [row.program + (f" ×{row.processes}" if row.processes > 1 else "") for row in rows]
    facts = {
        "run": [row.run[:enough] for row in rows],
        "start": [moment(row.start)[:16] if row.start else "" for row in rows],
        "name": [row.name or "" for row in rows],
        "program": programs if len(set(programs)) > 1 else [],
    }
    shown = [{key: text(row.values[key]) for key in keys[: by_run.MOST] if key in row.values} for row in rows]
    answer, left_out = by_run.render("parameter", facts, keys, shown, terminal.width(), terminal.unicode())
    terminal.out(answer)
    if left_out:
        terminal.note(f"{left_out:,} more parameters are left out: --as csv or --as json has all")
