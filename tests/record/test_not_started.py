"""Commands that cannot be started: exit codes as in bash, which runs each command too; the message with its hint."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import Project, provio_command

LONG = "a" * 300
FILES = r"""
printf '#!/no/such\n' > interpreter; printf 'exit 3\n' > plain; : > empty; printf 'x\0y\n' > bytes
printf '\x7fELFgarbage' > elf; mkdir folder path path/folder2; echo 1 > data; printf '#!/bin/sh\n' > starter
printf '#!%s/folder\n' "$PWD" > by_folder; printf '#!%s/interpreter\n' "$PWD" > by_script
printf '#! \nexit 4\n' > blank
chmod +x interpreter plain empty bytes elf by_folder by_script blank; cp starter path/named; echo 'exit 5' > path/named5
chmod +x path/named5; ln -s loop loop; ln -s nowhere dangling; : > program.py
"""
ALIKE = [
    ["./plain"], ["./empty"], ["./bytes"], ["./elf"], ["./folder"], ["./data"], ["./data/x"], ["./starter"],
    ["./by_folder"], ["./blank"], ["no-such"], ["./no-such"], ["./loop"], ["./dangling"], [f"./{LONG}"], [LONG],
    ["named"], ["named5"], ["folder2"], [""], ["sh", "-c", "exit 255"], ["sh", "-c", "kill -KILL $$"],
    ["sh", "-c", "kill -TERM $$"], ["sh", "-c", "kill -PIPE $$"], ["sh", "-c", "kill -USR2 $$"],
]  # fmt: skip
# bash before 5.2 ends with 126 here.
MISSING = [["./interpreter"], ["./by_script"], ["./loaderless"]]
HINTS = [
    (["./interpreter"], "./interpreter: /no/such, which it requests, does not exist"),
    (["./loaderless"], "./loaderless: /no/such.so, which it requests, does not exist"),
    (["./bytes"], "./bytes: Exec format error: it is damaged, or built for another machine"),
    (["./folder"], "./folder: is a folder, not a program"),
    (["./dangling"], "./dangling: no such file"),
    (["no-such"], "no-such: command not found"),
    (["named", "a"], "named: Permission denied"),
    (["./startr", "1"], "./startr: no such file: did you mean provio run -- ./starter 1?"),
    (["starter", "1"], "starter: command not found: chmod +x ./starter, then provio run -- ./starter 1"),
    (["./starter"],
     "./starter: Permission denied: chmod +x ./starter, then provio run -- ./starter"),
    (["plain"], "plain: command not found: did you mean provio run -- ./plain?"),
    (["program.py", "-n", "2"], "program.py: command not found: did you mean provio run -- python3 program.py -n 2?"),
    (["data"], "data: command not found: did you mean provio lineage data?"),
    (["ehco", "a"], "ehco: command not found"),
    (["sleeep", "a b"], "sleeep: command not found: did you mean provio run -- sleep 'a b'?"),
    (["echo a"], "echo a: command not found: did you mean provio run -- echo a?"),
    (["cat a > b"], "cat a > b: command not found: did you mean provio run -- sh -c 'cat a > b'?"),
    (["N=4", "./plain"], "N=4: command not found: did you mean provio run -- env N=4 ./plain?"),
    (["cd", "a b"],
     """cd: command not found outside a shell: provio run -- bash -c 'cd '"'"'a b'"'"''"""),
    ([".", "setup"], ".: command not found outside a shell: provio run -- bash -c '. setup'"),
]  # fmt: skip


@pytest.fixture
def files(project: Project) -> Project:
    project.sh(FILES)
    (project.path / "a.c").write_text("int main(void) { return 0; }\n")
    project.sh("cc -Wl,--dynamic-linker=/no/such.so a.c -o loaderless")
    project.env["PATH"] = f"{project.path}/path:{os.environ['PATH']}"
    return project


def code_of(project: Project, command: list[str], **env: str) -> int:
    """Return the exit code that bash reports for a command."""
    words = ["bash", "-c", '"$@"; echo $?', "bash", *command]
    done = subprocess.run(
        words, cwd=project.path, env=project.env | env, capture_output=True, text=True, check=True, timeout=120
    )
    return int(done.stdout.splitlines()[-1])


def bash_version() -> tuple[int, ...]:
    words = ["bash", "-c", "echo ${BASH_VERSINFO[0]} ${BASH_VERSINFO[1]}"]
    return tuple(map(int, subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()))


@pytest.mark.slow
@pytest.mark.parametrize("merge", ["ask", "wait"])
def test_exit_codes_are_those_of_bash(files: Project, merge: str) -> None:
    """Whether the small waiter ends the run (`ask`) or Python does (`wait`)."""
    commands = ALIKE + (MISSING if bash_version() >= (5, 2) else [])
    expected = {tuple(command): code_of(files, command) for command in commands}
    ended = {
        tuple(command): code_of(files, [*provio_command(), "run", "--quiet", "--", *command], PROVIO_MERGE=merge)
        for command in commands
    }
    assert ended == expected
    assert {3, 4, 5, 126, 127, 137, 143, 255} <= set(expected.values())


@pytest.mark.slow
def test_the_message_states_the_reason_and_what_to_write(files: Project) -> None:
    """One line, also with `--quiet`."""
    for command, message in HINTS:
        done = files.provio("run", "--quiet", "--", *command, code=None)
        assert (done.returncode in (126, 127), done.stderr) == (True, f"provio: {message}\n"), command


def test_a_binary_file_is_no_script(tmp_path: Path) -> None:
    """As bash decides: a NUL in the first line of the first 80 bytes, or the start of an ELF file."""
    from provio.record.not_started import as_script

    file = tmp_path / "file"
    for content, script in ((b"", True), (b"echo\n\0", True), (b"\0", False), (b"\x7fELF", False), (b"a" * 80, True)):
        file.write_bytes(content)
        found = as_script([bytes(file), b"x"])
        assert found == ([b"/bin/sh", bytes(file), b"x"] if script else None), content
