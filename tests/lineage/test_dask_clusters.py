"""Several clusters of Dask in one run, and data that clients and tasks pass on without a graph, for each version."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT, Project, assert_valid, new_project
from dask_environments import NEWEST, VERSIONS, python_with_dask
from workers import made_once

pytestmark = pytest.mark.slow
PROGRAM = ROOT / "tests" / "programs" / "dask_clusters.py"


@pytest.fixture(scope="module", params=[*((version, "") for version in VERSIONS), (NEWEST, "--threads")])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two runs of a program with four clusters; with `--threads` all parts of these are in one process."""
    version, option = request.param
    python = python_with_dask(version)

    def record(folder: Path) -> None:
        project = new_project(folder)
        for name in ("in1", "in2", "in3", "in4", "none", "sent"):
            (project.path / f"{name}.txt").write_text(f"{name}\n")
        for _ in range(2):
            project.watch(python, PROGRAM, ".", *([option] if option else []))
        assert_valid(project.path / ".provio")

    return new_project(made_once(tmp_path_factory, f"dask-clusters-{version}{option}", record))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_same_key_in_several_clusters(recorded: Project, number: int) -> None:
    """Two clusters at once, and one that started later: each result is that of its own cluster, and of its run."""
    document = recorded.lineage(f"out{number}")
    assert recorded.files(document)["data"] == {f"in{number}.txt"}
    assert recorded.files(document)["carried"] == set()
    assert document["gaps"] == []
    last = max(path.name for path in (recorded.path / ".provio" / "runs").iterdir())
    tasks = [node for node in document["nodes"] if node["type"] == "Task"]
    assert len(tasks) == 2
    assert all(last in node["iri"] for node in tasks)


def test_the_attempts_of_a_key_are_those_of_its_cluster(recorded: Project) -> None:
    rows = json.loads(recorded.answer("tasks", "last", "--as", "json"))
    assert Counter(row["name"] for row in rows)["load-1"] == 3
    assert {row["attempt"] for row in rows} == {1}


def test_the_history_of_a_key_is_that_of_its_cluster(recorded: Project) -> None:
    rows = json.loads(recorded.answer("show", "--task", "load-1", "--as", "json"))
    assert [row["what"] for row in rows].count("dependent") == 1


def test_an_empty_result_is_no_data(recorded: Project) -> None:
    """A client that waited for a task without a result has no data from it."""
    assert "none.txt" not in recorded.ancestors("done")["data"]


def test_a_future_through_a_queue_is_followed(recorded: Project) -> None:
    document = recorded.lineage("future.out")
    assert recorded.files(document)["data"] == {"in4.txt"}
    assert document["gaps"] == []


def test_data_through_a_queue_have_a_gap(recorded: Project) -> None:
    document = recorded.lineage("data.out")
    assert [gap["reason"] for gap in document["gaps"]] == [
        "received data through the Queue 'data' of Dask: the inputs of these data are not known"
    ]
    assert recorded.lineage("flag.out")["gaps"] == []  # a truth value is no data
