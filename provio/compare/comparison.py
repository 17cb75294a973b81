"""Two runs, the activities that correspond in them, and whether their files have the same content.

In: two sides. Out: a `Comparison`, with files of the second run under the names of the first where an argument of the
same place names them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from provio.ask.comparison import Value
from provio.ask.content import CHANGED, UNKNOWN, Contents
from provio.compare.align import Alignment, aligned
from provio.compare.expected import Expected
from provio.compare.side import Activity, Side
from provio.settings.home import Home
from provio.store import Store
from provio.system.hash_limits import Limits


class Row(NamedTuple):
    """A difference. `configuration` is its owner: a layer of the environment, a program, a configuration.
    `first` and `second` are the values, None where a run has none; `reason` is a remark. `activity` is the program or
    the kind of Task that it concerns, "" if it concerns the run."""

    kind: str
    configuration: str
    key: str
    first: Value | None
    second: Value | None
    expected: bool = False
    reason: str = ""
    activity: str = ""


@dataclass
class Comparison:
    """Two runs, their activities that correspond, and the contents of their files."""

    store: Store
    home: Home
    sides: tuple[Side, Side]
    alignment: Alignment
    contents: Contents
    expected: Expected
    renamed: dict[str, str]  # names in the second run, by that of the first
    _equal: dict[tuple[str, str], bool | None] = field(default_factory=dict)

    @cached_property
    def pairs(self) -> list[tuple[Activity, Activity]]:
        """The activities that correspond."""
        first, second = self.sides
        return [(first.activities[one], second.activities[other]) for one, other in self.alignment.pairs]

    def equal(self, first: str, second: str) -> bool | None:
        """Return whether two versions have the same content; None if the record does not tell."""
        if first == second:
            return True
        if "/version/" not in first or "/version/" not in second:
            return True  # a pipe: the data that passed through it are not kept
        both = first, second
        if both not in self._equal:  # one result for each pair, also after the limits of reading are reached
            places = [os.fsencode(side.paths.get(iri, "")) for side, iri in zip(self.sides, both, strict=True)]
            found = self.contents.versions(*both, places)
            self._equal[both] = None if found.state == UNKNOWN else found.state != CHANGED
        return self._equal[both]

    @cached_property
    def unknown(self) -> list[str]:
        """The names of the inputs and results of both runs whose contents could not be compared."""
        first, second = self.sides
        return [
            name for files in ("sources", "kept", "code")
            for mine, yours in [(getattr(first, files), getattr(second, files))]
            for name in sorted(mine.keys() & yours.keys()) if self.equal(mine[name], yours[name]) is None
        ]  # fmt: skip


def compare(
    store: Store, home: Home, sides: tuple[Side, Side], expected: Expected, limits: Limits | None = None
) -> Comparison:
    """Return two runs with the activities that correspond in them. `limits` apply to files without a recorded SHA-256
    that are read now, by default those of `hash = auto`."""
    alignment = aligned(*sides)
    renamed = dict(_renamed(sides, alignment))
    sides[1].rename({new: old for old, new in renamed.items()})
    elsewhere = dict(_elsewhere(sides, alignment))
    contents = Contents(store, limits)
    contents.load(iri for side in sides for one in side.activities
                  for iri in (*one.inputs.values(), *one.results.values(), *one.code.values())
                  if "/version/" in iri)  # fmt: skip
    return Comparison(store, home, sides, alignment, contents, expected, renamed | elsewhere)


def _elsewhere(sides: Sequence[Side], alignment: Alignment) -> Iterator[tuple[str, str]]:
    """Give code of the second run that is in another folder the name that it has in the first run, and yield both."""
    for number, other in alignment.pairs:
        mine, yours = sides[0].activities[number].code, sides[1].activities[other].code
        places: list[dict[str, list[str]]] = [{}, {}]
        for own, alone in zip(places, (mine.keys() - yours.keys(), yours.keys() - mine.keys()), strict=True):
            for name in alone:
                own.setdefault(os.path.basename(name), []).append(name)
        for last in sorted(places[0].keys() & places[1].keys()):
            if len(places[0][last]) == len(places[1][last]) == 1:
                (old,), (new,) = places[0][last], places[1][last]
                yours[old] = yours.pop(new)
                yield old, new


def _renamed(sides: Sequence[Side], alignment: Alignment) -> Iterator[tuple[str, str]]:
    """Yield (name in the first run, name in the second) of files that arguments of the same place name."""
    known = [set(side.names.values()) for side in sides]
    for number, other in alignment.pairs:
        words = sides[0].activities[number].words, sides[1].activities[other].words
        if len(words[0]) != len(words[1]):
            continue
        for one, two in zip(*words, strict=True):
            names = [word.rpartition("=")[2].removeprefix("./") for word in (one, two)]
            if names[0] != names[1] and names[0] in known[0] - known[1] and names[1] in known[1] - known[0]:
                yield names[0], names[1]
