"""`provio why`: shows the process that wrote a file, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from provio.base import terminal
from provio.cli.option_types import TEXT_FORMS, Form
from provio.cli.options import fold_option, runs_options, stoppable, store_option, version_options

if TYPE_CHECKING:
    from provio.ask.why import Reason


@click.command("why", short_help="Which process made a file, and how?")
@click.argument("file")
@version_options
@runs_options
@click.option("--as", "form", cls=Form, type=TEXT_FORMS, default="text", show_default=True)
@fold_option
@store_option
@stoppable
def command(file: str, form: str, fold: bool, **which: Any) -> int:
    """Show the process that made FILE: command line, place, time, end, inputs, parent processes.

    The exit code is 3 if no recorded process made it.

    \b
    Example: provio why results/fig3.h5
             provio why results/fig3.h5 --at '2 hours ago'
    """
    from provio.ask.target import Selection, find_targets
    from provio.ask.why import why

    request = find_targets([file], Selection(**which))
    terminal.out(shown(why(request.reader, request.targets[0]), form, fold))
    return 0


def shown(reason: Reason, form: str, fold: bool) -> str:
    """Return the maker of a file in a form."""
    from provio.render import why as report

    if form == "json":
        return report.as_json(reason)
    if form in ("csv", "tsv"):
        return report.for_programs(reason, form)
    width, unicode = terminal.width(), terminal.unicode()
    return report.render(reason, width=width, unicode=unicode, folder=terminal.folder(), fold=fold)
