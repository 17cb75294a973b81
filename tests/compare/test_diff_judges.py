"""Other tools find no difference of two runs that `provio diff` lacks: git, DVC and noWorkflow."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Project, new_project
from program_environments import path_with

pytestmark = pytest.mark.slow
JOB = """sort -n raw.txt > sorted.txt
python3 model.py
paste -d, sorted.txt sorted.txt > pairs.txt
wc -l < raw.txt > lines.txt
"""
MODEL = """import argparse, json
from pathlib import Path
parser = argparse.ArgumentParser(prog="model")
for name, value in json.loads(Path("params.json").read_text()).items():
    parser.add_argument(f"--{name}", type=type(value), default=value)
given = parser.parse_args()
loss, history = 1.0, []
for step in range(given.epochs):
    loss *= 1 - given.rate / (1 + given.seed)
    history.append(loss)
Path("out").mkdir(exist_ok=True)
Path("out/history.txt").write_text("\\n".join(map(repr, history)))
Path("metrics.json").write_text(json.dumps({"loss": loss, "steps": len(history), "constant": 7}))
"""
PARAMS = {"seed": 1, "rate": 0.1, "epochs": 5, "name": "small"}
FILES = {"job.sh": JOB, "model.py": MODEL, "params.json": json.dumps(PARAMS), "raw.txt": "3\n1\n2\n"}
CHANGES: dict[str, dict[str, str]] = {
    "same": {},
    "rate": {"params.json": json.dumps({**PARAMS, "rate": 0.2})},
    "several": {"params.json": json.dumps({**PARAMS, "epochs": 6, "name": "large"})},
    "seed": {"params.json": json.dumps({**PARAMS, "seed": 2})},
    "code": {"model.py": MODEL.replace("1 - ", "1.01 - ")},
    "script": {"job.sh": JOB.replace("-d,", "-d:")},
    "input": {"raw.txt": "3\n1\n4\n"},
    "output": {"job.sh": JOB + "cp lines.txt copy.txt\n"},
    "variable": {},
}
VARIABLES = {"variable": {"OMP_NUM_THREADS": "3"}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Iterator[Project]:
    """A project with a run in a folder of its own for each change, and the run `first` without one."""
    project = new_project(tmp_path_factory.mktemp("judges"))
    project.env.pop("OMP_NUM_THREADS", None)
    for name, changed in {"first": {}, **CHANGES}.items():
        folder = project.path / name
        folder.mkdir()
        for file, text in {**FILES, **changed}.items():
            (folder / file).write_text(text)
        env = {**project.env, **VARIABLES.get(name, {})}
        Project(folder, env).provio("run", "--hash", "--quiet", "--name", name, "--", "sh", "job.sh")
    project.provio("merge", "--quiet")
    yield project


def rows(project: Project, other: str, *more: str) -> list[dict[str, object]]:
    """Return the unexpected differences of `first` and another run."""
    found = json.loads(project.provio("diff", "first", other, "--as", "json", *more, code=None).stdout)
    return [row for row in found if not row["expected"]]


def judged(
    project: Project, *command: str, folder: str = ".", codes: tuple[int, ...] = (0,), path: str = "", **more: str
) -> str:
    """Return the output of another tool."""
    env = {**project.env, "PATH": path or os.environ["PATH"], **more}
    done = subprocess.run(
        command, cwd=project.path / folder, env=env, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode in codes, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", CHANGES)
def test_git_finds_the_same_files(runs: Project, name: str) -> None:
    """Each file that `git diff` finds is in a row, and each row about a file is found by git."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed (make test installs it where it may)")
    command = ("git", "diff", "--no-index", "--no-renames", "--name-status", "-z", "first", name)
    words = judged(runs, *command, codes=(0, 1)).split("\0")[:-1]
    theirs = {path.partition("/")[2] for path in words[1::2]}
    kinds = {"code", "inputs", "results", "files"}
    ours = {str(row["key"]) for row in rows(runs, name) if row["kind"] in kinds and row["configuration"] == "file"}
    assert ours == theirs
    assert bool(theirs) == (name not in ("same", "variable"))


@pytest.fixture(scope="module")
def dvc(runs: Project) -> str:
    """The search path with DVC; the folder `dvc` has a commit with the parameters and metrics of each run."""
    path = path_with("dvc")
    work = runs.path / "dvc"
    work.mkdir()
    for command in ("git init -q", "git config user.email a@b.c", "git config user.name a", "dvc init -q"):
        judged(runs, *command.split(), folder="dvc", path=path)
    (work / "dvc.yaml").write_text("params:\n- params.json\nmetrics:\n- metrics.json\n")
    for name in ("first", *CHANGES):
        for file in ("params.json", "metrics.json"):
            shutil.copy(runs.path / name / file, work)
        for command in ("git add -A", f"git commit -q --allow-empty -m {name}", f"git tag run-{name}"):
            judged(runs, *command.split(), folder="dvc")
    return path


@pytest.mark.parametrize("name", CHANGES)
def test_dvc_finds_no_more_parameters(runs: Project, dvc: str, name: str) -> None:
    """The program takes its parameters from the file of DVC; names and values are the same."""
    text = judged(runs, "dvc", "params", "diff", "--json", "run-first", f"run-{name}", folder="dvc", path=dvc)
    changes = json.loads(text).get("params.json", {})
    theirs = {(key, change["old"], change["new"]) for key, change in changes.items()}
    found = [row for row in rows(runs, name) if row["configuration"] == "model"]
    assert {(row["key"], row["first"], row["second"]) for row in found} == theirs
    assert bool(theirs) == (name in ("rate", "seed", "several"))


@pytest.mark.parametrize("name", CHANGES)
def test_dvc_finds_no_more_metrics(runs: Project, dvc: str, name: str) -> None:
    """The file with the metrics is in a row whenever DVC finds another value in it; with `--deep` each metric."""
    text = judged(runs, "dvc", "metrics", "diff", "--json", "run-first", f"run-{name}", folder="dvc", path=dvc)
    found = {row["key"] for row in rows(runs, name) if row["kind"] == "results"}
    assert found & {"metrics.json"} == json.loads(text).keys()
    theirs = {(key, one["old"], one["new"]) for key, one in json.loads(text).get("metrics.json", {}).items()}
    deep = [row for row in rows(runs, name, "--deep") if row["configuration"] == "metrics.json"]
    assert {(row["key"], row["first"], row["second"]) for row in deep} == theirs
    assert bool(json.loads(text)) == (name in ("rate", "seed", "several", "code"))


@pytest.fixture(scope="module")
def trials(runs: Project) -> tuple[str, dict[str, int]]:
    """The search path with noWorkflow, and the number of the trial of each run: the program that is in Python."""
    path = path_with("noworkflow")
    work = runs.path / "trials"
    work.mkdir()
    for name in ("first", *CHANGES):
        for file in ("metrics.json", "out/history.txt"):
            (work / file).unlink(missing_ok=True)
        for file in ("model.py", "params.json"):
            shutil.copy(runs.path / name / file, work)
        judged(runs, "now", "run", "model.py", folder="trials", path=path, **VARIABLES.get(name, {}))
    return path, {name: number for number, name in enumerate(CHANGES, 2)}


CONTENT = re.compile(r"Name: (\S+)\n(?: .*\n)*?    Content hash (?:before|after) changed", re.MULTILINE)
VARIABLE = re.compile(r"(OMP_\w+)(?:: | changed from )")


@pytest.mark.parametrize("name", CHANGES)
def test_noworkflow_finds_no_more(runs: Project, trials: tuple[str, dict[str, int]], name: str) -> None:
    """Files that the program read or wrote with other content, and variables of OpenMP."""
    path, numbers = trials
    text = judged(runs, "now", "diff", "1", str(numbers[name]), "-f", "-e", folder="trials", path=path)
    assert "0 file accesses added" in text and "0 file accesses removed" in text
    theirs = {*CONTENT.findall(text), *VARIABLE.findall(text)}
    assert theirs <= {row["key"] for row in rows(runs, name)}
    expected = {"rate": 3, "seed": 3, "several": 3, "code": 2, "variable": 1}
    assert len(theirs) == expected.get(name, 0), text
