"""How several runs were scheduled. In: runs, their Tasks and event files. Out: figures of each run against the first.

Places are workers of a framework, and hosts of processes. Those of two runs correspond by the activities that they have
in common, most first, so that another port or host name is no move; a moved activity was in a place that does not
correspond.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from provio.ask.event_questions import steals, transfers
from provio.compare import statistics
from provio.compare.side import Activity, Side

if TYPE_CHECKING:
    from provio.ask.task_list import Listed

CONFIRMED = "confirm"
Pairs = list[tuple[int, int]]


@dataclass
class Schedule:
    """A run: `aligned` counts the activities that correspond to one of the first run, `alone` the others; `tau` is
    Kendall's coefficient of their starts, `moved` the number of those in another place. `steals`, `transfers` with
    their `bytes`, and `recomputed` (executions of keys after the first) are those of a framework's tasks."""

    run: str
    aligned: int
    alone: int
    tau: float | None
    moved: int
    steals: int
    transfers: int
    bytes: int
    recomputed: int


def of_sides(sides: Sequence[Side], pairs: Sequence[Pairs], tasks: Listed) -> list[Schedule]:
    """Return the schedules of runs; `pairs` are the activities of the first run and of each run that correspond."""
    workers = {row.iri: row.worker for row in tasks.rows}
    again = Counter(row.run for row in tasks.rows if (row.attempt or 1) > 1)
    first, places = sides[0], [[_place(one, workers) for one in side.activities] for side in sides]
    found = []
    for side, own, theirs in zip(sides, pairs, places, strict=True):
        events = tasks.events[side.run].files if side.run in tasks.events else []
        moves = [int(row[3] or 0) for row in transfers(events, None)]
        found.append(
            Schedule(
                run=side.run,
                aligned=len(own),
                alone=len(side.activities) - len(own),
                tau=None if side is first else order(first, side, own),
                moved=_moved([(places[0][one], theirs[other]) for one, other in own]),
                steals=sum(1 for _, event, *_ in steals(events, None) if event == CONFIRMED),
                transfers=len(moves),
                bytes=sum(moves),
                recomputed=again[side.run],
            )
        )
    return found


def order(first: Side, other: Side, pairs: Pairs) -> float | None:
    """Return Kendall's tau of the starts of the activities of two runs that correspond."""
    starts = [(first.activities[one].start, other.activities[two].start) for one, two in pairs]
    known = [tuple(datetime.fromisoformat(time).timestamp() for time in pair) for pair in starts if all(pair)]
    return statistics.tau([one for one, _ in known], [two for _, two in known])


def _place(one: Activity, workers: dict[str, str]) -> str:
    return workers.get(one.iri) or one.host or one.iri.split("/")[5]


def _moved(places: Sequence[tuple[str, str]]) -> int:
    """Return how many pairs of places do not correspond."""
    left, right, stayed = set[str](), set[str](), 0
    for (one, other), count in Counter(places).most_common():
        if one not in left and other not in right:
            left.add(one)
            right.add(other)
            stayed += count
    return len(places) - stayed
