"""How reproducible are runs? In: several runs of one kind. Out: verdicts, times, schedules, differing I/O.

Each run is compared with the first one, so that the time grows with the number of runs, not with its square.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from provio.ask.document import arguments
from provio.base.errors import BadQuery
from provio.base.text import plural
from provio.base.vocab import RUN_BASE
from provio.compare import activity_io, schedule, verdicts
from provio.compare.activity_io import Difference
from provio.compare.align import aligned
from provio.compare.schedule import Schedule
from provio.compare.side import Side, canonical, read
from provio.compare.verdicts import BAD, VERDICTS, Result
from provio.graph.lines import bundle_iri
from provio.stats.formatting import MEASURED
from provio.stats.sample import has_numpy, has_scipy
from provio.store import Confined
from provio.system import installation

if TYPE_CHECKING:
    from provio.settings.home import Home
    from provio.stats.spread import Spread
    from provio.store import Store

PARTS = ("results", "performance", "schedule", "io")
WAYS = ("phase", "prefix", "host", "file")  # of the performance
ONE_RUN = "one run is not compared with itself: name two runs or more, or a campaign or name that has them"


@dataclass
class Reproducibility:
    """The answer about runs (ids; the others are compared with the first): `results`, the `performance` by each of
    `WAYS`, the `schedule` of each run, and the I/O (`io`) in which activities differ. `notes` state the limits of the
    comparison."""

    runs: list[str]
    starts: list[str]
    command: str
    results: list[Result]
    performance: dict[str, list[Spread]]
    schedule: list[Schedule]
    io: list[Difference]
    notes: list[str]
    made: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def is_reproducible(self) -> bool:
        """Whether no result differs or deviates."""
        return not any(one.verdict in BAD for one in self.results)

    @cached_property
    def counts(self) -> dict[str, int]:
        """The number of results with each verdict that occurs."""
        found = {verdict: sum(one.verdict == verdict for one in self.results) for verdict in VERDICTS}
        return {verdict: count for verdict, count in found.items() if count}

    @cached_property
    def outliers(self) -> dict[str, list[str]]:
        """The runs that are outliers, each with the phases, prefixes and hosts in which it is one."""
        found: dict[str, list[str]] = {}
        for way in ("phase", "prefix", "host"):
            for one in self.performance[way]:
                for run in one.outliers:
                    name, measure = " ".join(map(str, one.key)), MEASURED[one.measure][0]
                    found.setdefault(run, []).append(name if way == "phase" else f"{way} {name}: {measure}")
        return found


def of_runs(store: Store, home: Home, runs: Sequence[str], bounds: Mapping[str, float]) -> Reproducibility:
    """Return how reproducible runs (ids) are; `bounds` are by a glob of the results' names. Raises BadQuery for fewer
    than two runs."""
    from provio.stats import figures
    from provio.stats.phases import Workload

    runs = list(dict.fromkeys(runs))
    if len(runs) < 2:
        raise BadQuery(ONE_RUN)
    sides = read(store, runs)
    found = figures(Confined(store, [bundle_iri(RUN_BASE + run) for run in runs]), home=home)
    work = Workload(store, home, found)
    first = sides[0]
    itself = [(number, number) for number in range(len(first.activities))]
    pairs = [itself, *(aligned(first, side).pairs for side in sides[1:])]
    results = verdicts.of_sides(store, sides, bounds, str(home.project))
    performance = {way: work.spreads(way) if way in ("phase", "prefix") else found.across(way) for way in WAYS}
    return Reproducibility(
        runs=runs,
        starts=[side.facts.facts.get("startedAtTime", "") for side in sides],
        command=_command(first),
        results=results,
        performance=performance,
        schedule=schedule.of_sides(sides, pairs, work.tasks),
        io=list(activity_io.of_sides(sides, pairs, found, work.tasks)),
        notes=[*_notes(sides, results, bounds), *found.unknown()],
    )


def _command(side: Side) -> str:
    """Return the command line of a run, without its redirections."""
    return shlex.join(arguments(side.facts.facts.get("commandLine", "")))


def _notes(sides: Sequence[Side], results: Sequence[Result], bounds: Mapping[str, float]) -> Iterator[str]:
    """Yield the limits of the comparison."""
    commands = [canonical(_command(side), side.facts.folder) for side in sides]
    if others := [side for side, command in zip(sides, commands, strict=True) if command != commands[0]]:
        yield f"{plural(len(others), 'run')} executed another command than the first: {_command(others[0])}"
    details = {side.facts.facts.get("detail", "op") for side in sides}
    if len(details) > 1:
        yield f"recorded with other detail: {', '.join(sorted(details))}"
    for side in sides:
        if side.facts.as_of:
            yield f"run {side.run} goes on ({side.facts.as_of}): its results are not compared"
        elif side.facts.gaps:
            yield f"run {side.run} has gaps: {'; '.join(side.facts.gaps[:3])}"
    if not results:
        yield "the runs made no files that they kept: there are no results to compare"
    used = {verdicts.matching(one.name, bounds) for one in results}
    for glob in bounds:
        if results and glob not in used:
            yield f"--bound {glob}={bounds[glob]:g} matches no result, or an earlier bound matches all of its results"
    if not (has_scipy() and has_numpy()):
        lost = ["Kendall's tau", "tests with --bound", *([] if has_numpy() else ["bootstrap intervals"])]
        yield f"SciPy is not installed, so {', '.join(lost)} are missing: {installation.install('compare')}"
