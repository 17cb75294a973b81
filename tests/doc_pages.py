"""Reads the commands in a page of documentation, and the output that the page shows for each.

A command is an indented line that starts with `$ `; the indented lines below it are a part of its output, in that
order. Numbers, ids and times may differ. A comment `<!-- setup … -->` holds the preconditions of the page: lines of
shell, and `needs PROGRAM`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from half_hour import blank


@dataclass
class Command:
    """A line of shell, and lines of its output."""

    text: str
    shows: list[str] = field(default_factory=list)

    def missing(self, shown: str) -> list[str]:
        """Return the lines that are missing in the output, in order."""
        rest, missing = " " + blank(shown) + " ", []
        for line in self.shows:
            _, found, after = rest.partition(blank(line).strip())
            rest = after if found else rest
            missing += [] if found else [line]
        return missing


def setup_of(page: Path) -> tuple[list[str], str]:
    """Return the programs that a page needs, and the shell lines that go before it."""
    found = re.search(r"<!-- setup\n(.*?)-->", page.read_text(encoding="utf-8"), re.DOTALL)
    lines = found[1].splitlines() if found else []
    needs = [line.split()[1] for line in lines if line.startswith("needs ")]
    return needs, "\n".join(line for line in lines if not line.startswith("needs "))


def commands_of(page: Path) -> list[Command]:
    """Return the commands of a page."""
    found: list[Command] = []
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("    $ "):
            found.append(Command(line[6:]))
        elif inside and line.startswith("    "):
            found[-1].shows.append(line[4:])
        inside = bool(found) and line.startswith("    ") and (inside or line.startswith("    $ "))
    return found
