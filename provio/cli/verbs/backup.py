"""`provio backup`: a folder that is not there yet in, a copy of all that is recorded out."""

from __future__ import annotations

from pathlib import Path

import click

from provio.base import terminal
from provio.base.text import plural


@click.command("backup", short_help="Copy all that is recorded.")
@click.argument("target", metavar="DEST", type=click.Path(path_type=Path))
def command(target: Path) -> int:
    """Copy all that is recorded here to DEST, a folder that is not there yet.

    The copy can be asked itself (PROVIO_HOME=DEST provio runs), and put back in place of a .provio that is lost. Runs
    may go on meanwhile. Example: provio backup /backup/project.provio
    """
    from provio.merge.backup import backup
    from provio.settings import home as homes

    count = backup(homes.find(), Path(target).absolute(), terminal.progress())
    terminal.note(f"{plural(count, 'run')} copied; to ask the copy: PROVIO_HOME={target} provio runs")
    return 0
