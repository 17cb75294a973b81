"""The benchmark of storage and queries measures all figures of its table, and the table marks those beyond their
bounds."""

from __future__ import annotations

from pathlib import Path

import many_files
import many_files_table
import pytest
from conftest import in_memory, provio_command

tmp_path = in_memory


@pytest.mark.parametrize("kind", ["grep", "read", "written"])
@pytest.mark.slow
def test_a_case_of_few_files(shim: Path, tmp_path: Path, kind: str) -> None:
    """Each figure of the table is measured once, and the store has the expected number of statements for each file."""
    found = many_files.one(kind, 300, Path(provio_command()[0]), 1, tmp_path, ["validate"])
    rows = {row.name for row in many_files_table.ROWS} - {"growth", "rounds", "validate"}
    assert found.keys() == rows
    assert [name for name, values in found.items() if len(values) != 1 or values[0] is None] == []
    assert 10 < (found["triples"][0] or 0) < 30


def test_the_table() -> None:
    """A column for each case and release; figures beyond a bound for that number of files are bold; omitted figures
    are not mentioned."""
    kept = {
        "first": {"read-50000": {"machine": "A", "merge": [18.0], "each": [360.0], "why": [None]}},
        "now": {
            "read-10000": {"machine": "A", "merge": [7.0, 9.0, 8.0], "each": [100.0], "memory": [400.0]},
            "read-50000": {"machine": "B", "merge": [5.94], "each": [130.0], "why": [0.5]},
        },
    }
    lines = many_files_table.table(kept).splitlines()
    assert lines[:3] == ["A", "B", ""]
    assert lines[3] == "|  | bound | read 10,000 | read 50,000, first release | read 50,000 |"
    assert lines[4] == "|---|---:|---:|---:|---:|"
    said = {row.split(" | ")[0].removeprefix("| "): row.split(" | ", 1)[1] for row in lines[5:]}
    assert said["`provio merge`: processor time, s"] == "6 | 8.0 | **18.0** | 5.9 |"
    assert said["the same, times that of 10,000 files"] == "1.2 |  |  | **1.30** |"
    assert said["all its processes at once, MB"] == "300 | **400** |  |  |"
    assert said["`provio why` of the same, s"] == "1 |  | not within 600 | 0.50 |"
    assert said["rounds (the table shows the median)"] == " | 3 | 1 | 1 |"
    assert said["`provio stats`, s"] == "2 |  |  |  |"
