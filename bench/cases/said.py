"""What it costs a Python program to say what it does: an activity, a metric, and where all of it is switched off."""

from __future__ import annotations

import sys

from case import HERE, Case, Unit


def _case(what: str, title: str, label: str, unit: Unit, bound: float) -> Case:
    command = [sys.executable, HERE / "programs" / "said.py", what]
    return Case(f"said-{what}", title, label, lambda _: command, unit, {"op": bound})


CASES = [
    _case("activity", "an activity in Python, enter and exit", "activity", Unit.US, 5),
    _case("metric", "a metric in Python", "metric", Unit.US, 10),
    _case("off", "an activity with an attribute, switched off", "switched off", Unit.NS, 200),
]
