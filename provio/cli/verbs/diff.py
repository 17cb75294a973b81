"""`provio diff`: lists the differences between the configurations of two runs."""

from __future__ import annotations

import click

from provio.ask import session
from provio.base import terminal
from provio.cli.verbs import FORMS, Form, stoppable, store_option


@click.command("diff", short_help="Compare the configurations of two runs.")
@click.argument("first", metavar="RUN")
@click.argument("second", metavar="RUN")
@click.option("--as", "form", cls=Form, type=FORMS, default="table", show_default=True)
@store_option
@stoppable
def command(first: str, second: str, form: str) -> int:
    """List the settings in which two runs differ, each as it was at its end, the first RUN's value before the second's.

    A RUN is `last`, `last~1`, an id, the start of an id, or a name. Numbers are compared as numbers: 256 is 256.0.
    Exit code 1 on a difference. Nothing else is compared: with a table, lines on the standard error state this.
    Example: provio diff last~1 last
    """
    from provio.ask import comparison, experiments, run_uses
    from provio.base.text import plural
    from provio.render import records

    store = session.reader(None)
    ids = [session.run_id(store, name) for name in (first, second)]
    found = experiments.differing(store, *zip((first, second), ids, strict=True))
    values = comparison.plain if form == "json" else comparison.text
    rows = [[name, one.key, *(None if side is None else values(side) for side in one[1:])] for name, one in found]
    if rows or form != "table":
        terminal.out(records.render("diff", rows, form, width=terminal.width(), unicode=terminal.unicode()))
    else:
        terminal.out("no setting differs\n")
    if form == "table":
        terminal.note("only settings are compared, not results, programs, environment, times or files")
        paths, without = run_uses.files_of_runs(store, ids)
        if paths:
            more = f" and {plural(len(without) - 1, 'other')}" if without[1:] else ""
            named = f" ({without[0]}{more})" if without else ""
            terminal.note(
                f"not compared by content: {plural(paths, 'file')}, {len(without):,} without a SHA-256{named}"
            )
    return 1 if found else 0
