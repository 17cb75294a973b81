"""A program that uses provio's API and was not started by `provio run` has one implicit run, with all its children."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Project

SAYS = 'import provio; provio.metric("loss", 0.5, step=1); print("done")'
FORKS = """
import os, provio
children = []
for number in range(4):
    child = os.fork()
    if child == 0:
        provio.metric("child's", number)
        raise SystemExit
    children.append(child)
for child in children:
    os.waitpid(child, 0)
provio.metric("parent's", 1)
"""
SPAWNS = """
import multiprocessing, subprocess, sys, provio

def work(number):
    import provio
    provio.metric("worker's", number)

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.map(work, range(4))
    provio.metric("own", 1)
    subprocess.run([sys.executable, "-c", 'import provio; provio.metric("other", 1)'], check=True)
"""


def said(project: Project, program: str, code: int = 0, **env: str) -> str:
    """Run a Python program that provio does not watch; return its output."""
    (project.path / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=project.path, env=project.env | env, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert not done.stderr or code, done.stderr
    return done.stdout


def heads(project: Project) -> list[Path]:
    return sorted((project.path / ".provio" / "runs").glob("*/run.ttl"))


@pytest.mark.parametrize("setting", ["auto", "all", "off"])
def test_the_hashes_of_the_run_are_requested(project: Project, setting: str) -> None:
    """By the setting `hash`, as for a run of `provio run`."""
    said(project, SAYS, PROVIO_HASH=setting)
    (head,) = heads(project)
    made = project.path / ".provio" / "hashing" / head.parent.name
    assert made.read_text().split()[0] == setting


def test_the_run_describes_the_program_and_the_missing_files(project: Project) -> None:
    assert said(project, SAYS) == "done\n"
    (head,) = heads(project)
    text = head.read_text()
    assert ':commandLine "' in text
    assert ":endedNs " in text
    assert "was not started by `provio run --`" in text
    assert head.parent.stat().st_mode & 0o777 == 0o700


def test_a_killed_program_has_no_end(project: Project) -> None:
    said(project, SAYS + "\nimport os; os.kill(os.getpid(), 9)", code=-9)
    (head,) = heads(project)
    assert ":endedNs " not in head.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("watched", [True, False], ids=["under provio run", "by itself"])
def test_every_metric_before_a_kill_is_recorded(project: Project, watched: bool) -> None:
    program = """
import os, provio
with provio.activity("train"):
    for step in range(1000):
        provio.metric("loss", 1 / (step + 1), step=step)
        if step == 700:
            os.kill(os.getpid(), 9)
"""
    if watched:
        (project.path / "program.py").write_text(program)
        project.watch(sys.executable, "program.py", code=None)
    else:
        said(project, program, code=-9)
    rows = project.rows("""
        SELECT ?step ?value { ?m a provio:Metric ; provio:name "loss" ; provio:value ?value ; provio:step ?step .
            ?t a provio:Task ; provio:name "train" ; provio:hadMetric ?m } ORDER BY ?step""")
    assert [(int(row["step"]), float(row["value"])) for row in rows] == [(n, 1 / (n + 1)) for n in range(701)]


@pytest.mark.integration
@pytest.mark.parametrize("program", [FORKS, SPAWNS], ids=["forks", "spawns"])
def test_child_processes_belong_to_the_same_run(project: Project, program: str) -> None:
    said(project, program)
    assert len(heads(project)) == 1


@pytest.mark.integration
def test_ranks_of_one_program_share_a_run(project: Project) -> None:
    launcher = f"""
import os, subprocess, sys
ranks = [subprocess.Popen([sys.executable, "-c", {SAYS!r}], env=os.environ | {{"PMI_RANK": str(n)}}) for n in range(4)]
sys.exit(any([rank.wait() for rank in ranks]))
"""
    said(project, launcher)
    assert len(heads(project)) == 1


def test_no_run_if_the_settings_switch_it_off(project: Project) -> None:
    said(project, SAYS, PROVIO_OFF="1")
    said(project, SAYS, PROVIO_OWN_RUNS="false")
    assert not heads(project)


def test_no_run_without_a_declaration(project: Project) -> None:
    said(project, "import provio\n@provio.task\ndef f(): ...\nprovio.activity('never begun')")
    assert not heads(project)


def test_if_no_run_can_be_made_one_line_is_printed_and_the_program_continues(project: Project) -> None:
    (project.path / "file").touch()
    done = subprocess.run(
        [sys.executable, "-c", SAYS + "; provio.metric('b', 2)"], cwd=project.path, capture_output=True, text=True,
        env=project.env | {"PROVIO_HOME": str(project.path / "file" / "x")}, timeout=120, check=True,
    )  # fmt: skip
    assert done.stdout == "done\n"
    assert done.stderr.count("ProvioWarning") == 1
