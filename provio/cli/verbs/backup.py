"""`provio backup`: copies the whole record."""

from __future__ import annotations

from pathlib import Path

import click

from provio.base import terminal
from provio.base.text import plural


@click.command("backup", short_help="Copy the whole record.")
@click.argument("target", metavar="DEST", type=click.Path(path_type=Path))
def command(target: Path) -> int:
    """Copy the whole record to DEST, a folder that does not exist yet.

    The copy can be queried (PROVIO_HOME=DEST provio runs), and can replace a lost .provio. Runs may be in progress
    during the copy. Example: provio backup /backup/project.provio
    """
    from provio.merge.backup import backup
    from provio.settings import home as homes

    count = backup(homes.find(), Path(target).absolute(), terminal.progress())
    terminal.note(f"{plural(count, 'run')} copied; to query the copy: PROVIO_HOME={target} provio runs")
    return 0
