"""`provio verify`: runs and files in, what became of them out."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.base.errors import NothingKnown, NotYet
from provio.cli.verbs import FORMS, stoppable, store_option

if TYPE_CHECKING:
    from provio.ask.verify import Finding, Progress, Verifier
    from provio.store import Reader


@click.command("verify", short_help="Compare files with what was recorded.")
@click.argument("what", metavar="[RUN | FILE]...", nargs=-1)
@click.option("--hash", "contents", is_flag=True, help="Read what seems the same too, where its SHA-256 is recorded.")
@click.option("--as", "form", type=FORMS, default="table", show_default=True)
@store_option
@stoppable
def command(what: tuple[str, ...], contents: bool, form: str) -> int:
    """Compare files with what was recorded of them: all that a RUN wrote, a FILE, or (nothing named) whatever should
    still be there.

    A file is the same by its inode, times and size; where these differ and its SHA-256 is recorded, by its content.
    Exit code 1 on a difference, 3 where nothing is recorded of any file named (4 while a run goes on).

    Example: provio verify last
    """
    from provio.ask.verify import DIFFERENCES, Verifier
    from provio.render import findings

    files = [name for name in what if os.path.lexists(name) or "/" in name]
    reader = session.reader(files[0] if files else None)
    found = list(_findings(reader, Verifier(reader, contents, _progress()), what, files))
    width, unicode, folder = terminal.width(), terminal.unicode(), terminal.folder()
    terminal.out(findings.render(found, form, every=bool(files), width=width, unicode=unicode, folder=folder))
    states = Counter(one.state for one in found)
    if what and states.total() == states["unknown"] > 0:
        return NotYet.exit_code if reader.as_of else NothingKnown.exit_code
    return 1 if DIFFERENCES & states.keys() else 0


def _findings(reader: Reader, verifier: Verifier, what: tuple[str, ...], files: list[str]) -> Iterator[Finding]:
    from provio.ask import runs

    if not what:
        yield from verifier.everything()
    for name in what:
        run = None if name in files else runs.find(reader, name)
        if run:
            yield from verifier.run(run)
        else:
            yield verifier.file(os.fsencode(name))


def _progress() -> Progress:
    """Tell people how far the reading of a large file is; programs are not told."""
    if not sys.stderr.isatty():
        return lambda *_: None
    from provio.base import time_limit

    begun = last = time.monotonic()

    def tell(path: bytes, done: int, size: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - begun > 1 and now - last > 0.2:
            last = now
            time_limit.says()
            name = os.path.basename(os.fsdecode(path)).encode("utf-8", "replace").decode()
            sys.stderr.write(f"\r\033[K{name if name.isprintable() else ''} {100 * done // max(size, 1)} %\r")
            sys.stderr.flush()

    return tell
