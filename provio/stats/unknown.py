"""What the figures of some runs do not tell, in words: what was recorded in, one line for each reason out."""

from __future__ import annotations

from provio.reports.text import plural
from provio.stats.recorded import Recorded, Run
from provio.switches import SWITCHES, left_out

OTHER = frozenset({"environment", "link", "datatype", "stat", "list"})  # of which no figure speaks


def words(recorded: Recorded) -> list[str]:
    """Return what was not recorded, or not seen; nothing where figures are whole."""
    said = []
    runs = list(recorded.runs.values())
    going = [run for run in runs if run.going]
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
