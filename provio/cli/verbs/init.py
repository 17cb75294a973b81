"""`provio init`: a folder in, a `.provio` in it out, one's own or a group's."""

from __future__ import annotations

import click

from provio.base import terminal


@click.command("init", short_help="Make a .provio here.")
@click.option("--shared", metavar="GROUP", help="Let all of a group record in it and ask it; or let it in later.")
def command(shared: str | None) -> int:
    """Make a .provio here (or where PROVIO_HOME says), rather than at the root of the git checkout or not at all.

    Where there is one already, it stays as it is; with --shared it becomes the group's, with all that it holds.

    Example: provio init --shared seismology
    """
    from provio.settings import home as homes
    from provio.settings import sharing

    home, other = homes.here()
    made = not home.path.is_dir()
    homes.make(home)
    if shared is not None:
        sharing.share_with(home, shared)
    said = f"made {home.path}" if made else f"{home.path} is there already"
    if shared is not None:
        said += f", shared with group {shared}"
    if made and other:
        said += f"; from here on it answers in place of {other}, which keeps what it has"
    terminal.note(said)
    return 0
