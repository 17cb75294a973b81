"""Says the same again and again, and prints the nanoseconds of processor time that one of it takes.

Where nothing is recorded, it is switched off; `off` is switched off where something is, and an empty loop where nothing
is.
"""

import os
import sys
import time

COUNT = 20_000
WATCHED = "PROVIO_TRACE" in os.environ
if not WATCHED or sys.argv[1] == "off":
    os.environ["PROVIO_OFF"] = "1"

import provio  # noqa: E402 (what is set before is what counts)


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
    """The least of a few: what disturbs it only adds."""
    found = []
    for _ in range(5):
        began = time.process_time_ns()
        function()
        found.append((time.process_time_ns() - began) / COUNT)
    return min(found)


print(best({"activity": activity, "metric": metric, "off": off}[sys.argv[1]]))
