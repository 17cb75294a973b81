"""The line at the end of a run has the number of gaps that the traces state, without a merge."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Project

pytestmark = pytest.mark.integration
UNWATCHED = "env -u LD_PRELOAD true"


def line(project: Project, script: str, **settings: str) -> str:
    """Return the end of the line about a run, from the name of its folder on."""
    done = project.provio("run", "--", "sh", "-c", script, env=project.env | settings)
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.partition("/.provio")[2].rstrip("\n")


@pytest.mark.parametrize("merge", ["background", "wait", "ask"])
def test_gaps_are_counted(project: Project, merge: str) -> None:
    """None, one, and several; the waiter ends the run, or Python, which merges."""
    settings = {"PROVIO_MERGE": merge}
    assert line(project, "cat /etc/hostname > o", **settings) == ""
    assert line(project, f"{UNWATCHED} > o", **settings) == ", 1 gap: provio show last"
    assert line(project, f"{UNWATCHED}; {UNWATCHED}", **settings) == ", 2 gaps: provio show last"


def test_a_program_that_could_not_be_started_is_no_gap(project: Project) -> None:
    """The gap is stated before the exec, and withdrawn if that fails."""
    (project.path / "foreign").write_bytes(foreign())
    (project.path / "foreign").chmod(0o755)
    (project.path / "start.py").write_text(
        "import os, errno\n"
        "try: os.execv('./foreign', ['foreign'])\n"
        "except OSError as error: assert error.errno == errno.ENOEXEC\n"
    )
    assert line(project, "python3 start.py") == ""


def foreign() -> bytes:
    """Return the start of a real program, marked as one for another machine."""
    program = Path(shutil.which("true") or "/bin/true").read_bytes()
    return program[:18] + (0xF7).to_bytes(2, "little") + program[20:]
