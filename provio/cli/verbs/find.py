"""`provio find`: files, runs, programs and tasks by name, content, parameter or package."""

from __future__ import annotations

from typing import Any

import click

from provio.base import terminal
from provio.cli.option_types import Count
from provio.cli.options import form_option, runs_options, stoppable, store_option


@click.command("find", short_help="Find files, runs, programs and tasks.")
@click.argument("what", metavar="[TEXT|FILE]", required=False)
@click.option("--sha256", metavar="H", help="Files with this SHA-256.")
@click.option("--attribute", "attributes", multiple=True, metavar="NAME[=VALUE]", help="Files with this metadata.")
@click.option("--param", "setting", multiple=True, metavar="NAME[=VALUE]", help="Only in runs with this parameter.")
@click.option(
    "--package", "packages", multiple=True, metavar="NAME[==VERSION]", help="Only in runs that used this package."
)
@click.option("--run", metavar="RUN", help="In this run.")
@runs_options
@click.option("--all", "everything", is_flag=True, help="List system files too.")
@click.option("--limit", type=Count(min=1), help="At most this many rows [default: 20 in the table, otherwise all].")
@form_option
@store_option
@stoppable
def command(form: str, limit: int | None, setting: tuple[str, ...], **given: Any) -> int:
    """Find files, runs, programs and tasks: newest first, of each kind some.

    TEXT is a part of a name or a pattern (`*.h5`), regardless of case: in the paths of files, the names, ids and
    command lines of runs and their processes, the names of programs and tasks, and notes; NAME=VALUE is also a
    parameter of runs. A FILE that exists is found by its content, its SHA-256, in any folder and under any name. Files
    of the same size without a recorded SHA-256 are reported as "not compared by content".

    --param, --package, --run, --campaign, --name and --between select runs: without TEXT or FILE these runs are the
    answer. The exit code is 3 if nothing is found.

    \b
    Example: provio find decimate
             provio find ~/Downloads/plot.png
             provio find '*.h5' --param lr=0.1 --package 'numpy==1.26*'
    """
    from provio.ask import finding
    from provio.render import found as report

    wanted = finding.Wanted(parameters=setting, **given)
    limit = limit or (report.MOST if form == "table" else None)
    answer = finding.find(wanted, finding.project_root(), limit=limit)
    if form == "table":
        width, unicode = terminal.width(), terminal.unicode()
        terminal.out(
            report.render(answer, limit or report.MOST, width=width, unicode=unicode, folder=terminal.folder())
        )
    else:
        terminal.out(report.rows(answer, limit, form))
        for note in answer.notes:
            terminal.note(note)
    return 0
