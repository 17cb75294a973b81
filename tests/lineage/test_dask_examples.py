"""The workflows of `examples/dask`: each product comes exactly from its inputs, and the record knows their tasks."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from browsers import Browser
from conftest import ROOT, Project, assert_valid, new_project
from dask_environments import python_with_dask
from workers import made_once

pytestmark = pytest.mark.slow
EXAMPLES = ROOT / "examples" / "dask"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The three workflows, each a run with its name."""
    python = python_with_dask()

    def record(folder: Path) -> None:
        project = new_project(folder)
        project.provio("run", "--quiet", "--name", "data", "--", python, str(EXAMPLES / "make_data.py"))
        for name in ("images", "predict", "boosting"):
            project.provio("run", "--quiet", "--name", name, "--", python, str(EXAMPLES / f"{name}.py"))
        assert_valid(project.path / ".provio")

    return new_project(made_once(tmp_path_factory, "dask-examples", record))


def inputs(project: Project, product: str) -> set[str]:
    """Return the files that a product comes from, with default options, without the reasons of the kind `control`."""
    document = project.lineage(product)
    assert document["gaps"] == []
    found = project.files(document)
    return found["data"] | found["carried"]


@pytest.mark.parametrize("number", ["00", "03", "05"])
def test_each_image_comes_from_one_image(recorded: Project, number: str) -> None:
    steps = ("images", "normal", "grey", "smooth")
    assert inputs(recorded, f"segments/{number}.npy") == {f"{step}/{number}.npy" for step in steps}


def test_labels_come_from_their_photos_and_the_model(recorded: Project) -> None:
    for batch in range(4):
        photos = {f"photos/{number:02}.npy" for number in range(10 * batch, 10 * batch + 10)}
        assert inputs(recorded, f"labels/{batch}.csv") == photos | {"weights.npz"}


def test_the_held_out_file_is_no_input_of_the_model(recorded: Project) -> None:
    trained = {f"trips/{number}.parquet" for number in range(3)}
    assert inputs(recorded, "model.json") == trained
    assert inputs(recorded, "predictions.csv") == trained | {"trips/3.parquet"}


def test_forward_lineage(recorded: Project) -> None:
    assert recorded.descendants("photos/14.npy")["data"] == {"labels/1.csv"}
    assert recorded.descendants("images/03.npy")["data"] == {
        f"{step}/03.npy" for step in ("normal", "grey", "smooth", "segments")
    }


@pytest.mark.parametrize(
    ("run", "graphs", "prefixes"),
    [
        ("images", 4, {}),
        ("predict", 1, {"load": 40, "load_model": 1, "transform": 40, "predict": 40, "write": 4}),
        ("boosting", 35, {"total": 3, "start": 1, "residuals": 45, "boost": 15, "save": 1, "evaluate": 1}),
    ],
)
def test_tasks_and_graphs(recorded: Project, run: str, graphs: int, prefixes: dict[str, int]) -> None:
    """One graph for each step of the images, one for all photos, and two for each round."""
    rows = json.loads(recorded.answer("tasks", run, "--by", "prefix", "--as", "json"))
    counts = {row["prefix"]: row["tasks"] for row in rows}
    assert counts.items() >= prefixes.items()
    assert sum(row["failed"] for row in rows) == 0
    recorded.provio("export", run, "--as", "dask-mofka", "-o", f"tables-{run}")
    with (recorded.path / f"tables-{run}" / "graph.csv").open(newline="") as file:
        assert len([*csv.DictReader(file)]) == graphs


def test_steps_can_be_processes(recorded: Project) -> None:
    """Each worker is one activity, and the sources are the same; files between tasks of one worker are inside it."""
    for product in ("segments/00.npy", "labels/1.csv"):
        tasks, merged = (
            json.loads(recorded.answer("lineage", product, "--steps", steps, "--as", "json"))
            for steps in ("task", "process")
        )
        workers = {node["process"] for node in tasks["nodes"] if "task" in node}
        assert {node["iri"] for node in merged["nodes"] if node["type"] == "Process"} == workers
        assert not [node for node in merged["nodes"] if "task" in node]
        assert roots(merged) == roots(tasks)
    assert "(above)" in recorded.answer("lineage", "segments/00.npy", "segments/01.npy", "--steps", "process")


def roots(document: dict[str, Any]) -> set[str]:
    """Return the paths of the files that no activity of a lineage made."""
    made = {edge["subject"] for edge in document["edges"] if edge["predicate"].endswith("wasGeneratedBy")}
    return {node["path"] for node in document["nodes"] if node["type"] == "FileVersion" and node["iri"] not in made}


def test_messages_of_the_framework_are_counted(recorded: Project) -> None:
    """In one line; `--all` names each process that sent or received some: the client's, and two workers."""
    sent = json.loads(recorded.answer("lineage", "labels/1.csv", "--as", "json"))["messages"]
    assert {one["program"] for one in sent} == {"predict.py", "python"} and len(sent) == 3
    assert all(one["written"] > 0 < one["read"] and one["bytes"] > 1000 for one in sent)
    total = sum(one["written"] for one in sent)
    plain, every = (recorded.answer("lineage", "labels/1.csv", *more).splitlines() for more in ((), ("--all",)))
    assert plain[-1].startswith(f"{total} messages of the framework hidden, ")
    assert [line.split(":")[0] for line in every[-3:]] == ["framework"] * 3
    assert "(messages)" in recorded.answer("stats", "predict", "--by", "file")


def test_the_page_draws_all_tasks(recorded: Project, browser: Browser) -> None:
    """Those without files too; the tasks of a prefix are one fold."""
    recorded.provio("view", "predict", "-o", "predict.html")
    browser.open((recorded.path / "predict.html").read_text())
    items = {one["name"]: one["count"] for one in browser.ask("given.handle.items()")}
    expected = {"photos/": 40, "load": 40, "transform": 40, "predict": 40, "write": 4, "labels/": 4}
    assert items.items() >= expected.items(), items
    recorded.provio("view", "predict", "-o", "predict.html", "--steps", "process")
    browser.open((recorded.path / "predict.html").read_text())
    assert not {one["name"] for one in browser.ask("given.handle.items()")} & expected.keys()


def test_a_run_shows_the_number_of_tasks_of_each_prefix(recorded: Project) -> None:
    lines = recorded.answer("show", "predict").splitlines()
    shown = [line.split(maxsplit=1)[1] for line in lines if line.startswith("task ")]
    assert {"load  ok  ×40", "transform  ok  ×40", "write  ok  ×4"} <= {*shown}
    assert not [line for line in shown if "not ended" in line]
