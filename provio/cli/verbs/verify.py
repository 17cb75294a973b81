"""`provio verify`: compares files with the record."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.base.errors import NothingKnown, NotYet
from provio.cli.options import form_option, stoppable, store_option

if TYPE_CHECKING:
    from provio.ask.content import Progress


@click.command("verify", short_help="Compare files with the record.")
@click.argument("arguments", metavar="[RUN | FILE]...", nargs=-1)
@click.option(
    "--hash", "contents", is_flag=True, help="Also read files that seem unchanged, if their SHA-256 is recorded."
)
@form_option
@store_option
@stoppable
def command(arguments: tuple[str, ...], contents: bool, form: str) -> int:
    """Compare files with the record: all files that a RUN wrote, a FILE, or (without arguments) all recorded files that
    should still exist.

    Files are compared by inode, times and size; if these differ and the SHA-256 is recorded, by content. Exit code 1 on
    a difference, 3 if none of the named files is recorded (4 while a run is in progress).

    Example: provio verify last
    """
    from provio.ask import incomplete, runs
    from provio.ask.verify import DIFFERENCES, Verifier, of_names
    from provio.render import findings

    files = [name for name in arguments if os.path.lexists(name) or "/" in name]
    reader = session.reader(files[0] if files else None)
    found = list(of_names(Verifier(reader, contents, _progress()), arguments))
    width, unicode, folder = terminal.width(), terminal.unicode(), terminal.folder()
    terminal.out(findings.render(found, form, every=bool(files), width=width, unicode=unicode, folder=folder))
    for name in arguments if not found else ():
        why = incomplete.of_run(reader, runs.find(reader, name) or "")
        if why:
            terminal.warn(why)
    states = Counter(one.state for one in found)
    if arguments and states.total() == states["unknown"] > 0:
        return NotYet.exit_code if reader.as_of else NothingKnown.exit_code
    return 1 if DIFFERENCES & states.keys() else 0


def _progress() -> Progress:
    """Return a function that shows the progress of reading a large file, if stderr is a terminal."""
    if not sys.stderr.isatty():
        return lambda *_: None
    from provio.base import time_limit

    start = last = time.monotonic()

    def show(path: bytes, done: int, size: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - start > 1 and now - last > 0.2:
            last = now
            time_limit.report_own_progress()
            name = os.path.basename(os.fsdecode(path)).encode("utf-8", "replace").decode()
            sys.stderr.write(f"\r\033[K{name if name.isprintable() else ''} {100 * done // max(size, 1)} %\r")
            sys.stderr.flush()

    return show
