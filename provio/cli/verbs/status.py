"""`provio status`: compares a project with its record."""

from __future__ import annotations

from pathlib import Path

import click

from provio.base import terminal
from provio.base.errors import NothingKnown, NotYet
from provio.cli.options import form_option, stoppable, store_option


@click.command("status", short_help="Which files are stale, changed, failed or missing?")
@click.argument("files", metavar="[FILE | FOLDER]...", nargs=-1)
@click.option(
    "--no-fold", is_flag=True, help="List every file: do not combine many files of a folder, nor leave out any."
)
@click.option("--quiet", "-q", is_flag=True, help="Print nothing: only the exit code answers.")
@form_option
@store_option
@stoppable
def command(files: tuple[str, ...], no_fold: bool, quiet: bool, form: str) -> int:
    """List the files of a project that are not current: stale, edited, or made by a command that failed.

    Without arguments, these are all recorded files below the project's folder. Exit code 0 if all are current, 1 if one
    is stale, changed or failed, or could not be compared, 3 if nothing is recorded (4 while a run is in progress).

    \b
    stale    made from content, or by a program, that has changed since
    changed  another content than the last run saw
    failed   made by a command that failed, or the last run of a command
    unsure   other times, and the content could not be compared
    missing  not there (exit code 1 only for a named file)

    \b
    Example: provio status
             provio status fig1.png raw/
    """
    from provio.ask import disk_usage, session
    from provio.ask.status import NOT_CURRENT, place_of, status
    from provio.render import status as report
    from provio.settings import home as homes
    from provio.store import pending

    home = homes.find(Path(files[0]).parent if files else None)
    reader = session.reader(files[0] if files else None, notices=False)
    place = place_of(str(home.project), files, terminal.folder())
    found = status(reader, place)
    states = {row.state for row in found.rows}
    if not quiet:
        waiting = [one.name for one in pending(home, session.settings()) if one.name not in reader.in_progress]
        taken = report.Taken(sum(disk_usage.taken(home)), len(waiting), disk_usage.kept(home))
        if form == "table":
            width, unicode, folder = terminal.width(), terminal.unicode(), terminal.folder()
            every, fold = bool(place.files), not no_fold
            terminal.out(
                report.render(found, taken, every=every, fold=fold, width=width, unicode=unicode, folder=folder)
            )
        else:
            terminal.out(report.for_programs(found, taken, form))
    if states <= {"unknown"}:
        return NotYet.exit_code if reader.as_of else NothingKnown.exit_code
    return 1 if states & NOT_CURRENT or (place.named and "missing" in states) else 0
