"""Copies of a record while a program with many threads is recorded: each is merged without damage, and has the calls
that had returned when it was made."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import pytest
from conftest import Project, in_memory, provio_command

tmp_path = in_memory

COPIES = 14
PROCESSES, THREADS = 2, 4
WORKERS = PROCESSES * THREADS
# Each thread notes in a shared map, after each call, how many of its writes and reads have returned.
BUSY = f"""
import mmap, os, threading
log = memoryview(mmap.mmap(os.open("log", os.O_RDWR), {16 * WORKERS})).cast("q")
def work(number):
    turn = 0
    while not os.path.exists("stop"):
        fd = os.open(f"busy.{{number}}.{{turn % 3}}", os.O_RDWR | os.O_CREAT)
        for _ in range(300):
            os.pwrite(fd, b"x" * 64, 0)
            log[2 * number] += 1
            os.pread(fd, 64, 0)
            log[2 * number + 1] += 1
        os.close(fd)
        turn += 1
first = 0 if os.fork() else {THREADS}
threads = [threading.Thread(target=work, args=(first + number,)) for number in range({THREADS})]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
if first == 0:
    os.wait()
"""
# Only the files of the threads are written and read by these functions.
COUNTS = """SELECT (SUM(?count) AS ?calls) { ?io provio:api "%s" ; provio:count ?count }"""


def noted(project: Project) -> tuple[int, int]:
    """Return how many writes and reads have returned."""
    numbers = struct.unpack(f"{2 * WORKERS}q", (project.path / "log").read_bytes())
    return sum(numbers[::2]), sum(numbers[1::2])


def copied(project: Project, copy: Path) -> tuple[tuple[int, int], tuple[int, int]]:
    """Copy the record; return the calls that had returned before and after."""
    before = noted(project)
    subprocess.run(["cp", "-r", project.path / ".provio", copy], check=True)
    return before, noted(project)


def counted(project: Project, copy: Path) -> tuple[int, int]:
    """Merge a copy, and return its writes and reads."""
    project.env["PROVIO_HOME"] = str(copy)
    merged = project.provio("merge")
    assert re.fullmatch(r"1 run merged(, 0 unchanged)?\n", merged.stdout + merged.stderr), merged
    writes, reads = (sum(int(row["calls"]) for row in project.rows(COUNTS % api)) for api in ("pwrite64", "pread64"))
    return writes, reads


@pytest.mark.slow
@pytest.mark.integration
def test_live_copies(project: Project, tmp_path: Path) -> None:
    (project.path / "log").write_bytes(bytes(16 * WORKERS))
    (project.path / "busy.py").write_text(BUSY)
    command = [*provio_command(), "run", "--quiet", "--no-merge", "--", "python3", "busy.py"]
    with subprocess.Popen(command, cwd=project.path, env=project.env) as busy:
        while noted(project) < (1, 1):
            assert busy.poll() is None
        copies = [tmp_path / f"copy.{number}" for number in range(COPIES)]
        moments = [copied(project, copy) for copy in copies]
        (project.path / "stop").touch()
    assert busy.returncode == 0
    totals = [counted(project, copy) for copy in copies]
    for (before, after), total in zip(moments, totals, strict=True):
        for kind in (0, 1):
            assert before[kind] <= total[kind] <= after[kind] + WORKERS  # a thread may not have noted its last call
    assert totals == sorted(totals)
    assert totals[0] < totals[-1]
    assert counted(project, project.path / ".provio") == noted(project)
