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


def test_files_that_are_written_twice(project: Project, tmp_path: Path) -> None:
    """Commands that write a file again are one rule; a command that changes its input cannot be one."""
    project.sh("echo 2 > in; echo 1 >> in; mkdir new")
    record(project, ": cp in new/x; : sort new/x -o new/x; : cp new/x y")
    (tmp_path / "in").write_text("2\n1\n")
    project.provio("export", "y", "--as", "make", "-o", str(tmp_path / "Makefile"))
    subprocess.run(["make", "-j2"], cwd=tmp_path, check=True, timeout=120)
    assert (tmp_path / "y").read_text() == "1\n2\n"
    assert "y : new/x\n" in (tmp_path / "Makefile").read_text()
    record(project, ": sort in -o in")
    for form in ("make", "snakemake", "dvc"):
        refused = project.provio("export", "in", "--as", form, code=1).stderr
        assert f"{form} cannot express a command that changes its input in in place: use --as script" in refused


def test_names_that_are_not_utf8(project: Project) -> None:
    """The script has them as they are; the others are texts in UTF-8."""
    project.sh("echo 1 > in")
    project.watch("cp", "in", b"caf\xe9")
    done = project.provio("export", "last", "--as", "script", encoding=None)
    assert b"caf\xe9" in done.stdout  # type: ignore[operator]
    for form in ("make", "snakemake", "dvc"):
        assert "cannot express" in project.provio("export", "last", "--as", form, code=1).stderr
