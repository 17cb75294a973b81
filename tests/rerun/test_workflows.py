"""Recorded commands as workflows: a script and a Makefile make the same files in a folder that has only the inputs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Project, new_project
from test_rerun_commands import record

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def piped(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Iterator[Project]:
    """Three commands: a program, one of several lines with two products in a folder, one with absolute names."""
    project = new_project(tmp_path_factory.mktemp("flow"))
    project.sh("mkdir data; echo 3 > data/in; printf 'print(open(\"data/in\").read() * 2)\\n' > double.py")
    record(
        project,
        ": python3 double.py > out\ncd data; : sh -c 'cat ../out > x\nfor n in $(cat in); do echo $n; done > y'",
    )
    record(project, f": sort {project.path}/data/x {project.path}/data/y -o {project.path}/z")
    yield project


def started(project: Project, folder: Path, form: str, name: str, *command: str) -> str:
    """Execute an export in a folder with the inputs alone; return the products' contents."""
    (folder / "data").mkdir()
    for path in ("data/in", "double.py"):
        shutil.copy2(project.path / path, folder / path)
    project.provio("export", "z", "--as", form, "-o", str(folder / name))
    subprocess.run(command, cwd=folder, check=True, timeout=120)
    return "".join((folder / path).read_text() for path in ("out", "data/x", "data/y", "z"))


@pytest.mark.parametrize("command", [("script", "run.sh", "sh", "run.sh"), ("make", "Makefile", "make", "-j2")])
def test_the_same_files(piped: Project, tmp_path: Path, command: tuple[str, ...]) -> None:
    """The generated file makes all products again."""
    wanted = "".join((piped.path / path).read_text() for path in ("out", "data/x", "data/y", "z"))
    assert started(piped, tmp_path, *command) == wanted


def test_texts(piped: Project) -> None:
    """A Snakefile and a dvc.yaml have the same commands, inputs and products."""
    assert piped.answer("export", "z", "--as", "snakemake").split("rule command_3:\n")[1] == (
        "    input:\n        'data/x',\n        'data/y',\n    output:\n        'z',\n    shell:\n"
        '        \'root=$PWD; sort "$root"/data/x "$root"/data/y -o "$root"/z\'\n'
    )
    assert piped.answer("export", "z", "--as", "dvc").split("  command-3:\n")[1] == (
        '    cmd: "root=$PWD; sort \\"$root\\"/data/x \\"$root\\"/data/y -o \\"$root\\"/z"\n'
        '    deps:\n      - "data/x"\n      - "data/y"\n    outs:\n      - "z"\n'
    )


def test_names_that_a_format_cannot_express(project: Project) -> None:
    """They are refused with the format that can."""
    project.sh("echo 1 > in")
    record(project, ": cp in 'a b'")
    assert "make cannot express the name 'a b'" in project.provio("export", "last", "--as", "make", code=1).stderr
    assert "cp in 'a b'" in project.answer("export", "last", "--as", "script")
    assert "a workflow is of one run" in project.provio("export", "--as", "make", code=1).stderr
