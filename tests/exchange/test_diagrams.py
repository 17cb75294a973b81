"""Diagrams: `--as dot` and `--as mermaid` of a run and of files."""

from __future__ import annotations

import re

import pytest
from conftest import Project


@pytest.mark.integration
def test_diagrams(project: Project) -> None:
    """Both forms have the same nodes and arrows; no name ends its label; hidden folders and arguments are absent."""
    project.sh("""echo 1 > 'a"]b;#.txt'""")
    project.watch("sort", "-o", "out", 'a"]b;#.txt')
    for names in (["last"], ["out"]):
        dot = project.provio("export", *names, "--as", "dot").stdout
        mermaid = project.provio("export", *names, "--as", "mermaid").stdout
        lines = mermaid.splitlines()
        assert lines[0] == "flowchart LR"
        assert '["a#34;#93;b#59;#35;.txt"]' in mermaid
        nodes = [line for line in lines[1:] if re.fullmatch(r'  n\d+(\[|\(\[|\{\{|>)"[^"]*"(\]|\]\)|\}\})', line)]
        arrows = [line for line in lines[1:] if re.fullmatch(r"  n\d+ (-->|-\. \w+ \.->) n\d+", line)]
        assert len(nodes) + len(arrows) == len(lines) - 1
        assert len(nodes) == dot.count("shape=")
        assert len(arrows) == dot.count(" -> ")
        assert len(arrows) >= 2
    hidden = project.provio("export", "last", "--as", "dot", "--redact", "path,argv").stdout
    assert str(project.path) not in hidden


def test_all_runs_are_refused(project: Project) -> None:
    """A diagram of all runs is refused, with a remedy."""
    project.run("echo 1 > x")
    assert "name a RUN, or files" in project.provio("export", "--as", "mermaid", code=None).stderr


def test_folders(project: Project) -> None:
    """A diagram of folders has a node for all files of a folder."""
    project.sh("mkdir raw sums; for i in 1 2 3; do echo $i > raw/$i; done")
    project.run("cat raw/* > sums/all")
    plain, folders = (project.answer("export", "last", "--as", "dot", "--level", level) for level in ("file", "folder"))
    assert folders.count("raw/") == 1
    assert plain.count("shape=") - folders.count("shape=") == 2
    mermaid = project.answer("export", "last", "--as", "mermaid", "--level", "folder", "--redact", "path")
    assert '["raw/"]' in mermaid
    assert str(project.path) not in mermaid
    done = project.provio("export", "last", "--as", "wfformat", "--level", "folder", code=2)
    assert "--as wfformat has no --level" in done.stderr


def test_processes_tasks_and_calls(project: Project) -> None:
    """A process replaces its phases and tasks; each I/O activity is between its phase and its file."""
    code = "import provio\nfor i in 'ab':\n with provio.activity(i): open(i, 'w').write(i)"
    project.watch("python3", "-c", code)
    found = {steps: project.answer("export", "last", "--as", "mermaid", "--steps", steps)
             for steps in ("process", "task", "io")}  # fmt: skip
    assert [found[steps].count('(["a"])') for steps in found] == [0, 1, 1]
    assert [found[steps].count('["write"]') for steps in found] == [0, 0, 2]
    assert found["process"].count('(["python3"])') == 1


def test_io_is_drawn_along_the_data(project: Project) -> None:
    """From a file through its read to the phase, and through the write to the result."""
    project.sh("echo 1 > in")
    project.watch("python3", "-c", "t = open('in').read(); open('out', 'w').write(t + t)")
    lines = project.answer("export", "last", "--as", "mermaid", "--steps", "io").splitlines()
    node = {label: name for line in lines for name, label in re.findall(r'^  (n\d+)[\[(]+"(.*)"', line)}
    for one, word, other in (("in", "wasReadBy", "read"), ("read", "partOf", "python3"),
                             ("python3", "partOf", "write"), ("write", "wasWrittenBy", "out")):  # fmt: skip
        assert f"  {node[one]} -. {word} .-> {node[other]}" in lines
