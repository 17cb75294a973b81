"""What the figures of some runs do not tell, in words: what was recorded in, one line for each reason out."""

from __future__ import annotations

from provio.reports.text import plural
from provio.stats.activity import Activity
from provio.stats.recorded import Recorded


def words(recorded: Recorded) -> list[str]:
    """Return what was not recorded, or not seen; nothing where figures are whole."""
    said = []
    gaps = sum(recorded.gaps.values())
    if gaps:
        runs = f" in {plural(len(recorded.gaps), 'run')}" if len(recorded.runs) > 1 else ""
        said.append(f"{plural(gaps, 'gap')}{runs}: what could not be seen is in no figure")
    bare = [run for run in recorded.runs.values() if run.detail.split(",")[0] == "file"]
    if bare:
        of = f" of {plural(len(bare), 'run')}" if len(recorded.runs) > 1 else ""
        said.append(f"calls, bytes and times{of} were not recorded (--detail file)")
    counted = [one for one in recorded.activities if one.count is not None]
    said += _lacking("times", "duration", [one for one in counted if not one.errors], "elapsed")
    said += _lacking("functions", "api", recorded.activities, "api")
    said += _lacking("processes", "process", recorded.activities, "process")
    said += _lacking("threads", "thread", [one for one in recorded.activities if not one.errors], "thread")
    if any(run.user is None for run in recorded.runs.values()):
        said.append("users were not recorded")
    return said


def _lacking(what: str, setting: str, activities: list[Activity], name: str) -> list[str]:
    lacks = sum(getattr(one, name) is None for one in activities)
    if not lacks:
        return []
    part = "" if lacks == len(activities) else f" of {lacks:,} of {len(activities):,} I/O activities"
    return [f"{what}{part} were not recorded (setting {setting})"]
