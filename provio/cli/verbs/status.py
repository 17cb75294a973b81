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
@click.option("--fair", is_flag=True, help="Print facts about findable, accessible, interoperable, reusable results.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing: only the exit code answers.")
@form_option
@store_option
@stoppable
def command(files: tuple[str, ...], no_fold: bool, fair: bool, quiet: bool, form: str) -> int:
    """List the files of a project that are not current: stale, edited, or made by a command that failed.

    Without arguments, these are all recorded files below the project's folder. Exit code 0 if all are current, 1 if one
    is stale, changed or failed, or could not be compared, 3 if nothing is recorded (4 while a run is in progress).

    \b
    stale    made from content, or by a program, that has changed since
    changed  another content than the last run saw
    failed   made by a command that failed, or the last run of a command
    unsure   other times, and the content could not be compared
    missing  not there (exit code 1 only for a named file)

    With --fair, print facts about the files and their lineage, or about all runs: identifier, licence, creators, known
    producers and packages, hashes, gaps; each with the FsF metric that it answers (docs/export.md). Exit code 0.

    \b
    Example: provio status
             provio status fig1.png raw/
             provio status fig1.png --fair
    """
    if fair:
        return _fair(files, form)
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


def _fair(files: tuple[str, ...], form: str) -> int:
    """Print the facts about FAIR results."""
    from provio.ask import session
    from provio.ask.target import Selection, find_targets
    from provio.base.table import align
    from provio.exchange import fair
    from provio.exchange.subject import Subject
    from provio.render import records
    from provio.settings import home as homes

    home = homes.find(Path(files[0]).parent if files else None)
    request = find_targets(files, Selection()) if files else None
    reader = request.reader if request else session.reader(None)
    subject = Subject(reader, home, files=tuple(request.targets) if request else ())  # type: ignore[arg-type]
    met = {True: "yes", False: "no", None: "partly"}
    rows = [(one.name, met[one.is_met], one.metric, one.value) for one in fair.facts(subject)]
    if form != "table":
        terminal.out(records.render("status --fair", rows, form))
        return 0
    names = ("fact", "met", "FsF metric", "value")
    terminal.out(align(names, rows, width=terminal.width(), unicode=terminal.unicode(), fold={"value", "fact"}))
    return 0
