"""A run folder that is away while processes start: the process that starts them states a gap of the run."""

from __future__ import annotations

import pytest
from conftest import Project

pytestmark = pytest.mark.integration
LOST = "the folder of the trace was not there when a process was started: it may not be recorded"
FORKS = "{ cat a; :; } > o"
STARTS = "import subprocess; subprocess.run(['cat', 'a'], stdout=open('o', 'w'))"
REPLACES = "import os; os.dup2(os.open('o', os.O_WRONLY | os.O_CREAT), 1); os.execlp('sh', 'sh', '-c', 'cat a')"


@pytest.mark.parametrize("inner", [("bash", "-c", FORKS), ("python3", "-c", STARTS), ("python3", "-c", REPLACES)])
def test_a_child_that_starts_while_the_folder_is_away(project: Project, inner: tuple[str, str, str]) -> None:
    """By a fork, by posix_spawn or vfork, and by an exec; the gap is shown, or named where nothing is recorded."""
    (project.path / "a").write_text("1\n")
    program, option, code = inner
    script = f"""
import glob, os, subprocess
[place] = glob.glob(".provio/runs/*/*/")
os.rename(place[:-1], "away")
child = subprocess.Popen([{program!r}, {option!r}, {code!r}])
child.wait()
os.rename("away", place[:-1])
"""
    project.watch("python3", "-c", script)
    done = project.provio("lineage", "o", code=None)
    assert LOST in done.stdout + done.stderr


def test_a_child_of_a_program_that_moved_the_folder(project: Project) -> None:
    """A file that the program itself opened is known, but not its origin: the gap is shown there."""
    (project.path / "a").write_text("1\n")
    script = """
import glob, os, subprocess
[place] = glob.glob(".provio/runs/*/*/")
out = open("o", "w")
os.rename(place[:-1], "away")
subprocess.run(["cat", "a"], stdout=out)
os.rename("away", place[:-1])
"""
    project.watch("python3", "-c", script)
    assert LOST in [gap["reason"] for gap in project.lineage("o")["gaps"]]


def test_one_gap_for_a_pipe_from_an_unwatched_shell(project: Project) -> None:
    """The gap that names the shell is the only one about the pipe."""
    (project.path / "a").write_text("1\n")
    script = """
import ctypes
libc = ctypes.CDLL(None)
libc.popen.restype = ctypes.c_void_p
libc.unsetenv(b"LD_PRELOAD")
pipe = ctypes.c_void_p(libc.popen(b"cat a", b"r"))
room = ctypes.create_string_buffer(9)
libc.fgets(room, 9, pipe)
open("o", "wb").write(room.value)
"""
    project.watch("python3", "-c", script)
    reasons = [gap["reason"] for gap in project.lineage("o")["gaps"]]
    assert reasons == ["read from a pipe that /bin/sh, which could not be watched, may have written"]
