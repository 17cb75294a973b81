"""`provio relocate`: gives the new place of a folder that was moved."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.base.errors import NotAllowed, NothingKnown, ProvioError
from provio.base.records import replace
from provio.base.text import plural
from provio.cli.options import store_option

if TYPE_CHECKING:
    from provio.settings.home import Home


@click.command("relocate", short_help="Give the new place of a folder that was moved.")
@click.argument("old", metavar="[OLD", required=False)
@click.argument("new", metavar="NEW]", required=False)
@click.option("--undo", is_flag=True, help="Revert the last relocation.")
@store_option
def command(old: str | None, new: str | None, undo: bool) -> int:
    """Give NEW, the present place of the recorded folder (or file) OLD, which was moved. Answers then name NEW.

    A project that contains its .provio needs no such call: it can be moved, copied and restored as a whole. The call is
    for files elsewhere, such as data on another disk. It holds for the runs until now. Without arguments, it lists all
    relocations.

    \b
    Example: provio relocate /scratch/ada/raw /archive/ada/raw
    """
    from provio.settings import home as homes
    from provio.settings import moves

    home = homes.find()
    if (old is None) != (new is None) or (undo and old):
        raise click.UsageError("give both places (provio relocate OLD NEW), or --undo alone")
    try:
        if old is not None and new is not None:
            return _relocate(home, old, new)
        if undo:
            done = moves.undo(home)
            terminal.note(f"answers name {_show(done.old)} again" if done else "no relocations: nothing to revert")
            return 0
    except OSError as error:
        raise NotAllowed(f"cannot write {home.path / moves.RELOCATIONS} ({error.strerror}): check it") from error
    for one in moves.relocations(home.path):
        terminal.out(f"{_show(one.old)} → {_show(one.new)}\n")
    if not moves.relocations(home.path):
        terminal.note("no relocations")
    return 0


def _relocate(home: Home, old: str, new: str) -> int:
    """Add a relocation of files that the record itself contains, not only others in the setting `stores`."""
    from provio.ask.recorded_names import last_versions, paths_below
    from provio.settings import moves

    before, after = (os.path.abspath(os.fsencode(place)) for place in (old, new))
    if before == after:
        raise click.UsageError("OLD and NEW are the same place")
    if not os.path.lexists(after):
        raise ProvioError(f"{_show(after)} does not exist: give the place where {old} is now")
    own = replace(session.settings(), stores=())
    reader = session.open_store(home, own, terminal.warn, terminal.steady_progress)
    names = [before, os.fsencode(old)]
    found = {*paths_below(reader, names), *last_versions(reader, names, lambda _: True)}
    if not found:
        raise NothingKnown(f"nothing is recorded in {_show(before)}: give the place that answers name")
    moves.relocate(home, before, after)
    session.open_store(home, own, terminal.warn, terminal.steady_progress)
    terminal.note(f"{plural(len(found), 'recorded file')}: answers name {_show(after)} instead of {_show(before)}")
    return 0


def _show(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")
