"""`provio show`: a run, or an object inside a file, in; what is recorded of it out."""

from __future__ import annotations

import click

from provio import asking, terminal
from provio.verbs import stoppable, store_option


@click.command("show", short_help="Show one run, or a dataset.")
@click.argument("run", metavar="RUN|FILE#/DATASET")
@store_option
@stoppable
def command(run: str) -> int:
    """Show one RUN (its id, the beginning of it, its name, or `last`): what ran, what it read and wrote. Or a dataset,
    an attribute or a group inside a file: what it is, who made it, and what was done to it.

    \b
    Example: provio show last
             provio show xcorr.h5#/stack
    """
    if "#" in run:
        from provio import show_member

        asked = asking.files([run])
        terminal.out(show_member.show(asked.reader, asked.targets[0], unicode=terminal.unicode()))
        return 0
    from provio import runs

    reader = asking.reader(None)
    terminal.out(runs.show(reader, asking.run_id(reader, run), unicode=terminal.unicode()))
    return 0
