"""`provio impact`: lists the files to re-create if files change."""

from __future__ import annotations

from typing import Any

import click

from provio.base import terminal
from provio.cli.option_types import Choice
from provio.cli.options import code_option, fold_option, form_option, runs_options, stoppable, store_option


@click.command("impact", short_help="Which files must be re-created after a change?")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@runs_options
@click.option(
    "--steps",
    type=Choice(["run", "process"]),
    default="run",
    show_default=True,
    help="The commands that you ran, or the processes that made the files.",
)
@code_option
@form_option
@fold_option
@store_option
@stoppable
def command(files: tuple[str, ...], form: str, fold: bool, steps: str, no_code: bool, **which: Any) -> int:
    """List the commands to repeat if FILE changed, in a possible order, with the files that they make again.

    These are the existing files that were made from any version of FILE, by data or carried. Programs and modules
    count, and their sources. Removed and overwritten files are omitted, unless a later file was made from them.

    \b
    Example: provio impact WestSac.h5
             provio impact filter.c --steps process
             provio impact WestSac.h5#/DataTimeChannel
    """
    from provio.ask.impact import of
    from provio.ask.target import Selection, find_targets
    from provio.render import impact as report

    request = find_targets(files, Selection(**which))
    answer = of(request, code=not no_code)
    if form == "json":
        terminal.out(report.as_json(answer))
    elif form in ("csv", "tsv"):
        terminal.out(report.for_programs(answer, form))
    else:
        width, unicode = terminal.width(), terminal.unicode()
        shown = report.render if steps == "run" else report.processes
        terminal.out(shown(answer, width=width, unicode=unicode, folder=terminal.folder(), fold=fold))
    return request.unknown.exit_code if request.unknown else 0
