"""Stale products: contents and programs that changed. Recorded runs in; the whole answers of `lineage --stale` out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Project

pytestmark = pytest.mark.integration
CURRENT = "nothing is stale: every file that it was made from is as it was"


def stale(project: Project, name: str, *options: str) -> list[str]:
    """Return the lines below the name of a file that are no facts of a process, and do not count."""
    lines = project.provio("lineage", name, "--stale", *options).stdout.splitlines()[1:]
    kept = [line for line in lines if not re.search(r" 20\d\d-| \$ |\d+ (system|control)", line)]
    return [re.sub(r"\d+ (s|min|h) ago", "AGO", line.lstrip("│├└─ ").removeprefix("! ")) for line in kept]


def test_programs_and_modules_are_reasons(project: Project) -> None:
    """Named as such; a compiled module stands for its source."""
    project.sh('echo \'x = 1\' > common.py; echo \'import common; open("o", "w").write("1")\' > make.py')
    for _ in range(2):  # the second time the compiled module is read
        project.watch("python3", "make.py")
    project.run("cat o > p")
    assert stale(project, "o") == stale(project, "p") == [CURRENT]
    project.sh("echo 'y = 22' >> common.py")
    assert stale(project, "o") == ["stale: common.py (a module) changed AGO"]
    assert stale(project, "p") == ["stale: o is stale", "o  1 B", "stale: common.py (a module) changed AGO"]
    project.sh("echo '# edited' >> make.py")
    assert stale(project, "o") == [
        "stale: common.py (a module) changed AGO", "stale: make.py (the program) changed AGO",
    ]  # fmt: skip


def test_content_decides(project: Project) -> None:
    """Neither other times, nor a step that made the same content once more, make a product stale."""
    project.sh("echo 1 > a; echo 'sort \"$@\"' > sort.sh")
    project.hashed("sh", "sort.sh", "a", "-o", "b")
    project.hashed("cp", "b", "c")
    project.sh("touch b")
    assert stale(project, "c") == [CURRENT]
    project.sh("echo '# edited' >> sort.sh")
    assert stale(project, "c") == ["stale: b is stale", "b  2 B", "stale: sort.sh (the program) changed AGO"]
    project.hashed("sh", "sort.sh", "a", "-o", "b")
    assert stale(project, "c") == [CURRENT]
    project.sh("echo 22 > a")
    old = "stale: sort.sh (the program) changed AGO"  # since it made the b that c was made from
    assert stale(project, "c") == ["stale: b is stale", "b  2 B", "stale: a changed AGO", old, "a  2 B"]


def test_a_file_that_was_not_hashed(project: Project) -> None:
    """Its other times prove nothing: the answer states that its content was not compared."""
    project.sh("echo 1 > a; echo 'hash = false' > provio.toml")
    project.run("sort a > b")
    project.sh("touch a")
    assert stale(project, "b") == ["stale: a (not compared by content) changed AGO", "a  2 B"]
    (one,) = project.lineage("b", "--stale")["stale"]
    assert (one["reason"], one["content"]) == ("changed", "unknown")


def test_limits(project: Project) -> None:
    """Nothing is stated of inputs that are absent, or that the options exclude."""
    project.sh("echo 1 > a; echo 2 > k")
    project.run("sort a > b")
    project.run("cat b k > c")
    project.sh("rm a")
    gone = "no recorded input has changed, but 1 input is gone (a)"
    assert stale(project, "c") == [gone]
    assert stale(project, "c", "--depth", "1") == [
        "no recorded input has changed, but the files beyond --depth 1 were not compared"
    ]
    assert project.lineage("c", "--stale")["limits"] == ["1 input is gone (a)"]


def test_a_file_of_a_command_that_failed(project: Project) -> None:
    """Each answer about it states the failure of the process, or else of the run; until the command succeeds."""
    project.sh("echo 1 > a")
    project.run("sort a > half; exit 3", code=3)
    project.run("cat half > b")
    failed = "made by a command that failed (exit 3)"
    lines = project.provio("lineage", "b").stdout.splitlines()
    assert [line.lstrip("│└─ ") for line in lines if "failed" in line] == [f"! {failed}"]
    assert stale(project, "half") == [failed, CURRENT]
    assert project.provio("why", "half").stdout.splitlines()[1] == f"! {failed}"
    assert project.provio("impact", "a").stdout.splitlines()[:3] == [
        "1  bash -c 'sort a > half; exit 3'", "     failed the last time (exit 3)", "     makes half",
    ]  # fmt: skip
    project.run("grep 2 a > none; sort a > half; true")
    assert "failed" not in project.provio("lineage", "none").stdout + project.provio("why", "half").stdout
