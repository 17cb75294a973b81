"""Replies of system programs to the processes that started them are hidden like system files; nothing else is."""

from __future__ import annotations

import sys

import pytest
from conftest import Project

ANSWERS = {
    "x=$(uname -m); echo $x > x": [],
    "x=$(date); echo $x > x": [],  # as if the shell had read the clock
    "read v < a; x=$(/usr/bin/printf %s $v); echo $x > x": ["a"],  # its input came from the shell
    "x=$(ls); echo $x > x": [],  # only names: a listing is no read
    "x=$(sh -c 'uname -m'); echo $x > x": [],
    "x=$(cat a); echo $x > x": ["Pipe", "a"],
    "x=$(cat < a); echo $x > x": ["Pipe", "a"],
    "x=$(cat /etc/hostname); echo $x > x": ["Pipe", "hostname"],  # named by the user
    "x=$(cat a | wc -l); echo $x > x": ["Pipe", "Pipe", "a"],
    "x=$(read v < a; /usr/bin/printf %s $v); echo $x > x": ["Pipe"],  # a fork had read it; by control, a
    "uname -m | cat > x": ["Pipe"],  # another process than the starting one reads it
    "echo $PWD | cat > x": ["Pipe"],
    "x=$(echo $PWD); echo $x > x": ["Pipe"],  # the shell's own fork: no program of the system
    "cp /usr/bin/uname own; x=$(./own -m); echo $x > x": ["Pipe"],
}


def shown(project: Project, target: str = "x", *options: str) -> list[str]:
    """The classes of a target's origins, and the names of its files."""
    document = project.lineage(target, *options)
    nodes = [node for node in document["nodes"] if node["iri"] != document["target"] and "via" in node]
    return sorted(n["type"] if n["type"] == "Pipe" else n["label"] for n in nodes if n["type"] not in ("Phase", "Task"))


@pytest.mark.integration
def test_the_reply_of_uname_is_hidden_and_counted(project: Project) -> None:
    """`platform.processor()` starts `uname -p`, as h5py and numpy do: no pipe and no uname, except with `--all`; the
    file that was read is the only source."""
    project.sh("echo 1 > a")
    (project.path / "pipes.py").write_text(
        "import platform\nplatform.processor()\nopen('x', 'w').write(open('a').read())\n"
    )
    project.watch(sys.executable, "pipes.py")
    assert shown(project) == ["a"] == shown(project, "x", "--via", "control") == shown(project, "x", "--roots")
    assert "Pipe" in shown(project, "x", "--all")
    assert "uname" not in project.provio("lineage", "x").stdout
    assert "uname" in project.provio("lineage", "x", "--all").stdout
    assert shown(project, "a", "--forward") == ["x"]


@pytest.mark.integration
def test_which_answers_are_the_system_s(project: Project) -> None:
    """A reply of a system program to the process that started it is hidden, if the program had read only system
    files."""
    for number, script in enumerate(ANSWERS):
        project.sh(f"mkdir {number}; echo 1 > {number}/a")
        project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", f"cd {number}; {script}")
    found = {script: shown(project, f"{number}/x") for number, script in enumerate(ANSWERS)}
    assert found == ANSWERS


@pytest.mark.integration
def test_no_ancestor_is_lost_with_an_answer(project: Project) -> None:
    """Data that the requesting process had read before, and data that it sent to the program, are its own; impact also
    follows them."""
    project.sh("echo 1 > a")
    project.run("read v < a; y=$(/usr/bin/printf %s $v); echo $y > x; z=$(uname -m); echo $z > z")
    assert project.data("x") == {"a"}
    assert project.ancestors("z")["carried"] == {"a"}
    assert {"x", "z"} <= set(shown(project, "a", "--forward", "--via", "carried"))


def test_a_reply_read_by_two_is_shown(project: Project) -> None:
    """A reply that is not read to its end, or is read by two processes, is shown: another process may have got a
    part."""
    (project.path / "two.sh").write_text("ls -l /usr/bin | { read x; cat > y; echo $x > x; }\n")
    project.watch("bash", "two.sh")
    assert shown(project, "y") == ["Pipe"]


@pytest.mark.integration
def test_a_program_with_input_by_a_pipe_is_no_reply(project: Project) -> None:
    """A reply of a program that got its question by a pipe (bc) does not come only from the system."""
    code = "import subprocess\nchild = subprocess.Popen(['cat'], stdin=-1, stdout=-1)\n"
    code += "open('x', 'wb').write(child.communicate(open('a', 'rb').read())[0])\n"
    (project.path / "pipes.py").write_text(code)
    project.sh("echo 1 > a")
    project.watch(sys.executable, "pipes.py")
    assert "Pipe" in shown(project)
    assert project.data("x") == {"a"}
