"""Figures of the I/O of runs. In: a reader of the runs' graphs. Out: figures as plain typed data.

    reading       reads the graphs
    activity      I/O activities, processes, runs and files, as recorded
    tally         sums of activities, by function, file, process, thread, rank, host …; rows of named columns
    bottlenecks   causes of slow I/O, with evidence and remedy
    spread        differences between runs
    timeline      reads and writes of each thread over time; single calls, if a run recorded them
    formatting    figures as text

Figures that were not recorded are unknown (None), never zero. Times are nanoseconds, sizes bytes, moments nanoseconds
since 1970.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from provio.base.common_names import completed
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
    """The figures of the runs in a reader, computed from `recorded`."""

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        self._by: dict[tuple[str, ...], list[Group]] = {}
        self._found: list[Bottleneck] | None = None

    def __str__(self) -> str:
        """Return the totals and the table by operation, as `provio stats` prints them first."""
        from provio.stats import formatting

        return formatting.overview(self)

    def by(self, *ways: str) -> list[Group]:
        """Return a tally for each layer and each value of one of `BY`, or of several, the longest time first."""
        from provio.stats import tally

        if ways not in self._by:
            self._by[ways] = tally.by(self.recorded, ways)
        return self._by[ways]

    def totals(self) -> list[Group]:
        """Return one tally per layer; calls of HDF5 contain calls of the C library, so the layers are never added."""
        return self.by("layer")

    def bottlenecks(self) -> list[Bottleneck]:
        """Return the causes of slow I/O."""
        from provio.stats import bottlenecks

        if self._found is None:
            self._found = bottlenecks.find(self.recorded)
        return self._found

    def across(self, *ways: str) -> list[Spread]:
        """Return the spread of each group's calls, bytes, time and bandwidth over the runs; without `ways`, of the
        totals."""
        from provio.stats import spread

        return spread.spreads(self, ways)

    def unknown(self) -> list[str]:
        """Return messages about data that were not recorded and are missing in the figures."""
        return messages(self.recorded)

    def rows(self, *ways: str) -> list[dict[str, str | int | float | bool | None]]:
        """Return the rows of `provio stats --by … --as json` as dictionaries."""
        from provio.stats import tally

        return [completed(row) for row in tally.rows(self, ways or ("operation",))]


def figures(reader: Reader, times: bool = False, home: Home | None = None) -> Figures:
    """Return the figures of all runs in a reader (`provio.store.Confined` contains some).

    `times` also reads the data of a timeline; with `home`, the runs in progress are marked.
    """
    from provio.stats import reading

    recorded = reading.load(reader, times)
    if home:
        _mark_runs_in_progress(recorded, home)
    return Figures(recorded)


def _mark_runs_in_progress(recorded: Recorded, home: Home) -> None:
    from provio.trace import liveness, read

    open_ended = [run for run in recorded.runs.values() if not run.end and (home.runs / run.id).is_dir()]
    watched = liveness.started_runs() if open_ended else set()
    for run in open_ended:
        folder = home.runs / run.id
        run.in_progress = liveness.in_progress(folder, read.read_head(folder), started=watched)


OTHER = frozenset({"environment", "link", "datatype", "stat", "list"})  # record classes that affect no figure


def messages(recorded: Recorded) -> list[str]:
    """Return a message for each reason why the figures are incomplete; an empty list if they are complete."""
    found = []
    runs = list(recorded.runs.values())
    in_progress = [run for run in runs if run.in_progress]
    if in_progress:
        found.append(f"in progress{_of(in_progress, runs)}: the figures include only the calls so far")
    gaps = sum(recorded.gaps.values())
    if gaps:
        found.append(f"{plural(gaps, 'gap')}{_of(list(recorded.gaps), runs)}: the figures omit unobserved calls")
    bare = [run for run in runs if run.detail.split(",")[0] == "file"]
    if bare:
        found.append(f"calls, bytes and times{_of(bare, runs)} were not recorded (--detail file)")
    for name, (_, recorded_data, _lost) in SWITCHES.items():
        without = [run for run in runs if name in left_out(run.detail)]
        if without and name not in OTHER:
            found.append(f"not recorded{_of(without, runs)}: {recorded_data} (--no-record {name})")
    return found


def _of(some: list[Run] | list[str], runs: list[Run]) -> str:
    """Return ` of N of M runs` if there are several runs."""
    return f" of {len(some)} of {plural(len(runs), 'run')}" if len(runs) > 1 else ""
