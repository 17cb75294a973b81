"""The waiter waits for long commands: signals, exit codes and records are the same as with Python."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from concurrent_runs import children, state
from conftest import Project, provio_command

from provio.record.waiter.start import WAITER

COUNTS = """
import os, signal, sys
mine = {signal.SIGRTMIN, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, mine)
open("ready", "w").close()
count = 0
while signal.sigwait(mine) != signal.SIGTERM:
    count += 1
while signal.sigtimedwait({signal.SIGRTMIN}, 0):
    count += 1
print(count)
"""


@pytest.fixture
def start(project: Project) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """A function that starts `provio run` on a command; its processes end with the test."""
    started: list[subprocess.Popen[str]] = []

    def starting(*command: str, **options: Any) -> subprocess.Popen[str]:
        words = [*provio_command(), "run", "--", *command]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        own = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
        started.append(
            subprocess.Popen(
                words, cwd=project.path, env=project.env, text=True, start_new_session=True, **streams, **own, **options
            )
        )
        return started[-1]

    yield starting
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def until(what: Callable[[], bool], said: str) -> None:
    limit = time.monotonic() + 60
    while not what():
        assert time.monotonic() < limit, said
        time.sleep(0.01)


def is_waiter(pid: int) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/exe") == str(WAITER.resolve())
    except OSError:  # it has just ended
        return False


def taken_over(process: subprocess.Popen[str]) -> None:
    until(lambda: is_waiter(process.pid), "the waiter did not take over")


def held(project: Project) -> int:
    """Take the lock of the `.provio`, as a merge does."""
    fd = os.open(project.path / ".provio" / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd


def test_the_waiter_is_built() -> None:
    """Without it Python waits, and most tests of this module would test nothing."""
    assert os.access(WAITER, os.X_OK)


@pytest.mark.integration
@pytest.mark.parametrize(("last", "code"), [("exit 7", 7), ("kill -KILL $$", -9), ("kill -USR1 $$", -10)])
def test_the_end_is_the_commands_own(
    project: Project, start: Callable[..., subprocess.Popen[str]], last: str, code: int
) -> None:
    """It is merged at once, with one line; its command line and process name are unchanged."""
    process = start("sh", "-c", f"echo 1 > out; read word; {last}", stdin=subprocess.PIPE)
    taken_over(process)
    until(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "provio\n", "it has another name")
    assert Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")[2:5] == [b"run", b"--", b"sh"]
    out, said = process.communicate("\n", timeout=60)
    assert (process.returncode, out) == (code, "")
    assert said.count("\n") == 1 and "recorded in" in said
    how = f"provio:exitCode {code}" if code > 0 else f"provio:signal {-code}"
    assert project.count(f"?run a provio:Run ; {how} ; prov:endedAtTime ?end") == 1
    assert not list(project.path.glob(".provio/runs/*/run.new"))


@pytest.mark.integration
def test_a_run_stays_pending_during_another_merge(
    project: Project, start: Callable[..., subprocess.Popen[str]]
) -> None:
    """No Python is started; the end is noted, and the next query has all records."""
    project.watch("true")
    lock = held(project)
    process = start("sh", "-c", "echo 1 > out; read word; exit 3", stdin=subprocess.PIPE)
    taken_over(process)
    _, said = process.communicate("\n", timeout=60)
    os.close(lock)
    assert process.returncode == 3
    assert said.startswith("provio: run ") and said.endswith(" (the store is busy)\n")
    assert project.count("?run a provio:Run ; provio:exitCode 3") == 1
    assert "echo 1 > out" in project.provio("lineage", "out").stdout


@pytest.mark.integration
@pytest.mark.parametrize("pause", ["", "sleep 0.6; "], ids=["short", "long"])
def test_the_end_reads_no_trace(project: Project, needs: Callable[..., None], tmp_path: Path, pause: str) -> None:
    """Neither of a program with many forks nor of other runs that are pending: only its own run.ttl is read."""
    needs("strace")
    for number in range(3):
        project.provio("run", "--quiet", "--no-merge", "--", "sh", "-c", f"echo 1 > before.{number}")
    before = set((project.path / ".provio" / "runs").iterdir())
    script = f"{pause}for n in $(seq 40); do (echo $n > out.$n); done"
    strace = ["strace", "-f", "-o", tmp_path / "log", "-e", "trace=open,openat"]
    watched = [*provio_command(), "run", "--quiet", "--no-merge", "--", "bash", "-c", script]
    subprocess.run([*strace, *watched], cwd=project.path, env=project.env, check=True)
    (run,) = set((project.path / ".provio" / "runs").iterdir()) - before
    opened = re.findall(r'"([^"]*\.ttl)", (O_[A-Z_|]+)', (tmp_path / "log").read_text())
    assert sum(path.endswith(".0.0.ttl") and "O_CREAT" in flags for path, flags in opened) > 40
    assert {path for path, flags in opened if flags.startswith("O_RDONLY")} <= {str(run / "run.ttl")}


@pytest.mark.integration
@pytest.mark.parametrize("options", [["--hash"], ["--no-merge"], ["--no-merge", "--hash"], ["--quiet"]])
def test_options_take_effect_at_the_end(project: Project, options: list[str]) -> None:
    """Python does all work except for the note of the end, as for a short command."""
    said, ended = [], "SELECT ?run { ?run a provio:Run ; provio:exitCode 3 ; prov:endedAtTime ?end }"
    for name, wait in (
        ("one", ""),
        ("two", "sleep 0.6; "),
    ):  # a merge for the hashes of the first run may follow at any time
        folder = project.path / name
        (folder / ".provio").mkdir(parents=True)
        done = project.provio("run", *options, "--", "sh", "-c", f"{wait}echo 1 > out; exit 3", code=3, cwd=folder)
        said.append(re.sub(r"run \S+|\d+ process(es)?", "", done.stderr).replace(str(folder), ""))
        assert project.provio("query", "--as", "csv", ended, cwd=folder).stdout.count("\n") == 2
    assert said[0] == said[1]


@pytest.mark.integration
def test_no_signal_is_lost_during_the_exec(project: Project, start: Callable[..., subprocess.Popen[str]]) -> None:
    """A hundred queued signals, sent all the time, arrive as a hundred."""
    process = start(sys.executable, "-c", COUNTS)
    until((project.path / "ready").exists, "the command did not start")
    for _ in range(100):
        process.send_signal(signal.SIGRTMIN)
        time.sleep(0.005)
    taken_over(process)
    process.terminate()
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "100\n")


@pytest.mark.integration
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR2])
def test_a_signal_reaches_the_command(
    project: Project, start: Callable[..., subprocess.Popen[str]], number: signal.Signals
) -> None:
    script = "trap 'echo got it; exit 5' TERM INT HUP USR2; touch ready; while :; do sleep 0.05; done"
    process = start("bash", "-c", script)
    taken_over(process)
    until((project.path / "ready").exists, "the command did not start")
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (5, "got it\n")


@pytest.mark.integration
def test_a_terminal_stops_continues_and_interrupts(project: Project) -> None:
    """Ctrl-Z stops both, `fg` continues both, Ctrl-C ends the command: each signal of the terminal reaches it once."""
    script = "trap 'echo got it >> out; exit 4' INT; touch ready; while :; do sleep 0.05; done"
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(project.path)
        for number in (signal.SIGINT, signal.SIGTSTP):
            signal.signal(number, signal.SIG_DFL)
        # A process group of its own, not orphaned: the terminal stops only such a group.
        shell = [
            "bash",
            "-ic",
            f'{provio_command()[0]} run --quiet -- bash -c "{script}"; echo $? > code; fg; echo $? > code',
        ]
        os.execve("/bin/bash", shell, project.env)
    try:
        until((project.path / "ready").exists, "the command did not start")
        group = os.tcgetpgrp(terminal)
        until(lambda: is_waiter(group), "the waiter did not take over")
        os.write(terminal, b"\x1a")
        until((project.path / "code").exists, "Ctrl-Z did not stop it")
        until(lambda: (project.path / "code").read_text() != "", "the shell did not go on")
        assert (project.path / "code").read_text() == f"{128 + signal.SIGTSTP}\n"
        both = [group, *children(group)]
        until(lambda: os.tcgetpgrp(terminal) == group and not [one for one in both if state(one) == "T"], "no fg")
        os.write(terminal, b"\x03")
        until((project.path / "out").exists, "Ctrl-C did not reach it")
        until(lambda: (project.path / "code").read_text() == "4\n", "the end was not the command's")
        os.waitpid(pid, 0)
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    finally:
        os.close(terminal)
    assert (project.path / "out").read_text() == "got it\n"


@pytest.mark.integration
@pytest.mark.parametrize("seconds", [0, 0.02, 0.05])
def test_an_interrupt_after_the_end_changes_nothing(
    project: Project, start: Callable[..., subprocess.Popen[str]], seconds: float
) -> None:
    """An interrupt while Python starts for the merge: the exit code is the command's, and provio prints nothing."""
    process = start("sh", "-c", "echo 1 > out; read word; exit 3", stdin=subprocess.PIPE)
    taken_over(process)
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()
    until(lambda: process.poll() is not None or not is_waiter(process.pid), "Python did not take over")
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "Traceback" not in said
    assert project.count("?run a provio:Run ; provio:exitCode 3") == 1


@pytest.mark.integration
def test_kill_of_the_waiter_loses_nothing(project: Project, start: Callable[..., subprocess.Popen[str]]) -> None:
    """The command continues, and so does its recording."""
    process = start("sh", "-c", "echo 1 > before; read word; echo 2 > after", stdin=subprocess.PIPE)
    taken_over(process)
    process.kill()
    process.communicate("\n", timeout=60)
    until((project.path / "after").exists, "the command did not go on")
    assert process.returncode == -signal.SIGKILL
    assert "echo 2 > after" in project.provio("lineage", "after").stdout


@pytest.mark.integration
def test_a_run_inside_a_run_does_not_use_the_waiter(project: Project) -> None:
    """The outer run cannot watch a static program: it would get a gap for it."""
    project.watch(*provio_command(), "run", "--quiet", "--", "sh", "-c", "sleep 0.6; echo 1 > out")
    assert project.count("?gap a provio:Gap") == 0
    assert project.count("?inner a provio:Run ; provio:partOf ?outer") == 1


@pytest.mark.integration
def test_python_waits_without_the_waiter(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same exit code, the same records."""
    change = "import sys; from pathlib import Path; from provio.record.waiter import start; start.WAITER = Path('{}'); "
    change += "from provio.cli.main import main; sys.argv[1:] = ['run', '--', 'sh', '-c', 'sleep 0.5; exit 7']; main()"
    no_program = tmp_path / "waiter"
    no_program.write_text("no program")
    for place in (tmp_path / "none", no_program):
        call = [sys.executable, "-c", change.format(place)]
        done = subprocess.run(call, cwd=project.path, env=project.env, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr.count("\n")) == (7, 1)
    assert project.count("?run a provio:Run ; provio:exitCode 7 ; prov:endedAtTime ?end") == 2


@pytest.mark.integration
def test_no_python_can_be_started_any_more(project: Project, tmp_path: Path) -> None:
    """One line states why the run is not merged; the exit code is the command's, and the next query merges the run."""
    python = tmp_path / "python3"
    python.symlink_to(sys.executable)
    env = {**project.env, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    call = [python, "-c", "from provio.cli.main import main; main()", "run", "--", "sh", "-c"]
    taken = f'until [ "$(readlink /proc/$PPID/exe)" = {WAITER.resolve()} ]; do sleep 0.05; done'
    call += [f"{taken}; rm {python}; exit 7"]
    done = subprocess.run(call, cwd=project.path, env=env, capture_output=True, text=True, timeout=120)
    said = "provio: the run is recorded, but its end was not processed: "
    said += f"cannot start {python} (No such file or directory)\n"
    assert (done.returncode, done.stderr) == (7, said)
    assert project.count("?run a provio:Run ; provio:exitCode 7 ; prov:endedAtTime ?end") == 1
