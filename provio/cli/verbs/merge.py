"""`provio merge`: adds recorded runs to the store and reports damaged files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.base.errors import ProvioError
from provio.base.text import plural
from provio.cli.options import store_option

if TYPE_CHECKING:
    from provio.settings.home import Home
    from provio.settings.schema import Config

NAMED = 5  # lost runs that are named


@click.command("merge", short_help="Add recorded runs to the store.")
@click.argument("runs", nargs=-1)
@click.option(
    "--rebuild", is_flag=True, help="Rebuild the store from all recorded runs; the old one stays until the end."
)
@click.option("--force", is_flag=True, help="With --rebuild: even if runs without a folder are lost.")
@click.option("--pack", is_flag=True, help="Then pack all finished runs, even new ones, and wait for that.")
@click.option(
    "--collect", "only_collect", is_flag=True, help="Only collect records from this host's own disk; merge nothing."
)
@click.option("--quiet", is_flag=True, help="Print only errors.")
@store_option
def command(runs: tuple[str, ...], rebuild: bool, force: bool, pack: bool, only_collect: bool, quiet: bool) -> int:
    """Add recorded runs to the store: all that are new or changed, or RUNS.

    Merging again changes nothing. A damaged file is reported with its line, and only its data is missing; the exit code
    is then 1, each time. Missing hashes are computed first. --rebuild refuses to lose runs whose folders were deleted.
    Example: provio merge 0193c1f2
    """
    from provio.merge import archive_runs, hashing, removal
    from provio.merge.runs import merge
    from provio.settings import home as homes

    if runs and rebuild:
        raise click.UsageError("--rebuild reads all runs: omit RUNS")
    if only_collect and (rebuild or pack):
        raise click.UsageError("--collect merges nothing: omit --rebuild and --pack")
    if force and not rebuild:
        raise click.UsageError("--force belongs to --rebuild")
    home = homes.find()
    if only_collect:
        return _collect(home, runs)
    folders = [session.run_folder(home, name) for name in runs] if runs else None
    note = terminal.steady_progress() if not quiet else lambda _: None
    settings = session.settings()
    if rebuild:
        _check_folders(home, settings, force)
    hashing.finish(home, settings, lambda path: note(f"hashing {path}"))
    outcome = merge(home, folders, rebuild=rebuild, progress=note, settings=settings, hashing=True)
    removal.finish(home, settings, note)
    for damage in outcome.damages:
        terminal.complain(f"damaged: {damage}")
    if not quiet:
        skipped = f", {outcome.unreadable} of other users not readable yet" if outcome.unreadable else ""
        skipped += f", {outcome.in_progress} skipped because in progress" if outcome.in_progress else ""
        terminal.note(f"{plural(len(outcome.merged), 'run')} merged, {outcome.unchanged} unchanged{skipped}")
    if pack:
        found = [folder for folder in folders or home.run_folders() if folder.is_dir()]
        count = archive_runs.archive(home, settings, found, wait=True)
        if not quiet:
            terminal.note(f"{plural(count, 'run')} packed")
    return 1 if outcome.damages else 0


def _check_folders(home: Home, settings: Config, force: bool) -> None:
    """Refuse a rebuild that would lose runs; with `force`, or if the store is too damaged to name them, print a
    warning."""
    from provio.merge import removal
    from provio.store import Damaged, served

    try:
        lost = removal.only_stored(served(home, settings))
    except Damaged:
        terminal.warn("the damaged store cannot be read: runs without a folder, if any, are lost")
        return
    if not lost:
        return
    names = ", ".join(lost[:NAMED]) + ", …" * (len(lost) > NAMED)
    runs = f"{plural(len(lost), 'run')} without files in {home.runs} ({names})"
    if not force:
        raise ProvioError(f"a rebuild would lose {runs}: put the files back from a backup, or pass --force")
    terminal.warn(f"the new store lacks {runs}")


def _collect(home: Home, runs: tuple[str, ...]) -> int:
    """Collect the records of some runs, or of all, from this host's own disk."""
    from provio.trace import collect

    wanted = [session.run_folder(home, name).name for name in runs] if runs else None
    late = collect.collect_here(home, wanted, session.settings().capture_dir)
    for word in late:
        terminal.complain(word)
    return 1 if late else 0
