"""The cost of declarations: in Python an activity, a metric, and an activity while declarations are off; in C an
activity, a metric and a setting."""

from __future__ import annotations

import sys
from pathlib import Path

from case import HERE, Case, Place, Unit


def _case(kind: str, title: str, label: str, unit: Unit, bound: float) -> Case:
    command = [sys.executable, HERE / "programs" / "declare.py", kind]
    return Case(f"declare-{kind}", title, label, lambda _: command, unit, {"op": bound})


def _in_c(kind: str, title: str, bound: float) -> Case:
    def command(place: Place) -> list[str | Path]:
        return [place.program("declare_in_c"), kind, "100000"]

    return Case(f"declare-c-{kind}", title, f"{kind} in C", command, Unit.NS, {"op": bound})


CASES = [
    _case("activity", "an activity in Python, enter and exit", "activity", Unit.US, 5),
    _case("metric", "a metric in Python", "metric", Unit.US, 10),
    _case("off", "an activity with an attribute, switched off", "switched off", Unit.NS, 200),
    _in_c("activity", "an activity in C, enter and exit", 1000),
    _in_c("metric", "a metric in C", 500),
    _in_c("setting", "a setting in C", 500),
]
