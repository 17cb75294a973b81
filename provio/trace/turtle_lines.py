"""Reads a thread file line by line: a large one in little memory, a damaged one without the lines that are damaged.

Each line of a thread file is complete: with the prefixes and the base that are declared before it, it is a Turtle
document of its own. Lines of usual forms are read without a Turtle parser (`fast.line_shapes`), the others with one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, MutableMapping
from pathlib import Path

from provio.system.statx import Record
from provio.trace.fast import line_shapes
from provio.trace.openings import Malformed
from provio.trace.records import Records, records_in, whole
from provio.trace.run_facts import Damage
from provio.trace.trust import LONGEST_LINE, REPORTED, without_long

PREFIXES = 16  # that a file may declare
DECLARED = re.compile(r"@prefix (\w*): <([^<>]*)> ?\.|@base <([^<>]*)> ?\.")


class Foreign(Exception):
    """A damaged file that no interceptor wrote: its statements may have several lines."""


class Lines:
    """The lines of a file that have no usual form; `damages` are those that cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damages: list[Damage] = []
        self.more = 0  # damages that are not reported one by one

    def __call__(self, place: line_shapes.Place, line: str, found: MutableMapping[str, Record]) -> None:
        """Add the records of a line to `found`; raises Foreign."""
        damages: list[Damage] = []
        if len(place.prefixes) > PREFIXES:  # each line is parsed with all of them
            raise Foreign
        records = self._parsed(place, line, damages)
        if damages and not place.in_lines and not line.startswith(" <"):
            raise Foreign
        for damage in damages:
            self._report(Damage(self.path, place.number, damage.reason))
        if records is None:
            if len(place.bases) > 1 or "@base" in line:  # the line may have had another one
                place.base = ""
            return
        for prefix, iri, base in DECLARED.findall(line) if line.lstrip(" ").startswith("@") else ():
            if base:
                place.base = base
            else:
                place.declare(prefix, iri)
        try:
            for subject, record in records.items():
                place.add(found, subject, record)
        except Malformed as error:
            self._report(Damage(self.path, place.number, str(error)))

    def _parsed(self, place: line_shapes.Place, line: str, damages: list[Damage]) -> Records | None:
        """Return the records of a line; None if it is damaged."""
        head = "".join(f"@prefix {prefix}: <{iri}> . " for prefix, iri in place.prefixes.items())
        head += f"@base <{place.base}> . " if place.base else ""
        try:
            records = whole(records_in((head + line).encode("utf-8", "surrogateescape")), self.path, damages)
        except (SyntaxError, ValueError, MemoryError) as error:
            damages.append(Damage(self.path, 0, str(error).split(": ", 1)[-1]))
            return None
        return without_long(records, self.path, damages)

    def _report(self, damage: Damage) -> None:
        if len(self.damages) < REPORTED:
            self.damages.append(damage)
        else:
            self.more += 1

    def found(self) -> list[Damage]:
        """Return all damages."""
        return self.damages + [Damage(self.path, 0, f"and {self.more} more lines are damaged")] * bool(self.more)


def read(parts: Iterable[bytes], path: Path, damages: list[Damage]) -> Records:
    """Return the records of a file; append its damages. Raises Foreign, and OSError."""
    found: Records = {}
    lines = Lines(path)
    try:
        line_shapes.read(parts, found, lines)
    except line_shapes.Unknown:
        lines.damages.append(Damage(path, 0, f"has a line of more than {LONGEST_LINE >> 20} MiB"))
    damages += lines.found()
    return found
