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

from provio.base.text import plural
from provio.settings.record_classes import SWITCHES, left_out
from provio.stats.activity import Activity, Recorded, Run
from provio.stats.bottlenecks import Bottleneck
from provio.stats.tally import BY, Group, Tally

if TYPE_CHECKING:
    from provio.settings.home import Home
    from provio.stats.spread import Spread
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
        from provio.stats import formatting

        return formatting.whole(self)

    def by(self, *ways: str) -> list[Group]:
        """Return a tally for each value of one of `BY`, or of several, layers apart, the longest time first."""
        from provio.stats import tally

        if ways not in self._by:
            self._by[ways] = tally.by(self.recorded, ways)
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
        from provio.stats import spread

        return spread.spreads(self, ways)

    def unknown(self) -> list[str]:
        """Return in words what was not recorded, so that no figure speaks of it."""
        return words(self.recorded)

    def rows(self, *ways: str) -> list[dict[str, str | int | float | bool | None]]:
        """Return what `provio stats --by … --as json` says, a dictionary a row."""
        from provio.stats import columns

        return columns.of(self, ways or ("operation",))


def figures(reader: Reader, times: bool = False, home: Home | None = None) -> Figures:
    """Return the figures of all runs that a reader sees (`provio.store.Confined` sees some); with `times`, what a time
    line needs; with the `home` of the runs, which of them still go on."""
    from provio.stats import reading

    recorded = reading.load(reader, times)
    if home:
        _still_going(recorded, home)
    return Figures(recorded)


def _still_going(recorded: Recorded, home: Home) -> None:
    from provio.trace import liveness, read

    open_ended = [run for run in recorded.runs.values() if not run.end and (home.runs / run.id).is_dir()]
    watched = liveness.started_runs() if open_ended else set()
    for run in open_ended:
        folder = home.runs / run.id
        run.in_progress = liveness.in_progress(folder, read.read_head(folder), started=watched)


# What the figures of some runs do not tell, in words: what was recorded in, one line for each reason out.


OTHER = frozenset({"environment", "link", "datatype", "stat", "list"})  # of which no figure speaks


def words(recorded: Recorded) -> list[str]:
    """Return what was not recorded, or not seen; nothing where figures are whole."""
    said = []
    runs = list(recorded.runs.values())
    going = [run for run in runs if run.in_progress]
    if going:
        said.append(f"still going on{_of(going, runs)}: figures are of what was done until now")
    gaps = sum(recorded.gaps.values())
    if gaps:
        said.append(f"{plural(gaps, 'gap')}{_of(list(recorded.gaps), runs)}: what could not be seen is in no figure")
    bare = [run for run in runs if run.detail.split(",")[0] == "file"]
    if bare:
        said.append(f"calls, bytes and times{_of(bare, runs)} were not recorded (--detail file)")
    for name, (_, what, _lost) in SWITCHES.items():
        without = [run for run in runs if name in left_out(run.detail)]
        if without and name not in OTHER:
            said.append(f"not recorded{_of(without, runs)}: {what} (--no-record {name})")
    return said


def _of(some: list[Run] | list[str], runs: list[Run]) -> str:
    """Of how many runs, where there are several."""
    return f" of {len(some)} of {plural(len(runs), 'run')}" if len(runs) > 1 else ""
