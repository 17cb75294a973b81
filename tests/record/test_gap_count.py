"""The line at the end of a run has the number of gaps that the traces state; `provio show` lists these."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Project

pytestmark = pytest.mark.integration
UNWATCHED = "env -u LD_PRELOAD true"
BARE = (
    f"{shutil.which('true')} was started without the preload, which the program before it took out: its reads and "
    "writes are not recorded"
)


def line(project: Project, script: str, **settings: str) -> str:
    """Return the end of the line about a run, from the name of its folder on."""
    return line_of(project, "sh", "-c", script, **settings)


def line_of(project: Project, *command: str, **settings: str) -> str:
    """Return the same for a command without a shell."""
    done = project.provio("run", "--", *command, env=project.env | settings)
    return done.stderr.splitlines()[-1].partition("/.provio")[2]


def shown(project: Project) -> tuple[list[str], list[str]]:
    """Return the gaps of the last run that `provio show` lists, and those that a merge concluded."""
    lines = [one.partition(" ") for one in project.answer("show", "last").splitlines()]
    return tuple([text.strip() for title, _, text in lines if title == one] for one in ("gap", "merge"))  # type: ignore


@pytest.mark.parametrize("merge", ["background", "wait", "ask"])
def test_gaps_are_counted(project: Project, merge: str) -> None:
    """None, one, and several; the waiter ends the run, or Python, which merges."""
    settings = {"PROVIO_MERGE": merge}
    assert line(project, "cat /etc/hostname > o", **settings) == ""
    assert shown(project) == ([], [])
    assert line(project, f"{UNWATCHED} > o", **settings) == ", 1 gap: provio show last"
    assert shown(project) == ([BARE], [])
    assert line(project, f"{UNWATCHED}; {UNWATCHED}", **settings) == ", 2 gaps: provio show last"
    assert shown(project) == ([BARE, BARE], [])


def test_a_child_that_outlives_the_run(project: Project) -> None:
    """A gap that a process left behind states after the end of the command is in `provio show`, not in the line."""
    script = f"({UNWATCHED}; until [ -e go ]; do sleep 0.02; done; {UNWATCHED}; touch over) > /dev/null 2>&1 &"
    until = "until [ -e .provio/runs/*/*/unclosed ]; do sleep 0.02; done; sleep 0.2"
    assert line(project, f"{script} {until}") == ", 1 gap: provio show last"
    project.sh("touch go; until [ -e over ]; do sleep 0.02; done")
    assert shown(project)[0] == [BARE, BARE]


@pytest.mark.parametrize("merge", ["background", "wait", "ask"])
def test_a_command_that_is_not_recorded(project: Project, needs: Callable[..., None], merge: str) -> None:
    """The gap of the command itself is stated in run.ttl, and counted, too."""
    needs("busybox")
    assert line_of(project, "busybox", "true", PROVIO_MERGE=merge) == ", 1 gap: provio show last"
    (gap,), concluded = shown(project)
    assert gap.endswith("/busybox is statically linked: its reads and writes are not recorded")
    assert concluded == []


def test_a_program_without_the_right_to_write_the_trace(project: Project, needs: Callable[..., None]) -> None:
    """A gap that a process states after it lost its rights is counted, although it was the first thing to be noted."""
    needs("setpriv")
    if os.geteuid() != 0:
        pytest.skip("only root can give up its rights")
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "true")
    assert line_of(project, *nobody) == ", 1 gap: provio show last"
    reason = "was started where the shim or the folder of the trace cannot be reached"
    assert shown(project) == ([f"{shutil.which('true')} {reason}: its reads and writes are not recorded"], [])


def test_gaps_that_a_merge_concludes(project: Project) -> None:
    """They are not in the line, and counted in `provio show`."""
    own = "import os; fd = os.open('a', 0); os.posix_fadvise(fd, 0, 0, 3); open('o', 'w').write('1')"
    project.sh("echo 1 > a")
    assert line_of(project, "python3", "-c", own) == ""
    run = project.rows("SELECT ?r { ?r a provio:Run }")[0]["r"].rpartition("/")[2]
    assert shown(project) == ([], [f"1 gap: provio query gaps {run}"])


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
