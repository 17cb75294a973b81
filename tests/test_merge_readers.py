"""Runs read beside each other: the same quads as one after the other, whoever of the readers is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import Project
from meanwhile import children, state, stopped

# A merge whose reader stops before it reads the run that is named.
STOPS = """
import os, signal, sys
from provio import merge_job
run, read = sys.argv.pop(1), merge_job.read
def stopped(job, *of, **how):
    if job.folder.name == run:
        os.kill(os.getpid(), signal.SIGSTOP)
    return read(job, *of, **how)
merge_job.read = stopped
from provio.cli import main
main()
"""


@pytest.fixture
def several(project: Project) -> Project:
    """Six runs, pending, of more than a megabyte of Turtle together; one of them is read in a process of its own."""
    project.sh("echo 1 > a")
    for number, count in enumerate((30, 30, 30, 600, 30, 30)):
        loop = f"for i in $(seq {count}); do /bin/true < a; done; cat a > b{number}"
        project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", loop)
    return project


def quads(project: Project) -> set[str]:
    return set(project.provio("export", "--as", "nquads").stdout.splitlines())


@pytest.mark.slow
def test_the_same_quads_as_one_after_the_other(several: Project) -> None:
    """Each run alone is merged without readers (but the large one), all together with them."""
    for folder in sorted((several.path / ".provio" / "runs").iterdir()):
        several.provio("merge", folder.name)
    alone = quads(several)
    assert "6 runs merged" in several.provio("merge", "--rebuild").stderr
    assert quads(several) == alone


@pytest.mark.slow
def test_what_readers_write_is_shut_to_others(several: Project) -> None:
    """Whatever umask the user has: what was looked at after a run, which a reader notes in its folder, as all else."""
    record = several.path / ".provio"
    for path in record.glob("runs/*/*/settled.ttl"):  # as after runs that were killed
        path.unlink()
    several.provio("merge", umask=0)
    assert len(list(record.glob("runs/*/*/settled.ttl"))) == 6
    assert {oct(path.stat().st_mode & 0o777) for path in record.rglob("*") if path.is_file()} == {"0o600"}


def merging(project: Project, number: int) -> subprocess.Popen[str]:
    """A merge that has come to the n-th run, and stays there."""
    run = sorted((project.path / ".provio" / "runs").iterdir())[number].name
    command = [sys.executable, "-c", STOPS, run, "merge"]
    return subprocess.Popen(command, cwd=project.path, env=project.env, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_reader_that_is_killed_costs_the_run_that_it_was_at(several: Project) -> None:
    """That run is named, and all others are merged; the next merge brings it in."""
    process = merging(several, 0)
    os.kill(stopped(process), signal.SIGKILL)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 1
    assert said.count("cannot be merged (the process that read it was ended by SIGKILL)") == 1
    assert "5 runs merged" in said
    assert "1 run merged, 5 unchanged" in several.provio("merge").stderr
    assert several.count("?run a provio:Run ; prov:startedAtTime ?t") == 6


@pytest.mark.slow
def test_readers_end_with_their_parent(several: Project) -> None:
    """However it ends; nobody holds the lock then."""
    process = merging(several, 3)
    stopped(process)
    found = children(process.pid)
    process.kill()
    process.communicate(timeout=120)
    deadline = time.monotonic() + 60
    while any(state(one) not in ("", "Z") for one in found):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert "6 runs merged" in several.provio("merge").stderr
