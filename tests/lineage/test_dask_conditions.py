"""Priority, restrictions, retries and annotations of tasks of Dask, as the scheduler itself states them; the place in
the program that submitted a graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Project, assert_valid, new_project
from dask_environments import VERSIONS, python_with_dask
from workers import made_once

from provio.trace import events
from provio.trace.events import Dependencies, Restrictions
from provio.trace.read import read_head

pytestmark = pytest.mark.slow
PROGRAM = ROOT / "tests" / "programs" / "dask_conditions.py"
LISTS = ("workers", "hosts")
MOST = 10  # workers that are listed


@pytest.fixture(scope="module", params=VERSIONS)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    python = python_with_dask(request.param)

    def record(folder: Path) -> None:
        project = new_project(folder)
        project.watch(python, PROGRAM, ".")
        assert_valid(project.path / ".provio")

    return new_project(made_once(tmp_path_factory, f"dask-conditions-{request.param}", record))


@pytest.fixture
def oracle(recorded: Project) -> dict[str, Any]:
    return json.loads((recorded.path / "oracle.json").read_text())  # type: ignore[no-any-return]


def stated(project: Project) -> list[events.Event]:
    """Return the events of the scheduler of the project's run, which are not damaged."""
    folder = max((project.path / ".provio" / "runs").iterdir())
    damages: list[Any] = []
    found = events.read(folder, read_head(folder), damages)
    assert damages == []
    return [event for file in found if file.part == "scheduler" for event in file.events]


def test_priorities_are_those_of_the_scheduler(recorded: Project, oracle: dict[str, Any]) -> None:
    """Of each task that the scheduler knew at the end: of the user, the generation (also within a task), the order."""
    found = {one.key: one.priority for one in stated(recorded) if isinstance(one, Dependencies)}
    assert len(oracle) >= 18
    assert found["urgent"] == (-5.5, 1, 0)
    assert {key: found[key] for key in oracle} == {key: tuple(facts["priority"]) for key, facts in oracle.items()}


def test_restrictions_are_those_of_the_scheduler(recorded: Project, oracle: dict[str, Any]) -> None:
    """Tasks without restrictions have no row; a long list is cut, and its length stated."""
    found = {one.key: json.loads(one.text) for one in stated(recorded) if isinstance(one, Restrictions)}
    given = {key for key, facts in oracle.items() if any(facts[name] for name in facts if name != "priority")}
    assert set(found) - {"annotated"} == given - {"annotated"} == {"worker", "host", "gpu", "('many', 0)"}
    for key in given:
        expected, row = oracle[key], found[key]
        for name in LISTS:
            assert row.get(name, []) == expected[name][:MOST]
            assert row.get(f"other_{name}", 0) == max(0, len(expected[name]) - MOST)
        assert row.get("resources", {}) == expected["resources"]
        assert row.get("allow_other_workers", False) == expected["allow_other_workers"]
        assert row.get("retries", 0) == expected["retries"]
    assert found["annotated"]["annotations"] == {
        "team": "ice", "password": "REDACTED", "url": {"type": "str", "size": 20},
    }  # fmt: skip


def test_they_are_shown(recorded: Project) -> None:
    text = recorded.answer("show", "--task", "gpu")
    assert "priority (0, 1, 0)\n" in text
    assert 'limits   resources: {"GPU": 1}\nlimits   retries: 2\n' in text
    assert "priority (-5.5, 1, 0)\n" in recorded.answer("show", "--task", "urgent")


def test_they_are_listed(recorded: Project) -> None:
    rows = {row["name"]: row for row in json.loads(recorded.answer("tasks", "--as", "json"))}
    assert rows["urgent"]["priority"] == "(-5.5, 1, 0)"
    assert json.loads(rows["gpu"]["restrictions"]) == {"resources": {"GPU": 1}, "retries": 2}
    assert rows["plain"]["restrictions"] is None


def test_secrets_of_annotations_are_not_recorded(recorded: Project) -> None:
    for path in (recorded.path / ".provio").rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        assert not any(secret in data for secret in (b"hunter2secret", b"zebra91")), path


def test_the_place_that_submitted_a_graph(recorded: Project) -> None:
    """Of futures, `compute`, `map`, and within a task."""
    lines = PROGRAM.read_text().splitlines()
    expected = {
        "plain": 'key="plain"',
        "after": "client.compute",
        "annotated": "client.compute",
        "inner": 'key="inner"',
    }
    for key, text in expected.items():
        (number,) = (number for number, line in enumerate(lines, 1) if text in line)
        shown = recorded.answer("show", "--task", key)
        assert f":{number}, in {'outer' if key == 'inner' else 'main'}\n" in shown
        assert key == "inner" or f"code     submitted at {PROGRAM}:{number}, in main\n" in shown
    keys = [row["name"] for row in json.loads(recorded.answer("tasks", "--as", "json"))]
    (number,) = (number for number, line in enumerate(lines, 1) if "client.map" in line)
    mapped = next(key for key in keys if key.startswith("map"))
    assert f"code     submitted at {PROGRAM}:{number}, in main\n" in recorded.answer("show", "--task", mapped)
