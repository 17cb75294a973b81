"""`provio verify`: runs and files in, what became of them out."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from provio import asking, terminal
from provio.errors import NothingKnown, NotYet
from provio.verbs import FORMS, stoppable, store_option

if TYPE_CHECKING:
    from provio.store import Reader
    from provio.verify import Finding, Progress, Verifier


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
    from provio.reports import findings
    from provio.verify import DIFFERENCES, Verifier

    files = [name for name in what if os.path.lexists(name) or "/" in name]
    reader = asking.reader(files[0] if files else None)
    found = list(_findings(reader, Verifier(reader, contents, _progress()), what, files))
    width, unicode, folder = terminal.width(), terminal.unicode(), terminal.folder()
    terminal.out(findings.render(found, form, every=bool(files), width=width, unicode=unicode, folder=folder))
    states = Counter(one.state for one in found)
    if what and states.total() == states["unknown"] > 0:
        return NotYet.exit_code if reader.as_of else NothingKnown.exit_code
    return 1 if DIFFERENCES & states.keys() else 0


def _findings(reader: Reader, verifier: Verifier, what: tuple[str, ...], files: list[str]) -> Iterator[Finding]:
    from provio import runs

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
    from provio import stopping

    begun = last = time.monotonic()

    def tell(path: bytes, done: int, size: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - begun > 1 and now - last > 0.2:
            last = now
            stopping.says()
            name = os.path.basename(os.fsdecode(path)).encode("utf-8", "replace").decode()
            sys.stderr.write(f"\r\033[K{name if name.isprintable() else ''} {100 * done // max(size, 1)} %\r")
            sys.stderr.flush()

    return tell
