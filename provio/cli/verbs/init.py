"""`provio init`: creates a `.provio` folder, private or shared with a group."""

from __future__ import annotations

import click

from provio.base import terminal


@click.command("init", short_help="Create a .provio here.")
@click.option("--shared", metavar="GROUP", help="Let all members of a group record in it and query it, now or later.")
def command(shared: str | None) -> int:
    """Create a .provio here (or in PROVIO_HOME), instead of at the root of the git checkout.

    An existing one is not changed; with --shared it becomes the group's, with all of its content.

    Example: provio init --shared seismology
    """
    from provio.settings import home as homes
    from provio.settings import sharing

    home, other = homes.here()
    made = not home.path.is_dir()
    wide = homes.warning(home)
    if wide:
        terminal.warn(wide)
    homes.make(home)
    if shared is not None:
        sharing.share_with(home, shared)
    text = f"made {home.path}" if made else f"{home.path} already exists"
    if shared is not None:
        text += f", shared with group {shared}"
    if made and other:
        text += f"; from now on it is used here instead of {other}, which is not changed"
    terminal.note(text)
    return 0
