"""`provio rm`: removes runs and all conclusions from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.base.errors import NothingKnown, ProvioError
from provio.base.text import plural, size
from provio.cli.options import WORDS_LEFT, fast_option, lost_option, store_option
from provio.cli.verbs.prune import Before, remove_old

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

NAMED = 3  # processes of a run in progress


@click.command("rm", short_help="Remove runs, and all conclusions from them.")
@click.argument("runs", nargs=-1)
@click.option("--older-than", "before", type=Before(), help="Instead of RUNS: all that ended before, as provio prune.")
@click.option("--dry-run", is_flag=True, help="List the runs that would be removed, and remove nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@lost_option
@fast_option
@store_option
def command(runs: tuple[str, ...], before: datetime | None, dry_run: bool, yes: bool, lost: bool, fast: bool) -> int:
    """Remove RUNS: their statements in the store, the conclusions from them, and their files in .provio. This cannot be
    undone.

    A run is an id, a unique start of an id, a unique name, `last`, or `last~1`, the one before. If a run is in
    progress, or another host may still work on it, none of RUNS is removed. The files that runs wrote are not touched.

    \b
    Example: provio rm 0193c1f2
             provio rm --older-than 30d --dry-run
    """
    if bool(runs) == bool(before):
        raise click.UsageError("name RUNS, or give --older-than AGE (30d, 2026-11-20)")
    if before:
        return remove_old(before, dry_run, yes, lost, fast)
    from provio.ask import federated
    from provio.settings import home as homes

    home = homes.find()
    known = {run: row.get("name") for run, row in session.own_runs(home).items()}
    found = [home.runs / run for run in dict.fromkeys(_find(known, name) for name in runs)]
    taken, files = session.disk_usage(found)
    summary = f"{plural(len(found), 'run')} ({plural(files, 'file')}, {size(taken)})"
    for folder in found:
        _check_ended(folder, lost)
    if dry_run:
        terminal.out("".join(f"{folder.name}\n" for folder in found))
        terminal.note(f"would remove {summary}")
        return 0
    if not yes:
        terminal.confirm(
            f"remove {summary}: {', '.join(folder.name for folder in found[:4])}{' …' * (len(found) > 4)}?"
        )
    names, settings = [folder.name for folder in found], session.settings()
    with terminal.working() as note:
        federated.remove(home, names, settings, fast=fast, progress=note)
    terminal.note(f"{summary} removed{WORDS_LEFT * fast}")
    return 0


def _find(known: dict[str, str | None], name: str) -> str:
    if not name:
        raise click.UsageError("the name of a run is empty: give an id or a name")
    from provio.ask import runs

    if known and runs.LAST.fullmatch(name):
        return runs.counted_back(name, sorted(known)) or name
    named = [run for run, given in known.items() if name in (given, run)]
    found = named or [run for run in known if run.startswith(name)]
    if not found:
        raise NothingKnown(f"no run {name!r} is recorded: provio runs lists them")
    if len(found) > 1:
        raise ProvioError(f"{len(found)} runs match {name!r}: give an id ({', '.join(sorted(found)[:3])})")
    return found[0]


def _check_ended(folder: Path, lost: bool) -> None:
    from provio.trace import liveness, read

    record = read.read_head(folder)
    others = [] if lost else liveness.hosts_at_work(folder, record)
    if others:
        raise ProvioError(
            f"run {folder.name} may still be in progress on {', '.join(others)}; nothing was removed: if it has "
            "ended, run provio merge there to collect its records, or use --lost"
        )
    if liveness.in_progress(folder, record, lost, started=liveness.started_runs()):
        named = _named(liveness.living_processes(folder, record))
        raise ProvioError(f"run {folder.name} is in progress{named}: end its processes first; nothing was removed")


def _named(processes: list[tuple[int, str]]) -> str:
    """Return the first processes, in parentheses."""
    few = [f"{pid} {name}" for pid, name in processes[:NAMED]]
    more = f" and {len(processes) - NAMED} more" if len(processes) > NAMED else ""
    return f" ({', '.join(few)}{more})" if few else ""
