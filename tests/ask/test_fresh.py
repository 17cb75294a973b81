"""Answers are fresh: they contain data that a run in progress closed half a second ago, for any times of files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from concurrent_runs import start, wait_for
from conftest import Project, in_memory, provio_command

from provio.settings.home import Home
from provio.trace.read import read_head
from provio.trace.run_source import Folder

tmp_path = in_memory

# Writes a file for each line that it is given, all recorded in one page of its thread file.
WRITES = """
import sys
for line in sys.stdin:
    with open(line.strip(), "w") as file:
        file.write(line)
    print(line, end="", flush=True)
"""
COUNT = int(os.environ.get("COUNT", "40"))
PERIOD = 0.1  # seconds from one file to the next
STEADY = f"""
import time
for number in range({COUNT}):
    with open(f"out/{{number}}", "w") as file:
        file.write("1")
    time.sleep({PERIOD})
"""


def changes(project: Project) -> str:
    (folder,) = Home(project.path / ".provio").run_folders()
    return Folder(folder).changes(read_head(folder))


def set_back(project: Project) -> None:
    """Give all that a run has recorded a time long ago, as where the times of files are not moved by stores."""
    for path in (project.path / ".provio" / "runs").rglob("*"):
        os.utime(path, (1e9, 1e9))


@pytest.mark.integration
def test_a_close_is_told_where_no_time_is(project: Project) -> None:
    """The number of changes has grown, so that the next question has it."""
    words = [*provio_command(), "run", "--quiet", "--", sys.executable, "-c", WRITES]
    pipe = subprocess.PIPE
    seen = set()
    with subprocess.Popen(words, cwd=project.path, env=project.env, stdin=pipe, stdout=pipe, text=True) as writer:
        assert writer.stdin and writer.stdout
        for name in ("one", "two", "three"):
            writer.stdin.write(f"{name}\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == f"{name}\n"
            seen.add(changes(project))
            set_back(project)
            assert "made by" in project.provio("why", name).stdout
        writer.stdin.close()
        assert writer.wait(60) == 0
    assert len(seen) == 3


@pytest.mark.slow
@pytest.mark.parametrize("detail", ["file", "op", "call"])
def test_files_that_are_written_one_after_the_other(project: Project, detail: str) -> None:
    """Each is known half a second after its close, by a program that goes on."""
    project.sh("mkdir out")
    writer = start(project, sys.executable, "-c", STEADY, PROVIO_DETAIL=detail)
    for number in range(COUNT):
        path = project.path / "out" / str(number)
        wait_for(path, b"1")
        time.sleep(max(0.0, path.stat().st_mtime + 0.5 - time.time()))
        assert "made by" in project.provio("why", f"out/{number}").stdout, number
    assert writer.wait(60) == 0


def test_a_file_that_begins_without_a_number(project: Project) -> None:
    """As an earlier version wrote it: its time stands for the number."""
    project.run("echo 1 > a")
    before = changes(project)
    path = project.trace_files()[0]
    data = path.read_bytes()
    path.write_bytes(b"# earlier" + data[9:16] + b"#" * 16 + data[32:])
    assert changes(project) != before
    assert Path(project.path / "a").exists() and "echo 1 > a" in project.provio("lineage", "a").stdout
