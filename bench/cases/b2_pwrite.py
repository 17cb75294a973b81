"""B2: two threads write 4 KiB, 500,000 times each, to a file of their own on a tmpfs; and one thread alone."""

from __future__ import annotations

from case import Case, Unit

COUNT = 500_000
BOUNDS = {"file": 15, "op": 50, "call": 150}


def _case(key: str, threads: int, words: str, label: str) -> Case:
    return Case(
        key,
        f"B2: `pwrite` of 4 KiB, tmpfs, {COUNT:,} times, {words}",
        label,
        lambda place: [place.program("pwrite"), place.memory, str(COUNT), str(threads)],
        Unit.NS,
        BOUNDS,
    )


CASES = [
    _case("b2", 2, "in each of two threads", "B2 pwrite, two threads"),
    _case("b2-alone", 1, "in one thread alone", "B2 pwrite, one thread"),
]
