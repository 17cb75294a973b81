"""What the system's programs answered to who started them is of the system, as its files are; nothing else is."""

from __future__ import annotations

import sys

import pytest
from conftest import Project

ANSWERS = {
    "x=$(uname -m); echo $x > x": [],
    "x=$(date); echo $x > x": [],  # as if the shell had looked at the clock
    "read v < a; x=$(/usr/bin/printf %s $v); echo $x > x": ["a"],  # what it was told by the shell the shell knows
    "x=$(ls); echo $x > x": [],  # names alone: a listing is no read
    "x=$(sh -c 'uname -m'); echo $x > x": [],
    "x=$(cat a); echo $x > x": ["Pipe", "a"],
    "x=$(cat < a); echo $x > x": ["Pipe", "a"],
    "x=$(cat /etc/hostname); echo $x > x": ["Pipe", "hostname"],  # named by the user
    "x=$(cat a | wc -l); echo $x > x": ["Pipe", "Pipe", "a"],
    "x=$(read v < a; /usr/bin/printf %s $v); echo $x > x": ["Pipe"],  # a fork had read it; by control, a
    "uname -m | cat > x": ["Pipe"],  # whoever reads it did not ask
    "echo $PWD | cat > x": ["Pipe"],
    "x=$(echo $PWD); echo $x > x": ["Pipe"],  # the shell's own fork: no program of the system
    "cp /usr/bin/uname own; x=$(./own -m); echo $x > x": ["Pipe"],
}


def shown(project: Project, target: str = "x", *options: str) -> list[str]:
    """The classes of what a target comes from, and the names of its files."""
    document = project.lineage(target, *options)
    nodes = [node for node in document["nodes"] if node["iri"] != document["target"] and "via" in node]
    return sorted(n["type"] if n["type"] == "Pipe" else n["label"] for n in nodes if n["type"] not in ("Phase", "Task"))


@pytest.mark.slow
def test_what_python_asks_uname_is_hidden_and_counted(project: Project) -> None:
    """`platform.processor()` starts `uname -p`, as h5py and numpy have it done: no pipe, no uname, unless all is asked
    for; the file that was read is the one source."""
    project.sh("echo 1 > a")
    (project.path / "asks.py").write_text(
        "import platform\nplatform.processor()\nopen('x', 'w').write(open('a').read())\n"
    )
    project.watch(sys.executable, "asks.py")
    assert shown(project) == ["a"] == shown(project, "x", "--via", "control") == shown(project, "x", "--roots")
    assert "Pipe" in shown(project, "x", "--all")
    assert "uname" not in project.provio("lineage", "x").stdout
    assert "uname" in project.provio("lineage", "x", "--all").stdout
    assert shown(project, "a", "--forward") == ["x"]


@pytest.mark.slow
def test_which_answers_are_the_system_s(project: Project) -> None:
    """Hidden is what a program of the system said to who started it, when it had read nothing but the system's."""
    for number, script in enumerate(ANSWERS):
        project.sh(f"mkdir {number}; echo 1 > {number}/a")
        project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", f"cd {number}; {script}")
    found = {script: shown(project, f"{number}/x") for number, script in enumerate(ANSWERS)}
    assert found == ANSWERS


@pytest.mark.slow
def test_no_ancestor_is_lost_with_an_answer(project: Project) -> None:
    """What the asker had read before it asked, and what it told the program, are its own; forward they lead on, too."""
    project.sh("echo 1 > a")
    project.run("read v < a; y=$(/usr/bin/printf %s $v); echo $y > x; z=$(uname -m); echo $z > z")
    assert project.data("x") == {"a"}
    assert project.ancestors("z")["carried"] == {"a"}
    assert {"x", "z"} <= set(shown(project, "a", "--forward", "--via", "carried"))


def test_who_gets_a_part_of_an_answer_is_told(project: Project) -> None:
    """What was not read to its end, or by two, is shown: another may have had of it."""
    (project.path / "two.sh").write_text("ls -l /usr/bin | { read x; cat > y; echo $x > x; }\n")
    project.watch("bash", "two.sh")
    assert shown(project, "y") == ["Pipe"]


@pytest.mark.slow
def test_a_program_that_is_asked_again_and_again_is_none(project: Project) -> None:
    """A program that is told by a pipe what to answer (bc) is no answer of the system's alone."""
    code = "import subprocess\nasked = subprocess.Popen(['cat'], stdin=-1, stdout=-1)\n"
    code += "open('x', 'wb').write(asked.communicate(open('a', 'rb').read())[0])\n"
    (project.path / "asks.py").write_text(code)
    project.sh("echo 1 > a")
    project.watch(sys.executable, "asks.py")
    assert "Pipe" in shown(project)
    assert project.data("x") == {"a"}
