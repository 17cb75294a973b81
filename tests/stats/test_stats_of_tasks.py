"""`provio stats --by task`: the I/O of each Task, and that outside of Tasks."""

from __future__ import annotations

import json

import pytest
from conftest import Project

PROGRAM = """
import provio
for number in range(2):
    with provio.activity("copy"):
        with provio.activity("inner"):
            data = open("in.txt").read()
        with open(f"out{number}.txt", "w") as file:
            file.write(data + "!")
open("after.txt", "w").write("12")
"""


@pytest.mark.integration
def test_io_by_task(project: Project) -> None:
    """Tasks of one name together; I/O belongs to the innermost one; the combination with files."""
    (project.path / "in.txt").write_text("12345")
    (project.path / "main.py").write_text(PROGRAM)
    project.watch("python3", "main.py")
    rows = json.loads(project.answer("stats", "--by", "task", "--as", "json"))
    tasks = {one["task"]: (one["bytes_read"], one["bytes_written"]) for one in rows if one["task"]}
    assert {name: tuple(size or 0 for size in sizes) for name, sizes in tasks.items()} == {
        "inner": (10, 0), "copy": (0, 12),
    }  # fmt: skip
    assert any(one["task"] is None and one["bytes_written"] >= 2 for one in rows)
    files = json.loads(project.answer("stats", "--by", "task", "--by", "file", "--as", "json"))
    written = {one["file"].rpartition("/")[2] for one in files if one["task"] == "copy" and one["bytes_written"]}
    assert written == {"out0.txt", "out1.txt"}
    assert "outside of tasks" in project.answer("stats", "--by", "task")
