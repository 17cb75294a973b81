"""`provio why`: a file in, the one process that made it, and all that is known of how, out."""

from __future__ import annotations

from typing import Any

import click

from provio.ask import session
from provio.base import terminal
from provio.cli.verbs import TEXT_FORMS, fold_option, runs_options, stoppable, store_option, version_options


@click.command("why", short_help="Who made a file, and how?")
@click.argument("file")
@version_options
@runs_options
@click.option("--as", "form", type=TEXT_FORMS, default="text", show_default=True)
@fold_option
@store_option
@stoppable
def command(file: str, form: str, fold: bool, **which: Any) -> int:
    """Show the one process that made FILE: its command line, where, when, how it ended, what it read, what launched it.

    Where nobody who was recorded made it, the exit code is 3.

    \b
    Example: provio why results/fig3.h5
             provio why results/fig3.h5 --at '2 hours ago'
    """
    from provio.ask.why import why
    from provio.render import why as report

    asked = session.files([file], session.Which(**which))
    reason = why(asked.reader, asked.targets[0])
    if form == "json":
        terminal.out(report.as_json(reason))
    elif form in ("csv", "tsv"):
        terminal.out(report.for_programs(reason, form))
    else:
        terminal.out(report.render(reason, unicode=terminal.unicode(), folder=terminal.folder(), fold=fold))
    return 0
