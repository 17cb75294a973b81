"""`provio merge`: runs by name in, the store brought up to date, and what was damaged said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.base.text import plural
from provio.cli.verbs import store_option

if TYPE_CHECKING:
    from provio.settings.home import Home


@click.command("merge", short_help="Bring recorded runs into the store.")
@click.argument("runs", nargs=-1)
@click.option(
    "--rebuild", is_flag=True, help="Make the store anew from all recorded runs; the old one stays until then."
)
@click.option("--pack", is_flag=True, help="Then pack all that is finished, however new, and wait for that.")
@click.option(
    "--collect", "only_collect", is_flag=True, help="Bring in what this host keeps on its own disk, and merge nothing."
)
@click.option("--quiet", is_flag=True, help="Say nothing but what is wrong.")
@store_option
def command(runs: tuple[str, ...], rebuild: bool, pack: bool, only_collect: bool, quiet: bool) -> int:
    """Bring recorded runs into the store (all that are new or changed, or the RUNS named).

    Merging again changes nothing. A damaged file is named with its line, and costs only itself; the exit code is
    then 1, each time. Hashes that runs still want are computed first, here and now. Example: provio merge 0193c1f2
    """
    from provio.merge import archive_runs, hashing, removal
    from provio.merge.runs import merge
    from provio.settings import home as homes

    if runs and rebuild:
        raise click.UsageError("--rebuild makes the store of all runs: name none")
    if only_collect and (rebuild or pack):
        raise click.UsageError("--collect merges nothing: give it without --rebuild and --pack")
    home = homes.find()
    if only_collect:
        return _collect(home, runs)
    folders = [session.run_folder(home, name) for name in runs] if runs else None
    note = terminal.steady_progress() if not quiet else lambda _: None
    settings = session.settings()
    hashing.finish(home, settings, lambda path: note(f"hashing {path}"))
    outcome = merge(home, folders, rebuild=rebuild, progress=note, settings=settings)
    removal.finish(home, settings, note)
    for damage in outcome.damages:
        terminal.complain(f"damaged: {damage}")
    if not quiet:
        shut = f", {outcome.unreadable} of others cannot be read yet" if outcome.unreadable else ""
        shut += f", {outcome.in_progress} left until it ends: it goes on" if outcome.in_progress == 1 else ""
        shut += f", {outcome.in_progress} left until they end: they go on" if outcome.in_progress > 1 else ""
        terminal.note(f"{plural(len(outcome.merged), 'run')} merged, {outcome.unchanged} unchanged{shut}")
    if pack:
        found = [folder for folder in folders or home.run_folders() if folder.is_dir()]
        count = archive_runs.archive(home, settings, found, wait=True)
        if not quiet:
            terminal.note(f"{plural(count, 'run')} packed")
    return 1 if outcome.damages else 0


def _collect(home: Home, runs: tuple[str, ...]) -> int:
    """Bring in what this host keeps of some runs, or of all."""
    from provio.trace import collect

    wanted = [session.run_folder(home, name).name for name in runs] if runs else None
    late = collect.collect_here(home, wanted, session.settings().capture_dir)
    for word in late:
        terminal.complain(word)
    return 1 if late else 0
