"""The I/O of activities that correspond in several runs. In: runs, pairs of activities, figures. Out: the differences.

Reads, writes and other calls of the C library on files count, without those on system files. The I/O of a process
includes that of its Tasks.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from provio.compare.schedule import Pairs
from provio.compare.side import Activity, Side
from provio.stats.activity import POSIX

if TYPE_CHECKING:
    from provio.ask.task_list import Listed
    from provio.stats import Figures

MEASURES = ("operations", "bytes_read", "bytes_written", "files")
Amounts = dict[str, int]


@dataclass
class Difference:
    """A measure of an activity that is not equal in all runs: the value in each run that has the activity."""

    activity: str
    iri: str  # in the first run
    measure: str
    values: dict[str, int]

    @property
    def least(self) -> int:
        """The smallest value."""
        return min(self.values.values())

    @property
    def most(self) -> int:
        """The largest value."""
        return max(self.values.values())


def of_sides(sides: Sequence[Side], pairs: Sequence[Pairs], figures: Figures, tasks: Listed) -> Iterator[Difference]:
    """Yield the differences in the order of the activities of the first run."""
    amounts = _of_processes(figures) | {
        row.iri: dict(zip(MEASURES, (row.calls, row.read, row.written, len(row.files)), strict=True))
        for row in tasks.rows
    }
    partners = [dict(own) for own in pairs]
    none = dict.fromkeys(MEASURES, 0)
    for number, one in enumerate(sides[0].activities):
        same = {
            side.run: amounts.get(side.activities[own[number]].iri, none)
            for side, own in zip(sides, partners, strict=True)
            if number in own
        }
        for measure in MEASURES:
            values = {run: own[measure] for run, own in same.items()}
            if len(set(values.values())) > 1:
                yield Difference(_name(one), one.iri, measure, values)


def _of_processes(figures: Figures) -> dict[str, Amounts]:
    found: dict[str, Amounts] = {}
    for group in figures.by("process", "file"):
        iri, kind = group.key[0], group.key[-1]
        if group.layer != POSIX or kind != "file" or not isinstance(iri, str):
            continue
        own = found.setdefault(iri, dict.fromkeys(MEASURES, 0))
        own["operations"] += group.tally.of("calls") or 0
        own["bytes_read"] += group.tally.of("bytes_read") or 0
        own["bytes_written"] += group.tally.of("bytes_written") or 0
        own["files"] += 1
    return found


def _name(one: Activity) -> str:
    return shlex.join(one.words) or one.label
