"""Concurrency: runs that end together, and queries during merges. None waits, fails, or sees a partial run."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import Project, in_memory, provio_command

from provio.base.errors import NothingKnown
from provio.settings.home import Home
from provio.store.embedded.reader import StoreReader

tmp_path = in_memory

OUTPUTS = 10
LONGEST = 600  # seconds
# The number of files that each run made, according to the store.
MADE = """SELECT ?run (COUNT(DISTINCT ?path) AS ?n) {
    ?v prov:wasGeneratedBy/provio:partOf/provio:partOf ?run ; prov:specializationOf/provio:path ?path
    FILTER(CONTAINS(?path, "/out")) } GROUP BY ?run"""


def end_together(project: Project, count: int) -> list[int]:
    """Start runs that wait for one FIFO, release all at once; return their exit codes."""
    os.mkfifo(project.path / "go")
    gate = os.open(project.path / "go", os.O_RDWR)
    script = 'echo > "ready$0"; read word < go; echo "$0" > "out$0"'
    command = [*provio_command(), "run", "--quiet", "--", "sh", "-c", script]
    running = [subprocess.Popen([*command, str(number)], cwd=project.path, env=project.env) for number in range(count)]
    deadline = time.monotonic() + LONGEST
    while len(list(project.path.glob("ready*"))) < count:
        assert time.monotonic() < deadline, f"not all of {count} runs have started"
        time.sleep(0.1)
    time.sleep(0.5)
    os.write(gate, b"\n" * count)
    ended = [process.wait(LONGEST) for process in running]
    os.close(gate)
    return ended


@pytest.mark.slow
@pytest.mark.alone
def test_two_hundred_runs_that_end_at_once(project: Project) -> None:
    """All of them are recorded, with their files."""
    project.watch("true")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1],) * 2)
    try:
        assert end_together(project, 200) == [0] * 200
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    project.provio("merge", "--quiet")
    answer = {row["run"]: row["n"] for row in project.rows(MADE)}
    assert sorted(answer.values()) == ["1"] * 200
    assert project.data("out7") == set()
    assert project.count("?run a provio:Run") == 201


def seen(home: Path) -> list[int]:
    """Return how many files each run made according to the published store."""
    try:
        return [int(row["n"]) for row in StoreReader(Home(home)).rows(MADE)]
    except NothingKnown:
        return []


@pytest.mark.integration
def test_threads_open_a_store_that_is_new_at_once(project: Project) -> None:
    """Each thread may be the one that records the version."""
    project.run("echo 1 > out")
    home = project.path / ".provio"
    with ThreadPoolExecutor(8) as threads:
        for _ in range(5):
            (home / "store.version").unlink()
            assert list(threads.map(seen, [home] * 8)) == [[1]] * 8


@pytest.mark.slow
def test_no_reader_sees_a_partial_run(project: Project) -> None:
    """While runs end and are merged, all queries and readers are answered, with complete runs only."""
    wrong: list[object] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            published = bool(counts)  # before the query: later changes may be too late for it
            done = project.provio("query", MADE, "--as", "json", code=None)
            if done.returncode == 3 and not published:
                continue
            rows = json.loads(done.stdout)["results"]["bindings"] if done.returncode == 0 else done.stderr
            wrong.extend([rows] if isinstance(rows, str) else [r for r in rows if r["n"]["value"] != str(OUTPUTS)])

    def look() -> None:
        while not over.is_set():
            try:
                counts.extend(seen(project.path / ".provio"))
            except Exception as error:
                wrong.append(error)

    counts: list[int] = []
    readers = [threading.Thread(target=work) for work in (ask, look, look)]
    for reader in readers:
        reader.start()
    for number in range(8):
        project.run(f"for i in $(seq {OUTPUTS}); do echo {number} > out{number}.$i; done")
    over.set()
    for reader in readers:
        reader.join()
    assert (wrong, set(counts)) == ([], {OUTPUTS})
    project.provio("merge", "--quiet")
    assert [row["n"] for row in project.rows(MADE)] == [str(OUTPUTS)] * 8


@pytest.mark.slow
def test_a_question_does_not_wait_for_who_merges(project: Project) -> None:
    """While another process holds the store, the answer uses the published and the pending runs."""
    import fcntl

    project.sh("echo 1 > a")
    project.watch("cp", "a", "b")
    project.provio("run", "--quiet", "--no-merge", "--", "cp", "a", "c")
    with (project.path / ".provio" / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert project.provio("lineage", "c").stderr == "" and project.data("c") == {"a"}
        fcntl.flock(lock, fcntl.LOCK_UN)
    assert project.data("c") == {"a"}
