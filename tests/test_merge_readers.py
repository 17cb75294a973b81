"""Runs read beside each other: the same quads as one after the other, whoever of the readers is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import Project, provio_command
from meanwhile import children


def readers(process: int) -> list[int]:
    """Wait until a merge has readers, and return them."""
    deadline = time.monotonic() + 60
    while not (found := children(process)):
        assert time.monotonic() < deadline
        time.sleep(0.002)
    return found


def is_there(process: int) -> bool:
    """Whether a process goes on."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


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


def merging(project: Project) -> subprocess.Popen[str]:
    command = [*provio_command(), "merge"]
    return subprocess.Popen(command, cwd=project.path, env=project.env, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_reader_that_is_killed_costs_the_run_that_it_was_at(several: Project) -> None:
    """That run is named, and all others are merged; the next merge brings it in."""
    process = merging(several)
    os.kill(readers(process.pid)[0], signal.SIGKILL)
    said = process.communicate()[1]
    assert process.returncode == 1
    assert said.count("cannot be merged (the process that read it was ended by SIGKILL)") == 1
    assert "5 runs merged" in said
    assert "1 run merged, 5 unchanged" in several.provio("merge").stderr
    assert several.count("?run a provio:Run ; prov:startedAtTime ?t") == 6


@pytest.mark.slow
def test_readers_end_with_their_parent(several: Project) -> None:
    """However it ends; nobody holds the lock then."""
    process = merging(several)
    found = readers(process.pid)
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 60
    while any(map(is_there, found)):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert "6 runs merged" in several.provio("merge").stderr
