"""`provio show`: a run in, its summary out."""

from __future__ import annotations

import click

from provio import asking, terminal
from provio.verbs import stoppable, store_option


@click.command("show", short_help="Show one run.")
@click.argument("run")
@store_option
@stoppable
def command(run: str) -> int:
    """Show one RUN (its id, the beginning of it, its name, or `last`): what ran, what it read and wrote.

    Example: provio show last
    """
    from provio import runs

    reader = asking.reader(None)
    terminal.out(runs.show(reader, asking.run_id(reader, run), unicode=terminal.unicode()))
    return 0
