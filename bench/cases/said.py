"""What it costs a program to say what it does: in Python an activity, a metric, and where all is switched off; in C an
activity, a metric and a setting."""

from __future__ import annotations

import sys
from pathlib import Path

from case import HERE, Case, Place, Unit


def _case(what: str, title: str, label: str, unit: Unit, bound: float) -> Case:
    command = [sys.executable, HERE / "programs" / "said.py", what]
    return Case(f"said-{what}", title, label, lambda _: command, unit, {"op": bound})


def _in_c(what: str, title: str, bound: float) -> Case:
    def command(place: Place) -> list[str | Path]:
        return [place.program("said_in_c"), what, "100000"]

    return Case(f"said-c-{what}", title, f"{what} in C", command, Unit.NS, {"op": bound})


CASES = [
    _case("activity", "an activity in Python, enter and exit", "activity", Unit.US, 5),
    _case("metric", "a metric in Python", "metric", Unit.US, 10),
    _case("off", "an activity with an attribute, switched off", "switched off", Unit.NS, 200),
    _in_c("activity", "an activity in C, enter and exit", 1000),
    _in_c("metric", "a metric in C", 500),
    _in_c("setting", "a setting in C", 500),
]
