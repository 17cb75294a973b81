"""`provio prune`: removes runs older than an age, and remains of damaged stores."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from provio.ask import session
from provio.base import terminal
from provio.base.text import plural, size
from provio.cli.option_types import Time
from provio.cli.options import WORDS_LEFT, fast_option, lost_option

if TYPE_CHECKING:
    from pathlib import Path

    from provio.settings.home import Home

AGE = re.compile(r"(\d{1,6}) *(h|hours?|d|days?|w|weeks?)")
UNITS = {"h": "hours", "d": "days", "w": "weeks"}


class Before(Time):
    """A point in time, given as an age or a time; a date means its start."""

    name = "age"
    examples = "30d, 12h or 2026-11-20"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the time in UTC."""
        age = AGE.fullmatch(value.strip())
        if age:
            return datetime.now(UTC) - timedelta(**{UNITS[age[2][0]]: int(age[1])})
        if re.fullmatch(r"\d{4}-\d\d-\d\d", value.strip()):
            value = f"{value.strip()}T00:00"
        return super().convert(value, param, ctx)


@click.command("prune", short_help="Remove old runs, and remains of damaged stores.")
@click.option("--older-than", "before", type=Before(), help="Runs that ended before: 30d, 12h, 8w, 2026-11-20.")
@click.option("--dry-run", is_flag=True, help="List the runs that would be removed, and remove nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@lost_option
@fast_option
def command(before: datetime | None, dry_run: bool, yes: bool, lost: bool, fast: bool) -> int:
    """Remove the runs that ended before a time, as `provio rm --older-than` does, and remains of damaged stores and
    killed processes.

    A run stays, however old, if it is in progress or another host may still work on it. Example:
    provio prune --older-than 30d --dry-run
    """
    return remove_old(before, dry_run, yes, lost, fast)


def remove_old(before: datetime | None, dry_run: bool, yes: bool, lost: bool, fast: bool) -> int:
    """Remove the runs that ended before a time, if one is given, and remains."""
    from provio.ask import federated
    from provio.merge import removal
    from provio.settings import home as homes

    home = homes.find()
    folders = _old(home, before, lost) if before else []
    with terminal.working() as note:
        note("measuring their size")
        taken, files = session.disk_usage(folders)
        rest, litter = removal.leftovers(home)
    summary = f"{plural(len(folders), 'run')}, {plural(files + rest, 'file')}, {size(taken + litter)}"
    if dry_run:
        terminal.out("".join(f"{folder.name}\n" for folder in folders))
        terminal.note(f"would remove {summary}")
        return 0
    if folders and not yes:
        terminal.confirm(f"remove {summary}?")
    names, settings = [folder.name for folder in folders], session.settings()
    with terminal.working() as note:
        federated.remove(home, names, settings, fast=fast, progress=note)
        note("deleting remains of damaged stores")
        removal.sweep(home)
    terminal.note(f"{summary} removed{WORDS_LEFT * (fast and bool(folders))}")
    return 0


def _old(home: Home, before: datetime, lost: bool) -> list[Path]:
    """Return the runs that ended (or, if the store has no end, started) before a time, oldest first."""
    from provio.trace import liveness, read
    from provio.trace.run_source import start_time

    ends = {run: row.get("end") for run, row in session.own_runs(home).items()}
    began = [run for run in sorted(ends) if start_time(run) < before.timestamp()]
    old = [run for run in began if datetime.fromisoformat(ends.get(run) or "1970-01-01T00:00:00Z") < before]
    folders = [home.runs / run for run in old]
    heads = [(folder, read.read_head(folder)) for folder in folders]
    unclear = [] if lost else [folder for folder, record in heads if liveness.hosts_at_work(folder, record)]
    if unclear:
        terminal.note(
            f"{plural(len(unclear), 'run')} not removed: other hosts may still be at work ({unclear[0].name}); run "
            "provio merge there, or use --lost if those hosts have ended"
        )
    watched, clear = liveness.started_runs(), [one for one in heads if one[0] not in unclear]
    return [folder for folder, record in clear if not liveness.in_progress(folder, record, True, started=watched)]
