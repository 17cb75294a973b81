"""B3: 50,000 small files are opened, looked at, read and closed: all are kept, with their right names."""

from __future__ import annotations

from pathlib import Path

from case import Case, Unit, numbered_files
from traces import paths_opened

COUNT = 50_000


def _all_kept(folder: Path, _: str) -> str:
    data = folder.parents[5]
    expected = {f"{data}/files/{i // 100:03}/{i:05}" for i in range(COUNT)}
    found = paths_opened(folder, f"{data}/files/")
    if set(found) != expected or len(found) != COUNT:
        raise AssertionError(f"{len(found)} openings of {len(set(found) & expected)} right names in {folder}")
    return f"{COUNT:,} openings, {COUNT:,} different right names"


CASES = [
    Case(
        "b3",
        f"B3: `open`, `fstat`, `read`, `close` of a file, {COUNT:,} files",
        "B3 open, fstat, read, close",
        lambda place: [place.program("files"), "files", str(COUNT)],
        Unit.US,
        {"op": 1.5},
        prepare=numbered_files,
        check=_all_kept,
    )
]
