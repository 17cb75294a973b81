"""`provio prune`: an age in; the runs beyond it, and what is left of broken stores, gone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from provio.ask import session
from provio.base import terminal
from provio.base.text import plural, size
from provio.cli.verbs import WORDS_LEFT, Time, fast_option, lost_option

if TYPE_CHECKING:
    from pathlib import Path

    from provio.settings.home import Home

AGE = re.compile(r"(\d{1,6}) *(h|hours?|d|days?|w|weeks?)")
UNITS = {"h": "hours", "d": "days", "w": "weeks"}


class Before(Time):
    """A moment, said as an age or as a time; a date is its beginning."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the moment, in UTC."""
        age = AGE.fullmatch(value.strip())
        if age:
            return datetime.now(UTC) - timedelta(**{UNITS[age[2][0]]: int(age[1])})
        if re.fullmatch(r"\d{4}-\d\d-\d\d", value.strip()):
            value = f"{value.strip()}T00:00"
        return super().convert(value, param, ctx)


@click.command("prune", short_help="Remove old runs, and what broken stores left.")
@click.option("--older-than", "before", type=Before(), help="Runs that ended before: 30d, 12h, 8w, 2026-11-20.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and remove nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@lost_option
@fast_option
def command(before: datetime | None, dry_run: bool, yes: bool, lost: bool, fast: bool) -> int:
    """Remove the runs that ended before a time, as `provio rm` does, and what broken stores and killed processes left.

    A run that still goes on stays, however old, or that another host may still be at work on. Example:
    provio prune --older-than 30d --dry-run
    """
    from provio.ask import federated
    from provio.merge import removal
    from provio.settings import home as homes

    home = homes.find()
    folders = _old(home, before, lost) if before else []
    with terminal.working() as note:
        note("looking at what they take")
        taken, files = session.extent(folders)
        rest, litter = removal.leftovers(home)
    what = f"{plural(len(folders), 'run')}, {plural(files + rest, 'file')}, {size(taken + litter)}"
    if dry_run:
        terminal.out("".join(f"{folder.name}\n" for folder in folders))
        terminal.note(f"would remove {what}")
        return 0
    if folders and not yes:
        terminal.confirm(f"remove {what}?")
    names, settings = [folder.name for folder in folders], session.settings()
    with terminal.working() as note:
        federated.remove(home, names, settings, fast=fast, progress=note)
        note("deleting what broken stores left")
        removal.sweep(home)
    terminal.note(f"{what} removed{WORDS_LEFT * (fast and bool(folders))}")
    return 0


def _old(home: Home, before: datetime, lost: bool) -> list[Path]:
    """The runs that ended before a moment, oldest first, as far as the store knows their ends; else by their starts."""
    from provio.merge import archive_runs
    from provio.trace import liveness, read

    ends = {run: row.get("end") for run, row in session.own_runs(home).items()}
    began = [run for run in sorted(ends) if archive_runs.start_time(run) < before.timestamp()]
    old = [run for run in began if datetime.fromisoformat(ends.get(run) or "1970-01-01T00:00:00Z") < before]
    folders = [home.runs / run for run in old]
    heads = [(folder, read.read_head(folder)) for folder in folders]
    unclear = [] if lost else [folder for folder, record in heads if liveness.hosts_at_work(folder, record)]
    if unclear:
        terminal.note(
            f"{plural(len(unclear), 'run')} left: other hosts may still be at work ({unclear[0].name}); provio merge "
            "there brings in what ended, --lost takes them as gone"
        )
    watched, clear = liveness.started_runs(), [one for one in heads if one[0] not in unclear]
    return [folder for folder, record in clear if not liveness.in_progress(folder, record, True, started=watched)]
