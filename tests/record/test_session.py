"""Recorded sessions: a shell that is recorded from some point on (`provio env`), and one under `provio run`."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pexpect
import pytest
from conftest import Project, provio_command

PROVIO = shlex.join(provio_command())
BEGIN = {
    "bash": f'eval "$({PROVIO} env --name s)"',
    "dash": f'set -C; eval "$({PROVIO} env --name s)"',
    "zsh": f'eval "$({PROVIO} env --name s)"',
    "tcsh": f"set noclobber; eval `{PROVIO} env --name s`",
    "fish": f"{PROVIO} env --name s | source",
}
LEFT = "^(PROVIO_TRACE|LD_PRELOAD|ASAN_OPTIONS)"


def ended(begin: str) -> str:
    """Return the line that ends the recording."""
    return begin.removeprefix("set -C; ").removeprefix("set noclobber; ").replace("env --name s", "env --end --quiet")


def script(project: Project, *lines: str, shell: str = "bash", code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run lines in a shell without startup files."""
    quiet = {"bash": ["--norc"], "zsh": ["-f"], "tcsh": ["-f"], "fish": ["--no-config"]}.get(shell, [])
    (project.path / "script").write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [shell, *quiet, "script"], cwd=project.path, env=project.env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == code, done.stderr
    return done


@contextlib.contextmanager
def living(project: Project, *lines: str) -> Iterator[subprocess.Popen[str]]:
    """Start a shell that executes these lines and waits; kill it at the end of the test."""
    (project.path / "script").write_text("\n".join([*lines, "echo ready", "read x"]) + "\n")
    shell = subprocess.Popen(
        ["bash", "--norc", "script"], cwd=project.path, env=project.env, text=True, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert shell.stdout
    assert shell.stdout.readline() == "ready\n"
    try:
        yield shell
    finally:
        shell.kill()
        shell.communicate()


def ends(project: Project) -> list[str]:
    """Return the end of each run in the list of runs."""
    lines = project.provio("runs", "--as", "csv").stdout.splitlines()
    place = lines[0].split(",").index("end")
    return [line.split(",")[place] for line in lines[1:]]


@pytest.mark.parametrize("shell", sorted(BEGIN))
@pytest.mark.integration
def test_a_shell_is_recorded_between_start_and_end(project: Project, needs: Any, shell: str) -> None:
    """Commands in between are recorded as one run; those before and after are not; no variable is left."""
    needs(shell)
    project.sh("echo 1 > a")
    done = script(
        project, "cp a before", BEGIN[shell], "cp a b", "cp b c", ended(BEGIN[shell]), "cp a after",
        f"env | grep -E '{LEFT}'", "true", shell=shell,
    )  # fmt: skip
    assert done.stdout == ""
    assert re.fullmatch(r"provio: run [0-9a-f-]{36}: recording until this shell ends, or .*\n", done.stderr)
    assert project.data("c") == {"a", "b"}
    assert ends(project) == ["ended"]
    for name in ("before", "after"):
        project.provio("lineage", name, code=3)
    assert f"{shell}" in project.provio("runs").stdout


@pytest.mark.integration
def test_the_shells_own_accesses_are_a_gap(project: Project) -> None:
    """The shell was started before: a file that its `echo` writes has no recorded writer, and a gap states that."""
    script(project, BEGIN["bash"], "echo 1 > a", "cp a b")
    bash = os.path.realpath(shutil.which("bash") or "")
    said = f"may have been written by {bash}, which could not be watched"
    assert [gap["reason"] for gap in project.lineage("b")["gaps"]] == [said]


def test_other_variables_stay(project: Project) -> None:
    """A preload, sanitizer options and a setting of the caller are present in the session, and unchanged after it."""
    project.env |= {"LD_PRELOAD": "libm.so.6", "ASAN_OPTIONS": "detect_leaks=0", "PROVIO_HDF5": "auto"}
    show = f"env | grep -E '{LEFT}|PROVIO_HDF5' | grep -v PROVIO_TRACE | sort"
    done = script(project, BEGIN["bash"], show, "echo --", ended(BEGIN["bash"]), show)
    during, after = done.stdout.split("--\n")
    assert "libprovio.so:libm.so.6" in during
    assert "verify_asan_link_order=0" in during
    assert after.splitlines()[:2] == ["ASAN_OPTIONS=detect_leaks=0", "LD_PRELOAD=libm.so.6"]


@pytest.mark.integration
def test_an_option_of_the_user_is_there_afterwards(project: Project) -> None:
    """Also the option that a session adds to ASAN_OPTIONS."""
    project.env["ASAN_OPTIONS"] = "verify_asan_link_order=0:detect_leaks=0"
    done = script(project, BEGIN["bash"], "echo $ASAN_OPTIONS", ended(BEGIN["bash"]), "echo $ASAN_OPTIONS")
    before = "verify_asan_link_order=0:detect_leaks=0"
    assert done.stdout.splitlines() == [f"{before}:verify_asan_link_order=0", before]


@pytest.mark.integration
def test_nested_sessions_and_runs(project: Project) -> None:
    """A second `provio env` changes nothing, also in a script of the session; a `provio run` inside is a separate run;
    the end of a session in a shell without one is refused."""
    (project.path / "inner.sh").write_text(f"{BEGIN['bash']}\ncp a b\n")
    done = script(
        project, "echo 1 > a", BEGIN["bash"], BEGIN["bash"], "bash inner.sh", f"{PROVIO} run --quiet -- cp b c",
        ended(BEGIN["bash"]),
    )  # fmt: skip
    assert done.stderr.count("is already recorded") == 2
    assert sorted(ends(project)) == ["ended", "exit 0"]
    assert project.data("c") == {"a", "b"}
    refused = script(project, f"{PROVIO} env --end", code=1)
    assert "is not recorded by provio env" in refused.stderr
    assert refused.stdout == ""


@pytest.mark.parametrize("end", [f"({PROVIO} env --end --quiet >out)", "rm -rf .provio"])
@pytest.mark.integration
def test_a_session_that_has_ended_elsewhere(project: Project, end: str) -> None:
    """It ended in a subshell, or its run was removed: the shell can end it, too, or start a new one."""
    project.sh("echo 1 > a")
    script(project, BEGIN["bash"], "cp a b", end, ended(BEGIN["bash"]), f"! env | grep -E '{LEFT}'")
    script(project, BEGIN["bash"], "cp a b", end, BEGIN["bash"], "cp a again", ended(BEGIN["bash"]))
    assert project.data("again") == {"a"}


@pytest.mark.integration
def test_a_session_ends_in_spite_of_wrong_settings(project: Project) -> None:
    """A setting that became invalid does not prevent it."""
    script(project, BEGIN["bash"], "echo exclude = 3 > provio.toml", ended(BEGIN["bash"]), "rm provio.toml")
    assert ends(project) == ["ended"]


@pytest.mark.integration
def test_a_session_is_in_progress_while_its_shell_exists(project: Project) -> None:
    """A query during it has the records so far, and it is not removed; a kill -9 ends it, and nothing is lost."""
    project.sh("echo 1 > a")
    with living(project, BEGIN["bash"], "cp a b") as shell:
        assert project.data("b") == {"a"}
        assert ends(project) == ["in progress"]
        assert "in progress" in project.provio("rm", "last", "--yes", code=None).stderr
        os.kill(shell.pid, signal.SIGKILL)
        shell.wait()
    assert project.data("b") == {"a"}
    assert ends(project) == ["not seen"]
    assert "1 run packed" in project.provio("merge", "--pack").stderr
    assert project.data("b") == {"a"}
    project.provio("rm", "last", "--yes")
    assert ends(project) == []


@pytest.mark.integration
def test_a_forgotten_session_is_merged_again_after_more_commands(project: Project) -> None:
    """The shell waits, a query merges; later commands are in the next answer."""
    project.sh("echo 1 > a")
    with living(project, BEGIN["bash"], "cp a b", "echo ready", "read x", "cp b c") as shell:
        assert shell.stdin
        assert shell.stdout
        assert project.data("b") == {"a"}
        shell.stdin.write("\n")
        shell.stdin.flush()
        assert shell.stdout.readline() == "ready\n"
        assert project.data("c") == {"a", "b"}


def test_a_session_that_cannot_be_recorded(project: Project) -> None:
    """The script continues without recording, and one line has the reason; on a terminal, the usage is printed."""
    (project.path / "provio.toml").write_text("hahs = true\n")
    done = script(project, BEGIN["bash"], "echo went on")
    assert done.stdout == "went on\n"
    assert "'hash'" in done.stderr
    (project.path / "provio.toml").unlink()
    program, *words = provio_command()
    child = pexpect.spawn(program, [*words, "env"], cwd=project.path, env=project.env, encoding="utf-8", timeout=60)
    assert 'eval "$(provio env)"' in child.read()
    child.close()
    assert child.exitstatus == 2
    assert not (project.path / ".provio" / "runs").exists()


class Terminal:
    """A bash on a terminal, with or without provio."""

    def __init__(self, project: Project, recorded: bool) -> None:
        words = [*([*provio_command(), "run", "--quiet"] if recorded else []), "bash", "--norc", "-i"]
        env = {**project.env, "PS1": "<\\u@>", "TERM": "dumb", "HISTFILE": "/dev/null"}
        env.pop("PROMPT_COMMAND", None)
        self.child = pexpect.spawn(
            words[0],
            words[1:],
            cwd=project.path,
            env=env,
            encoding="utf-8",
            timeout=60,
            echo=False,
            dimensions=(24, 80),
        )
        self.said = [self.prompt()]

    def prompt(self) -> str:
        self.child.expect(r"<\w+@>")
        return str(self.child.before) + str(self.child.after)

    def type(self, line: str) -> None:
        self.child.sendline(line)
        self.said.append(self.prompt())

    def stop(self, line: str, key: str) -> None:
        """Start a command that prints when it is ready, and press a key."""
        self.child.sendline(line)
        self.child.expect("there")
        self.child.sendcontrol(key)
        self.said.append(self.prompt())


def session(project: Project, recorded: bool) -> tuple[list[str], int | None]:
    """Return the output of a session in bash, and its exit code."""
    terminal = Terminal(project, recorded)
    terminal.type("cp a b")
    terminal.stop("sh -c 'echo there; exec sleep 60'", "c")
    terminal.type("echo code $?")
    terminal.stop("sh -c 'echo there; read x; cp b c'", "z")
    terminal.type("jobs -s | wc -l")
    terminal.child.sendline("fg")
    terminal.child.expect("cp b c")
    terminal.child.sendline("go on")
    terminal.said.append(terminal.prompt())
    terminal.child.sendline("sh -c 'echo there; read x; stty size'")
    terminal.child.expect("there")
    terminal.child.setwinsize(40, 100)  # not while bash reads a line: it may print its prompt again
    terminal.type("go on")
    terminal.child.sendline("exit 7")
    terminal.child.expect(pexpect.EOF)
    terminal.child.close()
    return [re.sub(r"\^[CZ]", "", part) for part in terminal.said], terminal.child.exitstatus


@pytest.mark.integration
def test_a_session_on_a_terminal_is_the_same_as_without_provio(project: Project) -> None:
    """`provio run bash`: prompt, Ctrl-C, Ctrl-Z and fg, the window's size and the exit code; all is recorded."""
    project.sh("echo 1 > a")
    alone = session(project, recorded=False)
    project.sh("rm b c")
    assert session(project, recorded=True) == alone
    assert alone[1] == 7
    assert "40 100" in "".join(alone[0])
    assert "code 130" in "".join(alone[0])
    assert project.data("c") == {"a", "b"}
    assert ends(project) == ["exit 7"]
