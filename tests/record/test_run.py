"""`provio run`: the command's streams, exit code, signals and files are unchanged, and errors of recording do not
affect it."""

from __future__ import annotations

import contextlib
import os
import pty
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import SHIM, Project, provio_command

SAME = {
    "pipeline": "ls -lR /usr/share/perl5 /usr/share/perl | sort | gzip -n",
    "tar": "tar cf - --sort=name -C /usr/share/perl5 .",
    "cp -r": "cp -r /usr/share/bash-completion copy && find copy -type f -printf '%s %m %p\\n' | sort",
    "python": "python3 -c 'import json, sys; print(json.dumps(sys.version_info[:2])); sys.exit(3)'",
    "bash": "set -o pipefail; printf 'b\\na\\n' | sort | tee out | tr a-z A-Z; cat out; false | cat",
    "stdin": "cat; echo done >&2",
}


@pytest.fixture
def start(project: Project) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """A function that starts `provio run` on a command; its processes end with the test."""
    started: list[subprocess.Popen[str]] = []

    def starting(*command: str | Path, **options: Any) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*provio_command(), "run", "--quiet", "--", *command],
            cwd=project.path, env=project.env, text=True, start_new_session=True, **options,
        )  # fmt: skip
        started.append(process)
        return process

    yield starting
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def unwatched(script: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, capture_output=True, input=b"typed\n", env=env, timeout=120
    )


@pytest.mark.parametrize("name", sorted(SAME))
@pytest.mark.slow
def test_output_and_exit_code_are_the_same(project: Project, tmp_path: Path, name: str) -> None:
    """stdout, stderr and the exit code with provio equal those without, to the byte."""
    bare = tmp_path / "bare"
    bare.mkdir()
    expected = unwatched(SAME[name], bare, project.env)
    found = subprocess.run(
        [*provio_command(), "run", "--quiet", "--", "bash", "-c", SAME[name]],
        cwd=project.path, capture_output=True, input=b"typed\n", env=project.env, timeout=240,
    )  # fmt: skip
    assert (found.returncode, found.stderr) == (expected.returncode, expected.stderr)
    assert found.stdout == expected.stdout


@pytest.mark.parametrize("program", ["fortified", "four_threads", "fork_exit"])
@pytest.mark.integration
def test_c_programs_are_not_affected(project: Project, tmp_path: Path, program: str) -> None:
    """Programs built with fortification, with threads, and with a fork that ends by _exit leave the same files."""
    binary = tmp_path / program
    source = Path(__file__).parent.parent / "programs" / f"{program}.c"
    subprocess.run(
        ["cc", "-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-pthread", "-o", binary, source], check=True
    )
    bare = tmp_path / "bare"
    bare.mkdir()
    expected = subprocess.run([binary], cwd=bare, capture_output=True, timeout=60)
    found = subprocess.run(
        [*provio_command(), "run", "--quiet", "--", binary],
        cwd=project.path,
        capture_output=True,
        env=project.env,
        timeout=60,
    )
    assert (found.returncode, found.stdout, found.stderr) == (expected.returncode, expected.stdout, expected.stderr)
    files = {p.name: p.read_bytes() for p in bare.iterdir()}
    assert {p.name: p.read_bytes() for p in project.path.iterdir() if p.name != ".provio"} == files


@pytest.mark.integration
def test_the_run_is_described(project: Project) -> None:
    """run.ttl has the user, host, times, command line and exit code."""
    project.sh("git init -q .; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x")
    project.env["SLURM_JOB_PARTITION"] = "debug"
    project.provio("run", "--quiet", "--name", "first try", "--", "sh", "-c", "exit 7", code=7)
    facts = project.rows("SELECT ?p ?o { ?run a provio:Run ; ?p ?o }")
    found = {row["p"].rpartition("#")[2]: row["o"] for row in facts}
    assert found["commandLine"] == "sh -c exit%207"
    assert (found["name"], found["exitCode"], found["cwd"]) == ("first try", "7", str(project.path))
    assert found["gitCommit"] == project.sh("git rev-parse HEAD").strip()
    assert {"host", "system", "kernel", "cpu", "startedAtTime", "endedAtTime", "uid"} <= found.keys()
    assert project.count('?e a provio:Environment ; provio:name "SLURM_JOB_PARTITION" ; provio:value "debug"') == 1


@pytest.mark.slow
def test_one_line_at_the_end_and_none_when_quiet(project: Project) -> None:
    """At the end of a run there is one line on stderr; none with --quiet."""
    loud = project.provio("run", "--", "true")
    assert loud.stdout == ""
    assert loud.stderr.startswith("provio: run ")
    assert loud.stderr.count("\n") == 1
    assert "no process that read or wrote a file" in loud.stderr
    assert " 1 process, 1 file, " in project.provio("run", "--", "touch", "file").stderr
    assert project.provio("run", "--quiet", "--", "true").stderr == ""


@pytest.mark.integration
def test_the_exit_code_is_the_commands_own(project: Project) -> None:
    """Exit codes pass through; a death by signal is passed on as one."""
    project.provio("run", "--", "sh", "-c", "exit 42", code=42)
    project.provio("run", "--", "sh", "-c", "kill -TERM $$", code=-signal.SIGTERM)
    project.provio("run", "--", "sh", "-c", "kill -KILL $$", code=-signal.SIGKILL)


def test_wrong_calls_start_nothing(project: Project) -> None:
    """No command and an unknown option are refused with 125 in one line."""
    for arguments in (["run"], ["run", "--"], ["run", "--no-such-option", "--", "touch", "started"]):
        done = project.provio(*arguments, code=125)
        assert done.stderr.startswith("provio: ")
        assert done.stderr.count("\n") == 1
    assert not (project.path / "started").exists()


@pytest.mark.slow
def test_command_not_found_and_not_executable(project: Project) -> None:
    """127 and 126, as in a shell, in one line."""
    (project.path / "plain").write_text("#!/bin/sh\n")
    for command, code in (("no-such-command-at-all", 127), ("./none", 127), ("./plain", 126), ("/tmp", 126)):
        done = project.provio("run", "--quiet", "--", command, code=code)
        assert done.stderr.count("\n") == 1, done.stderr
        assert command in done.stderr


def test_a_script_without_interpreter_line_is_run_by_the_shell(project: Project) -> None:
    """As shells and execvp do."""
    (project.path / "script").write_text("echo hello\n")
    (project.path / "script").chmod(0o755)
    assert project.watch("./script") == "hello\n"


def test_strict_refuses_if_nothing_can_be_recorded(project: Project) -> None:
    """A `.provio` that cannot be created: a warning, and the command runs; with --strict: 125, and it does not."""
    blocked = project.path / "file"
    blocked.write_text("")
    project.env["PROVIO_HOME"] = str(blocked / "home")
    done = project.provio("run", "--", "touch", "ran")
    assert done.stderr.startswith("provio: not recording: ")
    assert done.stderr.count("\n") == 1
    assert (project.path / "ran").exists()
    done = project.provio("run", "--strict", "--", "touch", "started", code=125)
    assert done.stderr.count("\n") == 1
    assert not (project.path / "started").exists()


def test_a_folder_that_cannot_be_written(project: Project) -> None:
    """If no user, not even root, can create a folder: one line, and the command runs."""
    done = project.provio("run", "--", "true", cwd="/sys")
    assert "not recording: cannot write /sys/.provio" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.integration
def test_an_incomplete_run_folder_is_removed(project: Project) -> None:
    """As on a full disk: one line, the command runs, and no damaged run is left."""
    project.provio("run", "--", "true")
    full = ["bash", "-c", 'ulimit -f 0; exec "$@"', "bash", *provio_command(), "run", "--", "touch", "ran"]
    done = subprocess.run(full, cwd=project.path, env=project.env, capture_output=True, text=True)
    assert "not recording: cannot write the run folder" in done.stderr
    assert done.stderr.count("\n") == 1
    assert (project.path / "ran").exists()
    assert project.provio("merge").stderr == "0 runs merged, 1 unchanged\n"


def test_a_missing_shim_is_reported_and_harmless(project: Project, tmp_path: Path) -> None:
    """Without the shim the command runs untracked; --strict refuses."""
    code = (
        f"import provio.trace.recording as r; r.SHIM = r.Path({str(tmp_path / 'none.so')!r}); "
        "from provio.cli.main import main; main()"
    )
    for strict, expected in (([], 0), (["--strict"], 125)):
        command = [sys.executable, "-c", code, "run", *strict, "--", "true"]
        done = subprocess.run(command, cwd=project.path, env=project.env, capture_output=True, text=True, timeout=60)
        assert done.returncode == expected
        assert "shim" in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("shell", "code"),
    [
        ("{} run -- sh -c 'exit 7' 2>/dev/full", 7),
        ("{} run -- sh -c 'exit 7' 2>&-", 7),
        ("{} run -- sh -c 'exit 7' >&- 2>&-", 7),
        ("{} run -- sh -c 'exit 7' <&-", 7),
        ("{} run -- sh -c 'sleep 0.5; exit 7' <&-", 7),  # the waiter waits
        ("{} run -- sh -c 'sleep 0.5; exit 7' 2>&-", 7),
        ("{} run --no-merge -- sh -c 'sleep 0.5; exit 7' <&- >&- 2>&-", 7),
        ("{} run -- sh -c 'sleep 0.5; exit 7' <&- >&- 2>&-", 7),
        ("{} run -- no-such-command 2>/dev/full", 127),
        ("{} run -- no-such-command 2>&-", 127),
        ("ulimit -v 300000; {} run -- sh -c 'exit 7'", 7),
        ("ulimit -f 0; {} run -- sh -c 'exit 7'", 7),
    ],
)
@pytest.mark.integration
def test_errors_in_provio_do_not_change_the_exit_code(project: Project, shell: str, code: int) -> None:
    """Closed and full streams, no memory for the store, no room for the trace: the command's own exit code."""
    script = shell.format(shlex.join(provio_command()))
    done = subprocess.run(["bash", "-c", script], cwd=project.path, env=project.env, capture_output=True, timeout=60)
    assert done.returncode == code, done.stderr
    assert done.stdout == b""


@pytest.mark.slow
def test_a_closed_stream_stays_closed_to_the_command_and_is_not_reused_by_provio(project: Project) -> None:
    """provio's files do not become standard streams: libraries write their errors there."""
    provio = shlex.join(provio_command())
    own = "import os; print([fd for fd in range(3) if os.path.exists(f'/proc/self/fd/{fd}')])"
    held = "readlink /proc/$PPID/fd/0 /proc/$PPID/fd/2"
    for words, said in (([sys.executable, "-S", "-c", own], "[1]"), (["sh", "-c", held], "/dev/null\n/dev/null")):
        script = f"{provio} run -- {shlex.join(words)} <&- 2>&-"
        done = subprocess.run(["bash", "-c", script], cwd=project.path, env=project.env, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, f"{said}\n")


@pytest.mark.parametrize(
    ("limit", "remedy"),
    [("-n 7", "allow more open files (ulimit -n 512)"), ("-n 20", "allow more open files (ulimit -n 512)"),
     ("-v 150000", "allow more (ulimit -v)")],
)  # fmt: skip
@pytest.mark.integration
def test_a_limit_that_is_too_low_for_the_store(project: Project, limit: str, remedy: str) -> None:
    """One line names the needed limit; the run stays pending, and a merge without the limit adds it."""
    provio = shlex.join(provio_command())
    for verb, code in (("run -- touch out", 0), ("merge", 1)):
        script = f"ulimit {limit}; {provio} {verb}"
        done = subprocess.run(["bash", "-c", script], cwd=project.path, env=project.env, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (code, "")
        assert (
            done.stderr.startswith("provio: ") and done.stderr.endswith(f"{remedy}\n") and done.stderr.count("\n") == 1
        )
    assert project.provio("merge").stderr == "1 run merged, 0 unchanged\n"


@pytest.mark.parametrize(
    ("command", "code"), [(["sh", "-c", "exit 7"], 7), (["grep", "SigIgn", "/proc/self/status"], 0)]
)
def test_an_ignored_sigchld(project: Project, command: list[str], code: int) -> None:
    """A caller that ignores SIGCHLD still gets the command's exit code, and the command ignores it too."""
    start = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    call = [sys.executable, "-c", start, *provio_command(), "run", "--quiet", "--", *command]
    done = subprocess.run(call, cwd=project.path, env=project.env, capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    assert not done.stdout or int(done.stdout.split()[1], 16) >> (signal.SIGCHLD - 1) & 1


def test_descriptors_are_inherited(project: Project) -> None:
    """A descriptor above 2 of the caller is passed to the command, as for process substitution."""
    (project.path / "in").write_text("content\n")
    with (project.path / "in").open() as file:
        done = project.provio("run", "--quiet", "--", "cat", f"/dev/fd/{file.fileno()}", pass_fds=[file.fileno()])
    assert done.stdout == "content\n"


def test_sigterm_reaches_the_command(project: Project, start: Callable[..., subprocess.Popen[str]]) -> None:
    """A signal to provio is passed on, and the command decides how it ends."""
    script = "trap 'echo got it; exit 5' TERM; touch ready; while :; do sleep 0.05; done"
    process = start("bash", "-c", script, stdout=subprocess.PIPE)
    _wait_for(project.path / "ready")
    process.terminate()
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (5, "got it\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT])
@pytest.mark.integration
def test_an_interrupt_sent_to_provio_alone_reaches_the_command(
    project: Project, start: Callable[..., subprocess.Popen[str]], number: signal.Signals
) -> None:
    """A signal that a terminal sends to the group is passed on if only provio got it."""
    script = "trap 'echo got it; exit 5' INT QUIT; touch ready; while :; do sleep 0.05; done"
    own = {"preexec_fn": lambda: signal.signal(number, signal.SIG_DFL)}
    process = start("bash", "-c", script, stdout=subprocess.PIPE, **own)
    _wait_for(project.path / "ready")
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (5, "got it\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGINT])
def test_a_signal_after_the_end_of_the_command_ends_provio(number: signal.Signals) -> None:
    """During the merge no signal is passed on: it ends provio, as any program."""
    script = (
        "import os, signal; from provio.system.signals import Signals; signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
    )
    script += f"with Signals(): pass\nos.kill(os.getpid(), {int(number)}); print('still here')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (-number, b"")


def test_an_ignored_interrupt_stays_ignored(project: Project) -> None:
    """If the caller ignores SIGINT, the command ignores it, as under nohup."""
    done = project.provio(
        "run", "--quiet", "--", "sh", "-c", "kill -INT $$; echo still here",
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )  # fmt: skip
    assert done.stdout == "still here\n"


@pytest.mark.integration
def test_a_terminal_interrupts_the_command_and_not_provio(project: Project) -> None:
    """Ctrl-C on a terminal ends the command by SIGINT; the run is recorded anyway."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(project.path)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a caller in the background may ignore it
        command = [*provio_command(), "run", "--quiet", "--", "sh", "-c", "touch ready; exec sleep 30"]
        os.execve(command[0], command, project.env)
    try:
        _wait_for(project.path / "ready")
        time.sleep(0.3)
        os.write(terminal, b"\x03")
        _, status = os.waitpid(pid, 0)
    except BaseException:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGINT
    assert project.count("?run a provio:Run ; provio:signal 2") == 1


@pytest.mark.integration
def test_a_run_inside_a_run_is_its_child(project: Project) -> None:
    """A nested `provio run` names the surrounding run."""
    project.watch(*provio_command(), "run", "--quiet", "--", "true")
    assert project.count("?inner a provio:Run ; provio:partOf ?outer . ?outer provio:commandLine ?c") == 1


@pytest.mark.integration
def test_sigkill_in_the_middle_of_writes_loses_nothing(project: Project, tmp_path: Path) -> None:
    """Killed after 2,000 of 100,000 writes: the graph has the count and the bytes of these."""
    binary = tmp_path / "writes"
    source = tmp_path / "writes.c"
    source.write_text(
        "#include <fcntl.h>\n#include <signal.h>\n#include <unistd.h>\nint main(void) { char b[64] = {1};"
        'int f = open("out", O_WRONLY | O_CREAT, 0644);'
        "for (int i = 0; i < 100000; i++) { if (i == 2000) raise(SIGKILL); if (write(f, b, 64) != 64) return 1; } }"
    )
    subprocess.run(["cc", "-O2", "-o", binary, source], check=True)
    project.provio("run", "--", str(binary), code=-signal.SIGKILL)
    rows = project.rows("SELECT ?count ?bytes { ?v provio:wasWrittenBy ?io ."
                        " ?io provio:api 'write' ; provio:count ?count ; provio:bytes ?bytes ."
                        " ?v prov:specializationOf/provio:path ?p . FILTER(STRENDS(?p, '/out')) }")  # fmt: skip
    assert rows == [{"count": "2000", "bytes": "128000"}]


def _wait_for(path: Path) -> None:
    limit = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < limit, f"{path} did not appear"
        time.sleep(0.01)


def test_the_shim_is_built() -> None:
    """Some of the other tests would pass without it; this one fails."""
    assert SHIM.exists()
