"""B3, many at once: 3,000 short threads that open one file each; and how many trace files they leave."""

from __future__ import annotations

from case import Case, Unit, numbered_files
from traces import files_left

COUNT = 3_000

CASES = [
    Case(
        "threads",
        f"B3: {COUNT:,} threads that open one file each",
        "B3 3,000 threads",
        lambda place: [place.program("threads"), "files", str(COUNT)],
        Unit.RATIO,
        {"op": 1.5},
        prepare=numbered_files,
        check=lambda folder, _: files_left(folder),
    )
]
