"""The start of a process, from posix_spawn to its end: one without any I/O, one that opens and reads a file."""

from __future__ import annotations

from case import Case, Place, Unit
from traces import files_left

COUNT = 300


def _prepare(place: Place) -> None:
    (place.data / "small").write_text("some words\n")


def _case(key: str, label: str, title: str, arguments: list[str]) -> Case:
    return Case(
        key,
        title,
        label,
        lambda place: [place.program("start"), str(COUNT), place.program("nothing"), *arguments],
        Unit.MS,
        {"op": 0.2},
        prepare=_prepare,
        check=lambda folder, _: files_left(folder),
        children=True,
    )


CASES = [
    _case("start", "process without I/O", "start and end of a process without I/O", []),
    _case("start-open", "process, one file", "start and end of a process that opens and reads a file", ["small"]),
]
