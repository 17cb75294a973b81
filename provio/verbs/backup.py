"""`provio backup`: a folder that is not there yet in, a copy of all that is recorded out."""

from __future__ import annotations

from pathlib import Path

import click

from provio import terminal
from provio.reports.text import plural


@click.command("backup", short_help="Copy all that is recorded.")
@click.argument("target", metavar="DEST", type=click.Path(path_type=Path))
def command(target: Path) -> int:
    """Copy all that is recorded here to DEST, a folder that is not there yet.

    The copy can be asked itself (PROVIO_HOME=DEST provio runs), and put back in place of a .provio that is lost. Runs
    may go on meanwhile. Example: provio backup /backup/project.provio
    """
    from provio import home as homes
    from provio.backup import backup

    count = backup(homes.find(), Path(target).absolute(), terminal.progress())
    terminal.note(f"{plural(count, 'run')} copied; to ask the copy: PROVIO_HOME={target} provio runs")
    return 0
