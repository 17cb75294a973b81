"""`provio relocate`: gives the new place of a folder that was moved."""

from __future__ import annotations

import os

import click

from provio.ask import session
from provio.base import terminal
from provio.base.errors import NotAllowed, NothingKnown, ProvioError
from provio.base.text import plural
from provio.cli.verbs import store_option


@click.command("relocate", short_help="Give the new place of a folder that was moved.")
@click.argument("old", metavar="[OLD", required=False)
@click.argument("new", metavar="NEW]", required=False)
@store_option
def command(old: str | None, new: str | None) -> int:
    """Give NEW, the present place of the recorded folder (or file) OLD, which was moved. Answers then name NEW.

    A project that contains its .provio needs no such call: it can be moved, copied and restored as a whole. The call is
    for files elsewhere, such as data on another disk. It holds for the runs until now; `provio relocate NEW OLD`
    reverts it. Without arguments, it lists all relocations.

    \b
    Example: provio relocate /scratch/ada/raw /archive/ada/raw
    """
    from provio.ask.recorded_names import last_versions, paths_below
    from provio.settings import home as homes
    from provio.settings import moves

    home = homes.find()
    if old is None or new is None:
        if old is not None:
            raise click.UsageError("give both places: provio relocate OLD NEW")
        known = moves.relocations(home.path)
        if not known:
            terminal.note("no relocations")
        for one in known:
            terminal.out(f"{_show(one.old)} → {_show(one.new)}\n")
        return 0
    before, after = (os.path.abspath(os.fsencode(place)) for place in (old, new))
    if before == after:
        raise click.UsageError("OLD and NEW are the same place")
    if not os.path.lexists(after):
        raise ProvioError(f"{_show(after)} does not exist: give the place where {old} is now")
    reader = session.reader(None)
    found = {*paths_below(reader, [before]), *last_versions(reader, [before], lambda _: True)}
    if not found:
        raise NothingKnown(f"nothing is recorded in {_show(before)}: give the place that answers name")
    try:
        moves.relocate(home, before, after)
    except OSError as error:
        raise NotAllowed(f"cannot write {home.path / moves.RELOCATIONS} ({error.strerror}): check it") from error
    session.reader(None)
    terminal.note(f"{plural(len(found), 'recorded file')}: answers name {_show(after)} instead of {_show(before)}")
    return 0


def _show(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")
