"""B6: reads from the buffer of a stream: fread of 64 bytes, getc."""

from __future__ import annotations

from collections.abc import Callable

from case import Case, Place, Unit
from traces import calls_counted, calls_kept

COUNT = 1_000_000


def _prepare(place: Place) -> None:
    path = place.data / "streamed"
    if not path.exists():
        path.write_bytes(b"0123456789abcde\n" * (4 * COUNT))


def _case(name: str, title: str, bounds: dict[str, float], check: Callable[..., str]) -> Case:
    return Case(
        f"b6-{name}",
        f"B6: {title}, {COUNT:,} times",
        f"B6 {name}",
        lambda place: [place.program("stream"), name, "streamed", str(COUNT)],
        Unit.NS,
        bounds,
        prepare=_prepare,
        check=lambda folder, level: check(folder, level, "streamed", "reads", COUNT),
    )


CASES = [
    _case("fread", "`fread` of 64 bytes", {"file": 3, "op": 20}, calls_kept),
    _case("getc", "`getc`", {"file": 3, "op": 5}, calls_counted),
]
