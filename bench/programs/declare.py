"""Repeats a declaration, and prints its processor time in nanoseconds.

Without recording, declarations are off. With `off` they are always off, and without recording the loop is empty.
"""

import os
import sys
import time

COUNT = 20_000
WATCHED = "PROVIO_TRACE" in os.environ
if not WATCHED or sys.argv[1] == "off":
    os.environ["PROVIO_OFF"] = "1"

import provio  # noqa: E402 (it reads the variable when it is imported)


def activity() -> None:
    for _ in range(COUNT):
        with provio.activity("train"):
            pass


def metric() -> None:
    for step in range(COUNT):
        provio.metric("accuracy", 0.93, step=step)


def off() -> None:
    for _ in range(COUNT):
        if WATCHED:
            with provio.activity("train", fold=3):
                pass


def best(function: object) -> float:
    """Return the minimum of a few: disturbances only add time."""
    found = []
    for _ in range(5):
        began = time.process_time_ns()
        function()
        found.append((time.process_time_ns() - began) / COUNT)
    return min(found)


print(best({"activity": activity, "metric": metric, "off": off}[sys.argv[1]]))
