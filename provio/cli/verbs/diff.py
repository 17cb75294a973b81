"""`provio diff`: lists the differences between the configurations of two runs."""

from __future__ import annotations

import click

from provio.ask import session
from provio.base import terminal
from provio.cli.options import form_option, stoppable, store_option


@click.command("diff", short_help="Compare the configurations of two runs.")
@click.argument("first", metavar="RUN")
@click.argument("second", metavar="RUN")
@form_option
@store_option
@stoppable
def command(first: str, second: str, form: str) -> int:
    """List the settings in which two runs differ, each as it was at its end, the first RUN's value before the second's.

    A RUN is `last`, `last~1`, an id, the start of an id, or a name. Numbers are compared as numbers: 256 is 256.0.
    Exit code 1 on a difference. Nothing else is compared: lines on the standard error state this.
    Example: provio diff last~1 last
    """
    from provio.ask import comparison, experiments
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
    for line in experiments.not_compared(store, ids):
        terminal.note(line)
    return 1 if found else 0
