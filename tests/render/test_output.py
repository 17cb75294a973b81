"""The rows of verbs: the documented columns, of the documented types, in each form."""

from __future__ import annotations

import csv
import io
import json
import sys
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from conftest import Project, new_project
from synthetic_traces import Run

from provio.base.common_names import added, all_completed
from provio.cli import verbs
from provio.render.records import TABLES, page, render
from provio.settings.home import Home

# The call of each, and whether its JSON is the rows themselves.
ASKED = {
    "runs": (["runs"], True),
    "campaigns": (["runs", "--by", "campaign"], True),
    "find": (["find", "sort"], True),
    "note": (["note", "first"], True),
    "tasks": (["tasks"], True),
    "tasks --by prefix": (["tasks", "--by", "prefix"], True),
    "tasks --by worker": (["tasks", "--by", "worker"], True),
    "show": (["show", "last"], True),
    "lineage": (["lineage", "c"], False),
    "why": (["why", "c"], False),
    "impact": (["impact", "a"], False),
    "verify": (["verify", "last"], False),
    "declared": (["declared", "make"], False),
    "status": (["status"], False),
    "status --fair": (["status", "--fair"], True),
    "packages": (["packages"], True),
    "show --environment": (["show", "first", "--environment"], True),
    "validate": (["validate", "bad.ttl"], False),
    "doctor": (["doctor"], True),
    "config": (["config"], True),
    "query --list": (["query", "--list"], True),
    "params": (["params", "--all"], True),
    "metrics": (["metrics"], True),
    "best": (["best", "loss"], True),
    "checkpoint list": (["checkpoint", "list"], True),
    "checkpoint verify": (["checkpoint", "verify", "/data/model", "model.json"], True),
    "diff": (["diff", "told1", "told2"], True),
    "repro": (["repro", "twin1", "twin2"], False),
    "repro --only performance": (["repro", "twin1", "twin2", "--only", "performance"], True),
    "repro --only schedule": (["repro", "twin1", "twin2", "--only", "schedule"], True),
    "repro --only io": (["repro", "twin1", "twin2", "--only", "io"], True),
    "vocab": (["vocab"], True),
}
PRINTED = [name for name in TABLES if name != "files"]  # those are rows of the HTTP API alone
CODES = {"verify": 1, "declared": 1, "status": 1, "validate": 1, "doctor": None, "checkpoint verify": 1, "diff": 1}
CODES |= {name: 1 for name in ASKED if name.startswith("repro")}
# The SPARQL 1.1 result formats; columns that depend on the groupings (docs/statistics.md).
OTHER = {"query", "stats"}
PYTHON: dict[str, Any] = {"text": str, "integer": int, "number": int | float, "boolean": bool, "time": str}
PYTHON["value"] = str | int | float | list | dict


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Project:
    """Two runs, one of them with a name; the product of the second was changed since; two that differ in their I/O; two
    synthetic trainings; a document that is wrong."""
    project = new_project(tmp_path_factory.mktemp("output"))
    project.sh("echo '=1+1' > a")
    project.watch(sys.executable, "-c", "import provio\nwith provio.activity('fit'): open('a').read()")
    project.provio("run", "--quiet", "--name", "first", "--campaign", "c", "--", "sort", "a", "-o", "b")
    project.provio("note", "first", "one\ntwo\tthree")
    for name in ("twin1", "twin2"):
        project.sh(f"echo {name[4:]} >> twin")
        project.provio("run", "--quiet", "--name", name, "--", "sh", "-c", "cat twin > twin.out")
    (project.path / "Makefile").write_text("e: b\n\tcat a b > e\n")
    project.watch("make")
    project.watch("sh", "-c", "cat b > c; cat b > d")
    project.sh("echo more >> d")
    for number in (1, 2):
        run = Run(Home(project.path / ".provio"), number, name=f"told{number}")
        process = run.process("train.py")
        process.configure("args", lr=number / 2, size=number)
        process.metric("loss", 0.5, number)
        process.checkpoint("/data/model", number)
        run.write()
    (project.path / "model.json").write_text('{"lr": 7}')
    (project.path / "bad.ttl").write_text(
        "@prefix prov: <http://www.w3.org/ns/prov#> . <urn:a> a prov:Entity, prov:Activity ; prov:used <urn:e> ."
    )
    return project


def asked(project: Project, name: str, form: str) -> str:
    return project.provio(*ASKED[name][0], "--as", form, code=CODES.get(name, 0), encoding=None).stdout.decode()  # type: ignore[no-any-return]


@pytest.mark.integration
@pytest.mark.parametrize("name", PRINTED)
def test_the_columns_are_the_documented_ones(recorded: Project, name: str) -> None:
    """In CSV and TSV, by the same rows; numbers and times are such."""
    rows = list(csv.DictReader(io.StringIO(asked(recorded, name, "csv"), newline="")))
    lines = asked(recorded, name, "tsv").splitlines()
    names = TABLES[name].names
    names = [*names[:-1], "lr", "size"] if name == "params" else names  # a column for each parameter
    assert rows and [*rows[0]] == names == lines[0].split("\t")
    assert len(lines) == len(rows) + 1 and all(line.count("\t") == len(names) - 1 for line in lines)
    for column in TABLES[name].columns:
        for text in (row[column.name] for row in rows if row.get(column.name)):
            if column.kind in ("integer", "number"):
                float(text)
            elif column.kind == "time":
                assert datetime.fromisoformat(text).tzinfo is not None


@pytest.mark.parametrize("name", [name for name in PRINTED if ASKED[name][1]])
def test_json_is_a_list_of_rows(recorded: Project, name: str) -> None:
    """With all names in each, null where nothing is known, numbers as numbers."""
    rows = json.loads(asked(recorded, name, "json"))
    assert rows
    for row in rows:
        assert [*row] == TABLES[name].names + [common for _, common in added(tuple(TABLES[name].names), name)]
        for column in TABLES[name].columns:
            value = row[column.name]
            assert value is None or isinstance(value, PYTHON[column.kind])
            assert not isinstance(value, bool) or column.kind in ("boolean", "value")


@pytest.mark.parametrize("name", [name for name in PRINTED if not ASKED[name][1]])
def test_where_json_is_more_than_rows_the_page_says_so(recorded: Project, name: str) -> None:
    assert TABLES[name].document
    assert isinstance(json.loads(asked(recorded, name, "json")), dict)


def test_the_page_is_fresh() -> None:
    """docs/output.md is the output of `python -m provio.render.records`."""
    assert (Path(__file__).parent.parent.parent / "docs" / "output.md").read_text() == page()


def test_whoever_prints_a_table_prints_it_for_programs_too() -> None:
    """A verb that has `--as table` has json, csv and tsv; its columns are documented, and tested above."""
    for name in verbs.names():
        command = import_module(f"provio.cli.verbs.{name}").command
        options = [option for option in command.params if "--as" in option.opts]
        forms: set[Any] = {form for option in options for form in getattr(option.type, "choices", ())}
        if "table" in forms or "csv" in forms:
            assert {"json", "csv", "tsv"} <= forms, name
            assert name in TABLES.keys() | OTHER, name
    assert set(ASKED) == set(PRINTED)


def test_values_keep_their_place() -> None:
    """With any content: a formula, a line end, a tab, a quote, control characters; empty."""
    rows = [("=x", "a\tb\nc\\", -1), ('"q", r', "\x1b[31m\u202e", None)]
    assert render("show", rows, "tsv") == 'what\tvalue\tnumber\n=x\ta\\tb\\nc\\\\\t-1\n"q", r\t\\x1b[31m\\u202e\t\n'
    cells = list(csv.reader(io.StringIO(render("show", rows, "csv"), newline="")))
    assert cells[1:] == [["'=x", "a\tb\nc\\", "-1"], ['"q", r', "\\x1b[31m\\u202e", ""]]
    assert [tuple(row.values()) for row in json.loads(render("show", rows, "json"))] == rows
    assert render("show", [], "json") == "[]\n"


@pytest.mark.integration
def test_common_names_of_keys(project: Project) -> None:
    """The key of the first release and the common one have the same value; a key that a user chose is not repeated."""
    project.sh("echo a > a")
    project.watch("sh", "-c", "cat a > b; exit 3", code=3)

    def answer(*arguments: str) -> Any:
        return json.loads(project.provio(*arguments, "--as", "json", code=None).stdout)

    (run,) = answer("runs")
    assert run["bytes"] == run["size"] > 0
    assert run["state"] == run["end"] == "exit 3"
    nodes = [node for node in answer("lineage", "b")["nodes"] if "size" in node]
    assert [node["bytes"] for node in nodes] == [node["size"] for node in nodes] == [2, 2]
    made = answer("why", "b")
    assert made["bytes"] == made["size"] == made["read"][0]["bytes"] == 2
    row = answer("stats", "--by", "layer")[0]
    assert row["seconds"] == row["nanoseconds"] / 1e9
    assert all_completed({"iri": "x", "settings": {"size": 3}, "size": None}) == {
        "iri": "x", "settings": {"size": 3}, "size": None, "bytes": None,
    }  # fmt: skip
