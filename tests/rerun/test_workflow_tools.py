"""Exported workflows executed by their own tools: the same files as those of the recorded commands, by SHA-256."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Project, new_project
from program_environments import path_with
from snakemake_environments import VERSIONS, path_with_snakemake
from test_rerun_commands import record

pytestmark = [pytest.mark.integration, pytest.mark.slow]

INPUTS = ("data/in", "double.py", 'it\'s "x".txt', "a$b.txt", "my dir/sp ace", "x*?[1]é😀.txt")
PRODUCTS = (
    "out", "data/x", "data/y", "z", "o\"q'.txt", "c$d.txt", "my dir/r e s", "tab.txt", "new/deep/twice", "last one",
)  # fmt: skip


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Iterator[Project]:
    """Commands with redirections, in folders, with absolute names, odd names, braces and variables of shells, an exit
    code other than 0, and a file that two of them write."""
    project = new_project(tmp_path_factory.mktemp("odd"))
    for name in INPUTS:
        (project.path / name).parent.mkdir(exist_ok=True)
        (project.path / name).write_text(f"3\n{name}\n" if name != "data/in" else "3\n")
    (project.path / "double.py").write_text("import sys\nprint(open(sys.argv[1]).read() * 2)\n")
    record(project, ": python3 double.py data/in > out")
    loop = 'cat ../out > x\nfor n in $(cat in); do echo "${n}{a}"; done > y'
    record(project, f"cd data; : sh -c '{loop}'")
    record(project, f": sort {project.path}/data/x {project.path}/data/y -o {project.path}/z")
    record(project, """: cp "it's \\"x\\".txt" "o\\"q'.txt"; : cp 'a$b.txt' 'c$d.txt'""")
    record(project, "cd 'my dir'; : sort < 'sp ace' > 'r e s' 2>&1")
    record(project, r""": awk 'BEGIN { printf "a\tb\\n%s\n", "é${c}" > "tab.txt"; exit 3 }' || true""")
    project.sh("mkdir -p new/deep")
    record(project, ": cp 'x*?[1]é😀.txt' new/deep/twice; : sort z new/deep/twice -o new/deep/twice")
    record(project, ": cat new/deep/twice z tab.txt 'o\"q'\"'\"'.txt' 'c$d.txt' 'my dir/r e s' > 'last one'")
    yield project


def digests(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in PRODUCTS}


def exported(project: Project, folder: Path, form: str, name: str) -> None:
    """Write an export of the last product in a folder with the inputs alone."""
    for path in INPUTS:
        (folder / path).parent.mkdir(exist_ok=True)
        shutil.copy2(project.path / path, folder / path)
    project.provio("export", "last one", "--as", form, "-o", str(folder / name))


def execute(folder: Path, path: str, *command: str) -> str:
    env = {**os.environ, "PATH": path, "HOME": str(folder.parent), "DVC_NO_ANALYTICS": "1"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("version", VERSIONS)
def test_snakemake(odd: Project, tmp_path: Path, version: str) -> None:
    """Snakemake makes all files from the inputs, and has nothing to do afterwards."""
    path = path_with_snakemake(version)
    folder = tmp_path / "flow"
    folder.mkdir()
    exported(odd, folder, "snakemake", "Snakefile")
    execute(folder, path, "snakemake", "--cores", "2")
    assert digests(folder) == digests(odd.path)
    assert "Nothing to be done" in execute(folder, path, "snakemake", "--cores", "1")


def test_dvc(odd: Project, tmp_path: Path) -> None:
    """DVC makes all files from the inputs; then the pipeline is up to date."""
    path = path_with("dvc")
    folder = tmp_path / "flow"
    folder.mkdir()
    exported(odd, folder, "dvc", "dvc.yaml")
    execute(folder, path, "git", "init", "--quiet")
    execute(folder, path, "dvc", "init", "--quiet")
    execute(folder, path, "dvc", "repro")
    assert digests(folder) == digests(odd.path)
    assert "up to date" in execute(folder, path, "dvc", "status")
    assert "Running stage" not in execute(folder, path, "dvc", "repro", "--dry")


def test_script(odd: Project, tmp_path: Path) -> None:
    """The script can have all these names, too."""
    exported(odd, tmp_path, "script", "run.sh")
    execute(tmp_path, os.environ["PATH"], "sh", "run.sh")
    assert digests(tmp_path) == digests(odd.path)
