"""Runs in the background during a test: recorded commands that continue when a file appears."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conftest import Project, provio_command

# Writes the data that it read from a, waits until the file `seen` exists, then reads b and continues to write.
GROWING = """
import os, time
out = open("x", "{mode}", buffering=0)
out.write(open("a", "rb").read())
while not os.path.exists("seen"):
    time.sleep(0.01)
time.sleep(0.05)
out.write(open("b", "rb").read())
"""

# A merge that sends itself a signal when it comes to a run: the signal's name and the run's, then provio's own words.
SIGNALLED = """
import os, signal, sys
from provio.merge import job
number, run, read = signal.Signals[sys.argv.pop(1)], sys.argv.pop(1), job.read
def signalled(job, *of, **how):
    if job.folder.name == run:
        os.kill(os.getpid(), number)
    return read(job, *of, **how)
job.read = signalled
from provio.cli.main import main
main()
"""


def start(project: Project, *command: str, **environment: str) -> subprocess.Popen[bytes]:
    """Start a command under provio, not to be waited for."""
    env = project.env | environment
    return subprocess.Popen([*provio_command(), "run", "--quiet", "--", *command], cwd=project.path, env=env)


def wait_for(path: Path, content: bytes = b"") -> None:
    deadline = time.monotonic() + 60
    while not path.exists() or content not in path.read_bytes():
        assert time.monotonic() < deadline, f"{path} was never made"
        time.sleep(0.01)


def tell(fifo: Path, text: str) -> None:
    """Write into a FIFO, once it has a reader."""
    deadline = time.monotonic() + 60
    while True:
        try:
            fd = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
            break
        except OSError as error:
            assert error.errno == errno.ENXIO and time.monotonic() < deadline, f"{fifo} has no reader"
            time.sleep(0.01)
    with open(fd, "w") as file:
        file.write(text)


@contextmanager
def going_on(project: Project, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A verb that goes on, with pipes; it is killed if the block fails."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [*provio_command(), *arguments],
        cwd=project.path,
        env=project.env,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
    )
    try:
        yield process
        process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()


def line_of(process: subprocess.Popen[str]) -> str:
    """The next line that it prints."""
    assert process.stdout
    return process.stdout.readline().rstrip("\n")


def go_on(process: subprocess.Popen[str]) -> None:
    """Send a program the line for which it waits."""
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()


def growing(project: Project, mode: str) -> subprocess.Popen[bytes]:
    """Start a program that writes x from a, and later from b; return when the first part is written."""
    (project.path / "growing.py").write_text(GROWING.format(mode=mode))
    writer = start(project, "python3", "growing.py")
    wait_for(project.path / "x", (project.path / "a").read_bytes())
    return writer


def shell(project: Project, script: str) -> None:
    """Run an unrecorded bash script, in which `$provio` is the command of provio."""
    env = {**project.env, "provio": shlex.join([*provio_command(), "run", "--quiet", "--"])}
    subprocess.run(["bash", "-ec", script], cwd=project.path, env=env, check=True, timeout=120)


@contextmanager
def while_one_runs(project: Project) -> Iterator[None]:
    """Execute a block during a run: the run starts before the block and ends after it."""
    asleep = start(project, "bash", "-c", "touch begun; until test -e go; do sleep 0.01; done")
    try:
        wait_for(project.path / "begun")
        yield
    finally:
        project.sh("touch go")
    assert asleep.wait(timeout=60) == 0


def children(process: int) -> list[int]:
    """The processes that a process has forked, and theirs. The kernel's list `children` may omit some while others
    end."""
    parents: dict[int, list[int]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            parent = int(file.read_text().rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(file.parent.name))
    found = [process]
    for one in found:
        found += sorted(parents.get(one, ()))
    return found[1:]


def state(process: int) -> str:
    """Return the state of a process in the kernel: `S` waits, `T` is stopped, `Z` has ended; an empty text if there is
    none."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def waits(process: int) -> None:
    """Wait until a process waits in the kernel."""
    deadline = time.monotonic() + 60
    while state(process) != "S":
        assert time.monotonic() < deadline
        time.sleep(0.01)


def ended(process: int) -> None:
    """Wait until a process has ended that need not be a child."""
    deadline = time.monotonic() + 60
    while state(process) not in ("", "Z"):
        assert time.monotonic() < deadline, f"{process} goes on"
        time.sleep(0.01)


def group_stopped(group: int) -> None:
    """Stop a process group, and wait until no thread of it is running: on a busy machine, the signal stops some of the
    threads of a process later than others. The parent of a `vfork` waits in the state D."""
    os.killpg(group, signal.SIGSTOP)
    deadline = time.monotonic() + 60
    threads = "/proc/[0-9]*/task/[0-9]*/stat"
    while any(state in "RS" for state, its in map(_state_and_group, glob.iglob(threads)) if its == group):
        assert time.monotonic() < deadline
        time.sleep(0.001)


def _state_and_group(stat: str) -> tuple[str, int]:
    try:
        state, _, group = Path(stat).read_text().rpartition(")")[2].split()[:3]
    except OSError:
        return "X", 0
    return state, int(group)


def stopped(process: subprocess.Popen[Any]) -> int:
    """Wait until a process, or one that it has forked, has stopped itself, and return that."""
    deadline = time.monotonic() + 60
    while not (found := [one for one in (process.pid, *children(process.pid)) if state(one) == "T"]):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    return found[0]
