"""The setting `record.output`: standard output and error of a run, recorded without the program noticing it."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import Project, provio_command

from provio.settings.home import Home
from provio.trace import output
from provio.trace.read import read_head

pytestmark = pytest.mark.integration
SCRIPT = """
echo from bash; printf '%s\\n' a b
python3 -c 'import sys; print("from python"); print("an error", file=sys.stderr)'
seq 3 | tail -1; cat in.txt; echo to a file > made.txt; echo to the error >&2; echo both 2>&1; printf 'no newline'
"""


def recorded(project: Project, run: int = -1) -> dict[str, output.Output]:
    """Return the recorded output of a run, by stream."""
    runs = sorted((project.path / ".provio" / "runs").iterdir())
    folder = runs[run].with_name(runs[run].name.partition(".")[0])
    return {one.stream: one for one in output.of_run(folder, read_head(folder))}


def recording(project: Project, how: str = "all") -> Project:
    project.env["PROVIO_RECORD_OUTPUT"] = how
    return project


def test_nothing_is_recorded_by_default(project: Project) -> None:
    project.run("echo hello")
    assert recorded(project) == {}
    assert not list(project.path.rglob("*.output"))


def test_the_output_of_several_programs(project: Project) -> None:
    """Through pipes, and to files: each byte, in order, and nothing that goes elsewhere."""
    (project.path / "in.txt").write_text("from a file\n")
    done = recording(project).provio("run", "--quiet", "--", "bash", "-c", SCRIPT)
    found = recorded(project)
    assert done.stdout.startswith("from bash\na\nb\nfrom python\n3\nfrom a file\n")
    assert (found["stdout"].text.decode(), found["stderr"].text.decode()) == (done.stdout, done.stderr)
    command = [*provio_command(), "run", "--quiet", "--", "bash", "-c", SCRIPT]
    with (project.path / "out").open("wb") as out, (project.path / "err").open("wb") as err:
        subprocess.run(command, cwd=project.path, env=project.env, stdout=out, stderr=err, check=True)
    found = recorded(project)
    assert found["stdout"].text == (project.path / "out").read_bytes() == done.stdout.encode()
    assert found["stderr"].text == (project.path / "err").read_bytes()


def test_each_way_of_the_c_library(project: Project, built: Path) -> None:
    done = recording(project).provio("run", "--quiet", "--", built / "prints")
    found = recorded(project)
    assert len(done.stdout) > 8000
    assert (found["stdout"].text.decode(), found["stderr"].text.decode()) == (done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("", 0), ("err", 3), ("errx", 4), ("assert", -signal.SIGABRT), ("assert_perror", -signal.SIGABRT),
        ("error", 5), ("error_at_line", 6), ("verr", 7), ("verrx", 8),
    ],
)  # fmt: skip
def test_messages_that_the_c_library_writes_itself(project: Project, built: Path, kind: str, code: int) -> None:
    """Each byte as without provio, and in the record; the same exit code."""
    program = [built / "messages", kind]
    bare = subprocess.run(program, cwd=project.path, capture_output=True, check=False)
    for how in ("off", "all"):
        done = recording(project, how).provio("run", "--quiet", "--", *program, code=code, encoding=None)
        assert (done.stdout, done.stderr) == (bare.stdout, bare.stderr)
    found = recorded(project)
    assert (found["stdout"].text, found["stderr"].text) == (bare.stdout, bare.stderr)


def test_the_message_of_a_program(project: Project) -> None:
    done = recording(project).provio("run", "--quiet", "--", "ls", "/does-not-exist", code=2)
    assert done.stderr.startswith("ls: cannot access '/does-not-exist': ")
    assert recorded(project)["stderr"].text.decode() == done.stderr


def test_another_function_of_the_same_name(project: Project) -> None:
    """A library's own `error` and `warn`, with other parameters: they are called unchanged, and nothing is kept."""
    (project.path / "own.c").write_text(
        "#include <stdio.h>\n"
        'double error(const char *text, double a, long b) { printf("%s %g %ld\\n", text, a, b); return a * 2; }\n'
        "int warn(int a, int b, int c, int d, int e, int f, int g) { return a + b + c + d + e + f + g; }\n"
        'void use(void) { printf("%g\\n", error("own", 1.5, 7)); printf("%d\\n", warn(1, 2, 3, 4, 5, 6, 7)); }\n'
    )
    (project.path / "main.c").write_text("void use(void);\nint main(void) { use(); return 0; }\n")
    compiler = os.environ.get("CC", "cc").split()
    for command in (["-w", "-shared", "-fPIC", "-o", "libown.so", "own.c"], ["-o", "main", "main.c", "./libown.so"]):
        subprocess.run([*compiler, "-fno-builtin", *command], cwd=project.path, check=True)
    for how in ("off", "all"):
        done = recording(project, how).provio("run", "--quiet", "--", "./main")
        assert (done.stdout, done.stderr) == ("own 1.5 7\n3\n28\n", "")
    assert recorded(project)["stdout"].text == b"own 1.5 7\n3\n28\n"


def on_terminal(project: Project, *command: str | Path) -> tuple[bytes, int]:
    """Run a command on a terminal; return its output and its exit code."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(project.path)
        os.execve(provio_command()[0], [*provio_command(), "run", "--quiet", "--", *command], project.env)
    text = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(terminal)
    return text.replace(b"\r\n", b"\n"), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_terminal_stays_one(project: Project, built: Path) -> None:
    test = "import os, sys; print(os.isatty(1), os.isatty(2), os.ttyname(1) == os.ttyname(0)); sys.exit(3)"
    text, code = on_terminal(recording(project), "python3", "-c", test)
    assert (text, code) == (b"True True True\n", 3)
    assert recorded(project)["stdout"].text == text
    text, _ = on_terminal(project, built / "prints")
    found = recorded(project)
    assert len(found["stdout"].text) + len(found["stderr"].text) == len(text)
    assert b"error E\ncdescriptor 3\n" in found["stderr"].text


def test_the_last_bytes(project: Project) -> None:
    """Whole lines, at most 64 KiB; the number of all bytes."""
    printed = recording(project, "tail").run("for i in {1..300000}; do echo line $i; done; echo error >&2")
    found = recorded(project)
    assert found["stdout"].size == len(printed)
    assert 60_000 < len(found["stdout"].text) <= output.LAST
    assert printed.encode().endswith(b"\n" + found["stdout"].text)
    assert found["stderr"].text == b"error\n"
    assert sum(path.stat().st_size for path in project.path.rglob("*.output")) < 2 * output.LAST


def test_the_limit(project: Project) -> None:
    project.env["PROVIO_RECORD_OUTPUT_LIMIT"] = "1 kB"
    printed = recording(project).run("for i in {1..1000}; do echo line $i; done")
    found = recorded(project)["stdout"]
    assert (found.size, found.text) == (len(printed), printed.encode()[:1000])


def test_a_child_in_the_background_delays_nothing(project: Project) -> None:
    """It keeps the output open, and writes after the run; a later merge adds that."""
    wait = "while [ ! -e go ]; do sleep 0.05; done; echo late; touch done"
    command = [*provio_command(), "run", "--quiet", "--", "bash", "-c", f"({wait}) & echo early"]
    with (project.path / "out").open("wb") as out:
        subprocess.run(command, cwd=project.path, env=recording(project).env, stdout=out, check=True)
    assert (project.path / "out").read_text() == "early\n"
    (project.path / "go").touch()
    while not (project.path / "done").exists():
        time.sleep(0.05)
    for _ in range(100):  # until the child has ended
        project.provio("merge")
        if "stdout" in recorded(project):
            break
        time.sleep(0.1)
    assert recorded(project)["stdout"].text == b"early\nlate\n"


def test_a_closed_pipe_ends_the_program_as_without(project: Project) -> None:
    provio = " ".join(map(str, provio_command()))
    script = f"set -o pipefail; {provio} run --quiet -- yes | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=project.path, env=recording(project).env, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"y\n{128 + signal.SIGPIPE}\n"


def test_it_is_shown_and_removed(project: Project) -> None:
    """Also of an archived run; `rm` leaves nothing of it."""
    recording(project).run("for i in {1..30}; do echo line $i; done; echo oops >&2")
    text = project.answer("show", "last")
    assert "stdout   231 B in all, 20 lines before these: --as json\n         line 21\n" in text
    assert "stderr   5 B in all\n         oops\n" in text
    rows = json.loads(project.answer("show", "last", "--as", "json"))
    assert [row["value"] for row in rows if row["what"] == "stdout"] == [f"line {i}" for i in range(1, 31)]
    (folder,) = (project.path / ".provio" / "runs").iterdir()
    from provio.trace import run_archive

    archive = folder.with_name(folder.name + ".tar.xz")
    run_archive.write(folder, read_head(folder), archive)
    assert {one.name for one in run_archive.Archive(folder, archive).outputs(read_head(folder))} == {
        "stdout.output", "stderr.output",
    }  # fmt: skip
    archive.unlink()
    project.provio("rm", "--yes", folder.name)
    assert not list(Path(Home(project.path / ".provio").runs).iterdir())


def test_secrets_are_in_no_file_of_the_record(project: Project) -> None:
    secrets = ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "hunter2secret", "zebra-horse-91", "w1nter-is")
    (project.path / "login.py").write_text(
        f"print('use {secrets[0]}'); print('password={secrets[1]}'); print('https://ada:{secrets[2]}@host/')\n"
        f"print('+ mysql -p{secrets[3]} db')\n"
    )
    for how in ("all", "tail"):
        recording(project, how).watch("python3", "login.py")
        assert recorded(project)["stdout"].text.decode() == (
            "use REDACTED\npassword=REDACTED\nhttps://ada:REDACTED@host/\n+ mysql -pREDACTED db\n"
        )
    shown = project.answer("show", "last", "--as", "json")
    assert not any(secret in shown for secret in secrets)
    for path in (project.path / ".provio").rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        assert not any(secret.encode() in data for secret in secrets), path


def test_a_project_cannot_switch_it_on(project: Project) -> None:
    (project.path / "provio.toml").write_text('[record]\noutput = "all"\n')
    done = project.provio("run", "--strict", "--", "true", code=None)
    assert done.returncode != 0
    assert "record.output" in done.stderr
    assert not list(project.path.rglob("*.output"))
