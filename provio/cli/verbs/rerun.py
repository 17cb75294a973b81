"""`provio rerun`: runs recorded commands again in a folder of their own, and compares the files that they make."""

from __future__ import annotations

import click

from provio.base import terminal
from provio.cli.option_types import Choice, Form
from provio.cli.options import store_option, tolerance_option

KINDS = ("inputs", "environment", "commands", "differs", "missing", "new", "not-compared")
USUAL = ("inputs", "commands", "differs", "missing")


@click.command("rerun", short_help="Run commands again and compare their files.")
@click.argument("names", metavar="RUN | FILE...", nargs=-1, required=True)
@click.option("--in", "folder", metavar="DIR", help="A new or empty folder [default: PROJECT-rerun, next to it].")
@click.option("--dry-run", is_flag=True, help="Check the inputs and print the commands; run nothing.")
@click.option("--only-stale", is_flag=True, help="Only the commands whose files are stale, with the present inputs.")
@click.option("--map", "maps", metavar="OLD=NEW", multiple=True, help="Use NEW for this folder outside the project.")
@click.option("--anyway", is_flag=True, help="Run although the record has gaps.")
@tolerance_option
@click.option(
    "--fail-on",
    type=Choice(KINDS),
    multiple=True,
    default=USUAL,
    show_default=True,
    help="The kinds of differences with exit code 1.",
)
@click.option("--as", "form", cls=Form, type=Choice(["text", "json"]), default="text", show_default=True)
@store_option
def command(
    names: tuple[str, ...], folder: str | None, dry_run: bool, only_stale: bool, maps: tuple[str, ...],
    anyway: bool, tolerance: tuple[tuple[str, float], ...], fail_on: tuple[str, ...], form: str,
) -> int:  # fmt: skip
    """Run the command of RUN, or the commands that made FILE and its recorded ancestors, and compare the files.

    The inputs must have their recorded content; they are copied into DIR. Differences of the environment are printed
    first. Exit code 1 if an input has changed, a command ends otherwise, or a file differs (docs/how-to/rerun.md).

    \b
    Example: provio rerun fig3.h5
             provio rerun last --in ../again
             provio rerun fig3.h5 --dry-run
             provio rerun fig3.h5 --tolerance 1e-6 --tolerance '*.h5:p*=0.01'
    """
    from provio.ask import session, things
    from provio.ask.target import check_project
    from provio.compare.tolerances import Tolerances
    from provio.render import rerun as report
    from provio.rerun import outcome as whole

    if folder == "":
        raise click.UsageError("--in '' names no folder: name one, or omit --in")
    check_project(names)
    place = next((name for name in names if "/" in name), None)
    home, settings = session.project(place)
    whole.complete_hashes(home, settings)
    reader = session.reader(place)
    found = [things.named(reader, name) for name in names]
    if problem := whole.problem(found, only_stale):
        raise click.UsageError(problem)
    if only_stale:
        fail_on = tuple(kind for kind in fail_on if kind != whole.INPUTS)  # a changed input is the reason
    ready = whole.prepare(reader, home, found, stale=only_stale, anyway=anyway)
    for line in ready.lines():
        terminal.warn(line)
    stops = ready.stops(fail_on)
    outcome = None
    if not (stops or dry_run) and ready.plan.steps:
        outcome = whole.execute_plan(ready, folder, maps, terminal.warn, Tolerances(tolerance))
    elif stops:
        terminal.complain("nothing was run: restore the recorded state, or leave this kind out (--fail-on differs)")
    if form == "json":
        terminal.out(report.as_json(ready, outcome))
    elif outcome:
        terminal.out(report.results(ready, outcome, unicode=terminal.unicode()))
    elif dry_run or not stops:
        folder_here = terminal.folder()
        terminal.out(report.plan(ready, width=terminal.width(), unicode=terminal.unicode(), folder=folder_here))
    return outcome.code(fail_on) if outcome else int(stops)
