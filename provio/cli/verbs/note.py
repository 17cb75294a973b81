"""`provio note`: adds a note to a run, a Task or a file, lists them, or removes one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.base.errors import NothingKnown
from provio.cli.option_types import Count
from provio.cli.options import form_option, store_option

if TYPE_CHECKING:
    from provio.ask.document import Note
    from provio.ask.things import Kind


@click.command("note", short_help="Add a note to a run, task or file, or list them.")
@click.argument("what", metavar="RUN|TASK|FILE")
@click.argument("text", nargs=-1)
@click.option("--run", "kind", flag_value="run", help="It is a run.")
@click.option("--task", "kind", flag_value="task", help="It is a task.")
@click.option("--file", "kind", flag_value="file", help="It is a file.")
@click.option("--remove", type=Count(min=1), metavar="N", help="Remove the note N of the list.")
@form_option
@store_option
def command(what: str, text: tuple[str, ...], kind: Kind | None, remove: int | None, form: str) -> int:
    """Add the note TEXT to a run, a task, or to the recorded version of a file: a decision, an observation, the reason
    of a change. Without TEXT, list the notes. TEXT `-` is read from the standard input.

    The note records your user name and the time. Answers show it: `show`, `why`, `lineage`, `runs --note GLOB`, pages.
    It is removed with its run; that of a file belongs to the run that wrote this version, or else to one that used it.
    A text has at most 64 kB. Secrets in it are replaced as in command lines.

    \b
    Example: provio note last "the detector was off after 14:00"
             provio note results/fig3.h5 - < decision.txt
             provio note results/fig3.h5
    """
    from provio.ask import noting
    from provio.trace import notes

    if text and remove:
        raise click.UsageError("--remove and TEXT: give one of them")
    place = what if "/" in what else None
    reader = session.reader(place)
    home, settings = session.project(place)
    target = noting.target(reader, what, kind)
    if text:
        given = sys.stdin.buffer.read(notes.READ) if text == ("-",) else os.fsencode(" ".join(text))
        noting.add(target, given, home, settings)
        session.reader(place, notices=False)
        terminal.note(f"note added to {target.title}")
        return 0
    found = noting.of(reader, target)
    if not found:
        raise NothingKnown(f"no note on {target.title}: provio note {what} TEXT adds one")
    if remove:
        if remove > len(found):
            raise NothingKnown(f"there is no note {remove} on {target.title}: provio note {what} lists {len(found)}")
        noting.remove(target, found[remove - 1], home)
        session.reader(place, notices=False)
        left = "its words stay in the store's tables until provio merge"
        terminal.note(f"note {remove} removed from {target.title}; {left}")
        return 0
    terminal.out(_listed(found, form))
    return 0


def _listed(found: list[Note], form: str) -> str:
    from provio.base.text import columns, folded, moment, printable
    from provio.render import records

    if form != "table":
        rows = ([at, one["time"], one.get("user"), one["text"]] for at, one in enumerate(found, 1))
        return records.render("note", rows, form)
    unicode, width, page = terminal.unicode(), terminal.width(), []
    for at, one in enumerate(found, 1):
        page.append(f"{at}  {moment(one['time'])}  {printable(one.get('user', ''), unicode)}".rstrip())
        for line in one["text"].splitlines():
            text = printable(line, unicode)
            parts = [text] if width is None else folded(text, max(width - 3, 20), unicode, most=columns(text) + 1)
            page += [f"   {part}".rstrip() for part in parts]
    return "".join(line + "\n" for line in page)
