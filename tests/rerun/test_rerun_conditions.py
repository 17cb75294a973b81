"""Records that cannot run again, and reruns that end early: recorded runs in, messages and exit codes out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import Project, provio_command
from test_rerun_commands import RUN, record, rerun

import provio
from provio.rerun import execute
from provio.rerun.places import aliases

pytestmark = pytest.mark.integration


def wait_for(path: Path) -> str:
    """Return the content of a file as soon as there is some."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        if path.exists() and (text := path.read_text()):
            return text
        time.sleep(0.05)
    raise AssertionError(f"{path} was not written")


def test_a_run_in_progress(project: Project, tmp_path: Path) -> None:
    """It is refused with the exit code of questions that come too early."""
    os.mkfifo(project.path / "fifo")
    running = subprocess.Popen(
        [*provio_command(), "run", "--quiet", "--", "sh", "-c", f"echo 1 > out; echo 1 > {tmp_path}/mark; cat fifo"],
        cwd=project.path,
        env=project.env,
    )
    try:
        wait_for(tmp_path / "mark")
        assert "is in progress: repeat this when it has ended" in rerun(project, "last", code=4)[1]
    finally:
        (project.path / "fifo").write_text("")
        assert running.wait(120) == 0


def test_a_pipe_between_two_commands(project: Project, tmp_path: Path) -> None:
    """The reader is refused, because nothing would write its input; with --anyway it starts without it."""
    project.sh("echo 3 > in")
    record(project, f": cat in | {RUN} tr 3 4 > out")
    lines, message = rerun(project, "out", "--in", str(tmp_path / "a"), code=1)
    assert (lines, "read a pipe from cat in, and no pipe connects them again" in message) == ([], True)
    assert "(tr 3 4 > out" in message
    assert rerun(project, "out", "--in", str(tmp_path / "b"), "--anyway", code=1)[0][0] == "differs       out"


def test_the_commands_of_a_session(project: Project, tmp_path: Path) -> None:
    """Each command of a recorded shell runs again by itself; one that read a pipe from another is refused."""
    project.sh("echo 3 > in")
    record(project, "printf 'cp in a\\ncat a | tr 3 4 > b\\nsort a -o c\\n' | : bash")
    lines, _ = rerun(project, "c", "--in", str(tmp_path / "a"))
    assert lines == ["identical     a", "identical     c", f"2 commands, 2 identical: {tmp_path / 'a'}"]
    assert "tr 3 4 read a pipe from cat a," in rerun(project, "b", code=1)[1]


def test_a_notebook(project: Project) -> None:
    """A kernel's command line contains no cells: it is refused."""
    (project.path / "ipykernel_launcher").write_text("open('out', 'w').write('1')\n")
    project.hashed("python3", "./ipykernel_launcher")
    assert "is a notebook, and its cells are no commands" in rerun(project, "last", code=1)[1]


def test_an_activated_environment(project: Project, tmp_path: Path) -> None:
    """A virtual environment in the project is linked; its Python is found first, as in the record."""
    project.sh("python3 -m venv --without-pip venv; echo 3 > in")
    (packages,) = project.path.glob("venv/lib/python3*/site-packages")
    (packages / "only_here.py").write_text("A = 2\n")
    (project.path / "s.py").write_text("import only_here; open('out', 'w').write(open('in').read() * only_here.A)\n")
    record(project, ". venv/bin/activate; : python s.py")
    lines, message = rerun(project, "last", "--in", str(tmp_path / "a"))
    assert lines[0] == "identical     out"
    assert "VIRTUAL_ENV" not in message
    assert os.readlink(tmp_path / "a/venv") == str(project.path / "venv")


def test_streams(project: Project, tmp_path: Path) -> None:
    """An empty file of a redirection is not new; several files outside are named in one line."""
    project.sh("echo 3 > in")
    record(project, f": cp in a > log\n: cp in b > {tmp_path}/1 2> {tmp_path}/2")
    assert [line.split()[1] for line in rerun(project, "a", "--in", str(tmp_path / "a"))[0][:-1]] == ["a"]
    message = rerun(project, "b", "--in", str(tmp_path / "b"))[1]
    assert f"is printed here: {tmp_path}/1 and {tmp_path}/2 are outside the project\n" in message
    assert message.count("printed here") == 1


def test_a_missing_program(project: Project, tmp_path: Path) -> None:
    """A program that was removed is named before anything starts."""
    project.sh("echo 3 > in; printf '#!/bin/sh\\ncat in > out\\n' > tool; chmod +x tool")
    project.hashed("./tool")
    project.sh("rm tool")
    assert "input missing: tool\n" in rerun(project, "out", "--in", str(tmp_path / "a"), code=1)[1]
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    "options", [["--in", ""], ["--tolerance", "nan"], ["--tolerance", "-1"], ["--tolerance", "a="]]
)
def test_wrong_options(project: Project, options: list[str]) -> None:
    project.run("echo 1 > out")
    assert f"{options[0]}" in project.provio("rerun", "out", *options, code=2).stderr
    assert not (project.path.parent / f"{project.path.name}-rerun").exists()


def test_a_folder_that_cannot_be_made(project: Project) -> None:
    """The message names the folder and the reason."""
    project.sh("echo 3 > in")
    project.hashed("cp", "in", "out")
    assert "--in /proc/x cannot be made (" in rerun(project, "out", "--in", "/proc/x", code=1)[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_rerun(project: Project, tmp_path: Path, number: signal.Signals) -> None:
    """A signal to provio ends the command with its children, and their run has an end."""
    mark, switch = tmp_path / "mark", tmp_path / "switch"
    project.sh("echo 3 > in")
    script = f"cp in out; test ! -e {switch} || {{ sleep 600 & echo $! > {mark}; wait; }}"
    project.hashed("sh", "-c", script)
    switch.touch()
    words = [*provio_command(), "rerun", "out", "--in", str(tmp_path / "new")]
    running = subprocess.Popen(words, cwd=project.path, env=project.env, stderr=subprocess.PIPE, text=True)
    child = int(wait_for(mark))
    running.send_signal(number)
    _, message = running.communicate(timeout=120)
    assert running.returncode == 128 + number
    assert f"{number.name} ended command 1 of 1: no file was compared: remove {tmp_path}/new" in message
    assert not _lives(child)
    assert f"signal {int(number)}" in project.provio("runs", cwd=tmp_path / "new").stdout


def _lives(pid: int) -> bool:
    """Return whether a process still runs; one that only waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_tolerance(project: Project, tmp_path: Path) -> None:
    """Numbers within it are no failure; larger differences, other texts and other formats are."""
    (project.path / "s.py").write_text(
        f"import os\nagain = os.path.exists({str(tmp_path / 'again')!r})\n"
        "open('near.csv', 'w').write('x,y\\n1,%s\\n' % (2.0 + 1e-9 * again))\n"
        "open('far.json', 'w').write('{\"x\": [1, %d]}' % (3 + again))\n"
        "open('text', 'w').write('a' + 'b' * again)\nopen('binary', 'wb').write(b'\\0' + b'\\1' * again)\n"
    )
    project.hashed("python3", "s.py")
    (tmp_path / "again").touch()
    lines, _ = rerun(project, "last", "--tolerance", "1e-6", "--in", str(tmp_path / "a"), code=1)
    assert lines == [
        "differs           binary  (is no file of numbers that provio can read)",
        "differs           far.json  (largest difference 0.25 at x[1] (absolute 1); 1 of 2 numbers are unequal)",
        "within tolerance  near.csv  "
        "(largest difference 5e-10 at y, row 1 (absolute 1e-09); 1 of 2 numbers are unequal)",
        "differs           text  (line 1: another text)",
        f"1 command, 3 differs, 1 within tolerance: {tmp_path / 'a'}",
    ]
    answer = project.provio(
        "rerun", "near.csv", "--tolerance", "1", "--as", "json", "--in", str(tmp_path / "b"), code=1
    )
    files = {Path(one["path"]).name: one for one in json.loads(answer.stdout)["files"]}
    assert (files["far.json"]["verdict"], files["far.json"]["largest"]) == ("within tolerance", 0.25)
    by_name = ["--tolerance", "1", "--tolerance", "near.csv:y=1e-12", "--tolerance", "*.json:x=0.2"]
    lines, _ = rerun(project, "last", *by_name, "--in", str(tmp_path / "d"), code=1)
    assert [line.split("  ")[0] for line in lines[:4]] == ["differs"] * 4
    (project.path / "near.csv").write_text("overwritten\n")
    lines, _ = rerun(project, "last", "--tolerance", "1", "--in", str(tmp_path / "c"), code=1)
    assert "differs           near.csv  (the recorded file has changed since, so its numbers are not compared)" in lines


def test_other_names_of_the_project(project: Project, tmp_path: Path) -> None:
    """Links and paths that lead to the project from outside lead to the new folder: the project is not changed."""
    alias = tmp_path / "alias"
    alias.symlink_to(project.path)
    name = project.path.name
    project.sh(f"echo 3 > in; ln -s ../{name}/in one; ln -s {alias}/in two")
    script = f"cat one two > a; echo 4 > {alias}/b; cat in > ../{name}/c"
    record(project, f": sh -c '{script}'")
    kept = {path.name: path.stat() for path in project.path.iterdir() if path.name != ".provio"}
    lines, _ = rerun(project, "last", "--in", str(tmp_path / "again"))
    assert lines == [*(f"identical     {one}" for one in "abc"), f"1 command, 3 identical: {tmp_path / 'again'}"]
    assert kept == {path.name: path.stat() for path in project.path.iterdir() if path.name != ".provio"}
    assert {(tmp_path / "again" / link).resolve() for link in ("one", "two")} == {tmp_path / "again/in"}


@pytest.mark.parametrize(
    ("text", "folder", "found"),
    [
        ("{root}/x", "", {}),
        ("../x", "sub", {}),
        ("/usr/bin/cp", "", {}),
        ("../other/x", "", {}),
        ("--out={above}/alias/x,../project", "", {"{above}/alias": "", "../project": ""}),
        ("../../alias/sub/x", "sub", {"../../alias": ""}),
        ("../deep/x", "", {"../deep": "sub"}),
    ],
)
def test_aliases(tmp_path: Path, text: str, folder: str, found: dict[str, str]) -> None:
    """The paths that lead into a project by another name than its own, up to the place where they are in it."""
    root = tmp_path / "project"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "alias").symlink_to(root)
    (tmp_path / "deep").symlink_to(root / "sub")
    above = str(tmp_path)
    expected = {name.format(above=above): str(root / real) for name, real in found.items()}
    assert aliases([text.format(root=root, above=above)], str(root / folder), str(root)) == expected


def test_two_reruns_into_one_folder(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If both found the folder empty, the second one fails before it starts a command."""
    project.sh("echo 3 > in")
    project.hashed("cp", "in", "out")
    (tmp_path / "again/.provio").mkdir(parents=True)
    monkeypatch.setattr(execute, "check_folder", lambda *_: None)
    monkeypatch.chdir(project.path)
    with provio.open() as store, pytest.raises(provio.ProvioError, match=r"cannot be made .File exists"):
        store.rerun("out", folder=tmp_path / "again")


def test_hard_links_and_links_to_the_outside(project: Project, tmp_path: Path) -> None:
    """A file is copied to each of its names; a symbolic link to an input outside the project is made again."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/in").write_text("1\n")
    project.sh("mkdir sub; echo 2 > sub/in; ln sub/in hard; ln -s hard soft; ln -s ../elsewhere data")
    record(project, ": sh -c 'cat hard sub/in soft data/in > out'")
    lines, _ = rerun(project, "out", "--in", str(tmp_path / "a/b"))
    assert lines == ["identical     out", f"1 command, 1 identical: {tmp_path / 'a/b'}"]
    assert os.readlink(tmp_path / "a/b/data") == f"{tmp_path}/elsewhere"
