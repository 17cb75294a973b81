"""B1: one thread reads 4 KiB from a cached file, 1,000,000 times."""

from __future__ import annotations

from case import Case, Place, Unit
from traces import calls_kept

COUNT = 1_000_000


def _prepare(place: Place) -> None:
    (place.data / "cached").write_bytes(bytes(1 << 20))


CASES = [
    Case(
        "b1",
        f"B1: `pread` of 4 KiB, cached, {COUNT:,} times",
        "B1 pread",
        lambda place: [place.program("pread"), "cached", str(COUNT)],
        Unit.NS,
        {"file": 15, "op": 50, "call": 150},
        prepare=_prepare,
        check=lambda folder, level: calls_kept(folder, level, "cached", "reads", COUNT),
    )
]
