"""`provio tasks`: the Tasks of runs, with worker, times, I/O and attempts; groups by prefix and by worker."""

from __future__ import annotations

import json
import subprocess
from itertools import product
from typing import Any

import pytest
from conftest import Project
from dask_projects import ODD, VERSIONS, python, recorded

import provio
from provio.ask.key_prefix import group, prefix
from provio.base.errors import NothingKnown

pytestmark = pytest.mark.integration

SAVED = "save-0123456789abcdef0123456789abcdef"


@pytest.fixture(scope="session", params=VERSIONS)
def dask(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, shim: object) -> Project:
    return recorded(request.param, tmp_path_factory)


def tasks(project: Project, *options: str) -> list[dict[str, Any]]:
    """Return the rows of `provio tasks`."""
    rows: list[dict[str, Any]] = json.loads(project.answer("tasks", "--as", "json", *options))
    return rows


def test_each_task_is_listed(dask: Project) -> None:
    """With its kind, status, attempt, the bytes that it read and wrote, and its prefix; oldest first."""
    rows = tasks(dask)
    shown = {(one["name"], one["attempt"]): one for one in rows}
    columns = ("kind", "status", "bytes_read", "bytes_written", "prefix")
    assert {key: tuple(one[name] for name in columns) for key, one in shown.items()} == {
        ("('load-7', 0)", 1): ("dask", "ok", 6, 0, "load"),
        (SAVED, 1): ("dask", "ok", 0, 2, "save"),
        ("('big', 0)", 1): ("dask", "ok", 0, 0, "big"),
        (ODD, 1): ("dask", "ok", 0, 0, prefix(ODD)),
        ("second_time-1", 1): ("dask", "error", 0, 0, "second_time"),
        ("second_time-1", 2): ("dask", "ok", 0, 0, "second_time"),
        ("fail-1", 1): ("dask", "error", 0, 0, "fail"),
    }
    assert [one["start"] for one in rows] == sorted(one["start"] for one in rows)
    assert all(one["seconds"] >= 0 and one["worker"].startswith("tcp://") for one in rows)
    big, load, size = (shown[key, 1] for key in ("('big', 0)", "('load-7', 0)", ODD))
    assert big["worker"] == load["worker"] != size["worker"]
    assert big["bytes_result"] >= 100_000 and shown["fail-1", 1]["bytes_result"] is None


def test_options_select_and_sort(dask: Project) -> None:
    """The status, the kind, the column, the number of rows; a run by name, and none."""
    assert [one["name"] for one in tasks(dask, "--status", "failed")] == ["second_time-1", "fail-1"]
    assert len(tasks(dask, "last", "--status", "ok", "--kind", "dask")) == 5
    assert tasks(dask, "--status", "unfinished") == []
    assert [one["name"] for one in tasks(dask, "--sort", "bytes_result", "--limit", "1")] == ["('big', 0)"]
    assert "no task of the kind 'cell'" in dask.provio("tasks", "--kind", "cell", code=3).stderr
    assert "--sort median is no column without --by" in dask.provio("tasks", "--sort", "median", code=2).stderr


def test_groups_by_prefix(dask: Project) -> None:
    """Number, times, I/O, transferred bytes and failures of the tasks of a prefix, the longest time last."""
    rows = tasks(dask, "--by", "prefix")
    groups = {one["prefix"]: one for one in rows}
    figures = ("tasks", "bytes_read", "bytes_written", "files", "failed")
    assert {name: tuple(one[column] for column in figures) for name, one in groups.items()} == {
        "load": (1, 6, 0, 1, 0), "save": (1, 0, 2, 1, 0), "big": (1, 0, 0, 0, 0), prefix(ODD): (1, 0, 0, 0, 0),
        "second_time": (2, 0, 0, 0, 1), "fail": (1, 0, 0, 0, 1),
    }  # fmt: skip
    assert groups["big"]["bytes_transferred"] >= 100_000 and groups["load"]["bytes_transferred"] == 0
    assert all(one["percentile_5"] <= one["median"] <= one["percentile_95"] for one in rows)
    assert [one["seconds"] for one in rows] == sorted(one["seconds"] for one in rows)


def test_groups_by_worker(dask: Project) -> None:
    """The receiver of a transfer counts its bytes."""
    rows = tasks(dask, "--by", "worker")
    assert sorted((one["tasks"], one["failed"], one["bytes_transferred"] >= 100_000) for one in rows) == [
        (2, 1, True), (5, 1, False),
    ]  # fmt: skip
    assert {one["worker"] for one in rows} == {one["worker"] for one in tasks(dask)}


def test_tasks_in_python(dask: Project) -> None:
    """Dictionaries with the names of FlowCept; times in seconds since 1970."""
    store = provio.open(dask.path)
    found = {(one["task_id"], one["attempt"]): one for one in store.tasks()}
    assert [(one["name"], one["attempt"]) for one in tasks(dask)] == [*found]
    one = found["('load-7', 0)", 1]
    (run,) = (row.run for row in store.runs())
    names = ("activity_id", "workflow_id", "subtype", "status", "bytes_read")
    assert [one[name] for name in names] == ["load", run, "dask", "ok", 6]
    assert one["seconds"] == pytest.approx(one["ended_at"] - one["started_at"], abs=1e-5)
    assert [one["task_id"] for one in store.tasks("last", status="failed")] == ["second_time-1", "fail-1"]
    assert store.tasks(run, kind="cell") == []
    with pytest.raises(NothingKnown, match="no run has the campaign 'x'"):
        store.tasks(campaign="x")


def test_the_table_fits_80_columns(dask: Project) -> None:
    """A key on two lines stays on one, and neither status nor attempt is lost."""
    shown = dask.provio("tasks", env={**dask.env, "COLUMNS": "80"}).stdout
    assert "'big'\\n" in shown and "error" in shown
    assert len(shown.splitlines()) == 9


def test_all_kinds_are_listed(project: Project) -> None:
    """Parts of a program that it declares: the I/O and time of one include those of the parts inside it."""
    (project.path / "in.txt").write_text("12345")
    program = """
import provio
with provio.activity("outer"):
    with provio.activity("inner"):
        open("in.txt").read()
"""
    (project.path / "main.py").write_text(program)
    project.watch("python3", "main.py")
    rows = {one["name"]: one for one in tasks(project)}
    assert {name: (one["bytes_read"], one["status"], one["attempt"]) for name, one in rows.items()} == {
        "outer": (5, "ok", None), "inner": (5, "ok", None),
    }  # fmt: skip
    assert rows["outer"]["worker"].partition("@")[0].isdigit()
    project.run("true")
    assert len(tasks(project)) == 2  # the newest run with Tasks
    assert "no task is recorded in this run" in project.provio("tasks", "last", code=3).stderr


def test_a_record_without_tasks(project: Project) -> None:
    """Its error names the sources of tasks."""
    project.run("true")
    assert "no run with tasks is recorded: tasks of Dask" in project.provio("tasks", code=3).stderr


KEYS = [
    "x", "x-1", "x-1-2-3", "('x-2', 1)", "('x', 1)", "hello-world-1", "ae05086432ca935f6eba409a8ecd4896",
    "<module.submodule.myclass object at 0xdaf372>", "x-abcdefab", "_(x)", "", "-", "x-", "-x", "[x]", "1-x", "<>",
    "('a-b-c', 1, 2)", "load-22054bdf-7e62-43c8-a990-42979e65e093", "x--y", "é-x", "x-été-1", "x-²", ODD, "a b-c",
    "('getitem__get_categories-24266c1f', 63)", "read_parquet-operation-abc123", "x-ABCDEFAB", '["a-b", 1]', "_,y-z",
    '("a\'b-x", 0)', "<a b-c>", "('', 1)", "_", "()", "('_-x', 0)", "lambda-<x>", "\n-x", " -x", "<x", "< >", "a\x00-b",
]  # fmt: skip
PARTS = ["x", "_x", "abcdefab", "22054bdf", "('x", "', 0)", "", "12", "<m.C", "é", "ae05086432ca935f6eba409a8ecd4896"]


@pytest.mark.parametrize("version", VERSIONS)
def test_prefixes_are_those_of_dask(version: str) -> None:
    """For keys of every form, and all combinations of three parts; and so are groups."""
    keys = [*KEYS, *("-".join(parts) for parts in product(PARTS, repeat=3))]
    program = """import json, sys; from dask.utils import key_split; from distributed.utils import key_split_group
keys, grouped = json.load(sys.stdin), json.loads(sys.argv[1])
print(json.dumps([[*map(key_split, keys)], [*map(key_split_group, grouped)]]))"""
    grouped = [key for key in keys if key and not key.startswith("<")]  # Dask's function fails for some others
    done = subprocess.run(
        [python(version), "-c", program, json.dumps(grouped)],
        input=json.dumps(keys), capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    prefixes, groups = json.loads(done.stdout)
    assert [(key, prefix(key)) for key in keys] == [*zip(keys, prefixes, strict=True)]
    assert [(key, group(key)) for key in grouped] == [*zip(grouped, groups, strict=True)]
