"""`provio runs`: the list of what is recorded."""

from __future__ import annotations

import click

from provio import asking, terminal
from provio.verbs import FORMS, runs_options, stoppable, store_option


@click.command("runs", short_help="List what is recorded.")
@click.option("--as", "form", type=FORMS, default="table", show_default=True)
@runs_options
@store_option
@stoppable
def command(form: str, campaign: str | None, name: str | None) -> int:
    """List what is recorded, oldest first; the table shows as much of an id as tells the runs apart.

    Example: provio runs --campaign das-2026 --as csv > runs.csv
    """
    from pyoxigraph import Literal

    from provio import runs
    from provio.reports import rows

    reader = asking.reader(None)
    names, found = runs.listing(reader, runs.chosen(reader, campaign, name))
    if form == "table":
        enough = runs.shortest(reader)
        found = [[Literal(run.value[:enough]) if run else None, *rest] for run, *rest in found]
        names, found = rows.without_empty("campaign", names, found)
    width = terminal.width()
    terminal.out(rows.render(names, found, form, width=width, unicode=terminal.unicode()))
    return 0
