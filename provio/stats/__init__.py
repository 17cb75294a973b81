"""What a run's I/O came to: a reader of runs' graphs in, figures as plain typed data out.

    reading       the graph, read once
    recorded      what is in it: I/O activities, processes, runs, files
    activity      one I/O activity, and the layer that it belongs to
    tally         sums of activities; what was not recorded stays unknown and is never a zero
    groups        tallies by function, file, process, thread, rank, host …
    bottlenecks   what is slow, in words, with the evidence and a remedy
    across        how runs differ
    timeline      when which thread read and wrote
    calls         single calls, where a run kept them
    rows          figures as named columns
    shown         figures as people read them

Times are nanoseconds, sizes bytes, moments nanoseconds since 1970.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from provio.stats.activity import Activity
from provio.stats.bottlenecks import Bottleneck
from provio.stats.groups import BY, Group
from provio.stats.recorded import Recorded
from provio.stats.tally import Tally

if TYPE_CHECKING:
    from provio.home import Home
    from provio.stats.across import Spread
    from provio.store import Reader

__all__ = ["BY", "Activity", "Bottleneck", "Figures", "Group", "Recorded", "Tally", "figures"]


class Figures:
    """The figures of the runs that a reader sees: `recorded` holds what they are made of."""

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        self._by: dict[tuple[str, ...], list[Group]] = {}
        self._found: list[Bottleneck] | None = None

    def __str__(self) -> str:
        """Return what is summed up, and by operation, as `provio stats` begins."""
        from provio.stats import shown

        return shown.whole(self)

    def by(self, *ways: str) -> list[Group]:
        """Return a tally for each value of one of `BY`, or of several, layers apart, the longest time first."""
        from provio.stats import groups

        if ways not in self._by:
            self._by[ways] = groups.by(self.recorded, ways)
        return self._by[ways]

    def totals(self) -> list[Group]:
        """Return one tally a layer: HDF5's calls contain calls of the C library, so the two are never added."""
        return self.by("layer")

    def bottlenecks(self) -> list[Bottleneck]:
        """Return what is slow, in words."""
        from provio.stats import bottlenecks

        if self._found is None:
            self._found = bottlenecks.found(self.recorded)
        return self._found

    def across(self, *ways: str) -> list[Spread]:
        """Return how each group's calls, bytes, time and bandwidth differ from run to run; without `ways`, the
        totals'."""
        from provio.stats import across

        return across.spreads(self, ways)

    def unknown(self) -> list[str]:
        """Return in words what was not recorded, so that no figure speaks of it."""
        from provio.stats import unknown

        return unknown.words(self.recorded)

    def rows(self, *ways: str) -> list[dict[str, str | int | float | bool | None]]:
        """Return what `provio stats --by … --as json` says, a dictionary a row."""
        from provio.stats import rows

        return rows.of(self, ways or ("operation",))


def figures(reader: Reader, times: bool = False, home: Home | None = None) -> Figures:
    """Return the figures of all runs that a reader sees (`provio.store.Confined` sees some); with `times`, what a time
    line needs; with the `home` of the runs, which of them still go on."""
    from provio.stats import reading

    recorded = reading.load(reader, times)
    if home:
        _still_going(recorded, home)
    return Figures(recorded)


def _still_going(recorded: Recorded, home: Home) -> None:
    from provio import going, trace

    open_ended = [run for run in recorded.runs.values() if not run.end and (home.runs / run.id).is_dir()]
    watched = going.watched() if open_ended else set()
    for run in open_ended:
        folder = home.runs / run.id
        run.going = going.going(folder, trace.read_head(folder), started=watched)
