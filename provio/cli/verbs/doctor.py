"""`provio doctor`: shows problems that keep runs, or a command, from being recorded, and damage, with remedies."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from provio.base import terminal
from provio.base.text import plural
from provio.cli.options import form_option

if TYPE_CHECKING:
    from provio.doctor import Finding

TINTS = {"ok": 32, "note": 33, "problem": 31}


@click.command(
    "doctor",
    short_help="Check whether runs can be recorded here, with remedies.",
    context_settings={"allow_interspersed_args": False},
)
@form_option
@click.option("--record", is_flag=True, help="Read all runs and the whole store for damage: as long as a rebuild.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command(form: str, record: bool, command: tuple[str, ...]) -> int:
    """Check whether runs can be recorded here, and whether COMMAND can, which is not started: the shim, programs that
    ignore preloads, file systems and their times, free space, settings, HDF5, MPI, batch jobs; and whether the record
    is damaged.

    Each line is ok, a note (worth knowing) or a problem (something is not recorded, or is lost); the exit code is 1 if
    there is a problem.

    \b
    Example: provio doctor
             provio doctor -- mpirun -n 4 ./simulation
    """
    from provio import doctor
    from provio.settings import home as homes

    note = terminal.progress()
    found = []
    place = doctor.Place(homes.recording(), [os.fsencode(word) for word in command], record)
    for finding in doctor.examine(place):
        note(f"checked: {finding.about}")
        found.append(finding)
    note("")
    terminal.out(_table(found) if form == "table" else _rows(found, form))
    return int(any(finding.level == "problem" for finding in found))


def _rows(found: Sequence[Finding], form: str) -> str:
    from provio.render import records

    return records.render("doctor", ((f.level, f.about, f.message, f.remedy) for f in found), form)


def _table(found: Sequence[Finding]) -> str:
    """Return the findings sorted by level, problems last, and the number of findings of each level."""
    from provio.doctor import LEVELS

    lines = [line for level in LEVELS for finding in found if finding.level == level for line in _lines(finding)]
    count = Counter(finding.level for finding in found)
    problems, notes = plural(count["problem"], "problem"), plural(count["note"], "note")
    return "\n".join([*lines, "", f"{problems} and {notes}, {count['ok']} ok"]) + "\n"


def _lines(finding: Finding) -> list[str]:
    """Return a finding as lines wrapped to the terminal, with the remedy on its own line."""
    import textwrap

    from provio.base.text import printable

    unicode = terminal.unicode()
    room = max((terminal.width() or 100) - 24, 30)
    arrow = "→ " if unicode else "-> "
    message = textwrap.wrap(printable(finding.message, unicode), room, break_on_hyphens=False)
    whole = textwrap.TextWrapper(room, break_on_hyphens=False, break_long_words=False)  # it has commands to copy
    remedy = whole.wrap(arrow + printable(finding.remedy, unicode)) if finding.remedy else []
    head = terminal.tinted(f"{finding.level:8}", TINTS[finding.level]) + f" {finding.about:13}  "
    return [(head if place == 0 else " " * 24) + text for place, text in enumerate([*message, *remedy])]
