"""`examples/hybrid`: two equal runs have no difference; of one planted difference `provio diff --first` names the cause
and all files that it reached, from the simulation to the model."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Project, new_project
from dask_environments import python_with_dask
from doc_pages import MPI

pytestmark = pytest.mark.slow
EXAMPLE = ROOT / "examples" / "hybrid"
Change = tuple[str, str, str]  # a file, a text in it, the text in its place


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Iterator[Project]:
    """A project with the runs `a` and `same`, of the unchanged example. Packages and metadata are recorded, too."""
    pytest.importorskip("torch")
    for program in ("h5pcc", "mpirun"):
        if shutil.which(program) is None:
            pytest.skip(f"not installed: {program} (make test installs it where it may)")
    project = new_project(tmp_path_factory.mktemp("hybrid"))
    project.env.update(MPI, DASK_PYTHON=python_with_dask())
    for name in ("HASH", "RECORD_METADATA", "RECORD_PACKAGES"):
        del project.env[f"PROVIO_{name}"]
    for name in ("a", "same"):
        record(project, name)
    yield project


def record(project: Project, name: str, *changes: Change, **variables: str) -> None:
    """Run the example with some changes in a folder of its own, and wait for the hashes."""
    folder = project.path / name
    folder.mkdir()
    for path in EXAMPLE.iterdir():
        if path.suffix != ".md":
            shutil.copy(path, folder)
    for file, old, new in changes:
        text = (folder / file).read_text()
        assert text.count(old) == 1
        (folder / file).write_text(text.replace(old, new))
    env = {**project.env, **variables}
    subprocess.run(["make", "-s"], cwd=folder, env=env, check=True, timeout=120)
    Project(folder, env).provio("run", "--quiet", "--name", name, "--", "./job.sh", timeout=300)
    project.provio("merge", "--quiet")


def rows(project: Project, other: str) -> set[tuple[str, str]]:
    """Return the kinds and keys of the unexpected differences of `a` and another run."""
    found = json.loads(project.provio("diff", "a", other, "--as", "json", code=None).stdout)
    return {(row["kind"], row["key"]) for row in found if not row["expected"]}


def first(project: Project, other: str) -> list[dict[str, Any]]:
    """Return the first divergences of `a` and another run."""
    found: list[dict[str, Any]] = json.loads(
        project.provio("diff", "a", other, "--first", "--as", "json", code=None).stdout
    )
    return found


def test_equal_runs_have_no_difference(base: Project) -> None:
    """Ports, process ids, keys of Dask, folders of its workers, the order of tasks and of the ranks' writes differ."""
    assert rows(base, "same") == set()
    assert first(base, "same") == []
    assert base.provio("diff", "a", "same").returncode == 0


RESULTS = [{"heat.h5"}, {"features.h5"}, {"metrics.json", "model.pt"}]  # of the three stages
PLANTED: dict[str, tuple[Change, str, set[str], int]] = {
    "a physical parameter": (("heat.cfg", "0.2", "0.21"), "heat.cfg", {"heat.cfg"}, 0),
    "a seed": (("job.sh", "--seed 1", "--seed 2"), "train.py", {"--seed", "seed"}, 2),
    "the parts of a sum": (("job.sh", "--parts 4", "--parts 6"), "reduce.py", {"--parts", "parts"}, 1),
    "fewer parts": (("job.sh", "--parts 4", "--parts 3"), "reduce.py", {"--parts", "parts"}, 1),
    "a line of a script": (("reduce.py", "band * band", "band * band * 1.01"), "reduce.py", {"reduce.py"}, 1),
    "a line of the simulation": (("simulate.c", "(around - 4", "(around - 4.001f"), "simulate", {"simulate"}, 0),
}


@pytest.mark.parametrize("name", PLANTED)
def test_it_is_named_with_its_cause_and_its_reach(base: Project, name: str) -> None:
    change, place, causes, stage = PLANTED[name]
    run = name.replace(" ", "-")
    record(base, run, change)
    (found,) = first(base, run)
    assert (found["activity"] or found["input"]) == place
    assert {cause["key"] for cause in found["causes"] if cause["kind"] != "graph"} == causes
    changed = set().union(*RESULTS[stage:])
    assert {*found["results"], *found["reachedFiles"]} == changed
    assert {key for kind, key in rows(base, run) if kind == "results"} == changed


def test_another_number_of_workers_changes_no_result(base: Project) -> None:
    record(base, "workers", ("job.sh", "--workers 2", "--workers 3"))
    found = rows(base, "workers")
    assert {("parameters", "--workers"), ("parameters", "workers"), ("code", "job.sh")} <= found
    assert {kind for kind, _ in found} == {"code", "parameters", "graph"}
    assert first(base, "workers") == []


def test_another_number_of_ranks(base: Project) -> None:
    """It changes the rounding of one dataset, which no other stage reads."""
    record(base, "ranks", ("job.sh", "-n 2", "-n 3"))
    (found,) = first(base, "ranks")
    assert (found["activity"], found["results"], found["reachedFiles"]) == ("simulate", ["heat.h5"], [])
    assert ("parameters", "-n", "2", "3") in {
        tuple(cause[key] for key in ("kind", "key", "first", "second")) for cause in found["causes"]
    }


def test_a_variable(base: Project) -> None:
    record(base, "threads", OMP_NUM_THREADS="3")
    assert rows(base, "threads") == {("environment", "OMP_NUM_THREADS")}
