"""Runs as an instance of WfCommons: its own library validates the meaning, loads it, and analyses it."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Project
from wfcommons.wfinstances import Instance

# Its schema is in no package, and no network is needed here: the library checks ids, references, levels and cycles.
SCHEMA = {"type": "object", "properties": {"schemaVersion": {"enum": ["1.6"]}}}


def exported(project: Project, *arguments: str) -> dict[str, Any]:
    """An instance, after its library has loaded it."""
    project.provio("export", *arguments, "--as", "wfformat", "-o", "instance.json")
    (project.path / "schema.json").write_text(json.dumps(SCHEMA))
    loaded = Instance(project.path / "instance.json", str(project.path / "schema.json"))
    found: dict[str, Any] = json.loads((project.path / "instance.json").read_bytes())
    tasks = found["workflow"]["specification"]["tasks"]
    assert sorted(loaded.workflow.nodes) == sorted(task["id"] for task in tasks)
    assert sorted(loaded.workflow.edges) == sorted((one, task["id"]) for task in tasks for one in task["parents"])
    return found


def test_tasks_files_and_dependencies(project: Project) -> None:
    """Parents are the makers of inputs, across runs; sizes are those of the files."""
    project.sh("printf 'b\\na\\nb\\n' > in")
    project.run("sort in > sorted; uniq sorted > unique; cat sorted unique > all")
    project.watch("cp", "all", "copy")
    project.watch("touch", "other")
    workflow = exported(project, "copy")["workflow"]
    tasks = {task["name"]: task for task in workflow["specification"]["tasks"]}
    names = {task["id"]: task["name"] for task in tasks.values()}
    parents = {name: {names[one] for one in task["parents"]} for name, task in tasks.items()}
    assert parents == {"sort": set(), "uniq": {"sort"}, "cat": {"sort", "uniq"}, "cp": {"cat"}}
    sizes = {one["id"].rpartition(".")[0]: one["sizeInBytes"] for one in workflow["specification"]["files"]}
    assert sizes == {"in": 6, "sorted": 6, "unique": 4, "all": 10, "copy": 10}
    execution = {names[one["id"]]: one for one in workflow["execution"]["tasks"]}
    assert execution["uniq"]["command"] == {"program": "uniq", "arguments": ["sorted"]}
    assert execution["uniq"]["readBytes"] == 6
    assert execution["uniq"]["memoryInBytes"] > 100_000
    assert workflow["execution"]["makespanInSeconds"] > 0


def test_hostile_names_have_valid_ids(project: Project) -> None:
    (project.path / "a b\n\udcff'ü").write_text("1")
    project.watch("sh", "-c", "cat a* > out")
    instance = exported(project)
    assert all(one["id"].isascii() for one in instance["workflow"]["specification"]["files"])


@pytest.mark.parametrize("kinds", ["path", "argv,host"])
def test_names_may_be_hidden(project: Project, kinds: str) -> None:
    project.sh("echo 1 > secret_name")
    project.watch("cp", "secret_name", "out")
    text = json.dumps(exported(project, "out", "--redact", kinds))
    hidden = {"path": str(project.path), "argv,host": '"secret_name"'}[kinds]
    assert hidden not in text


def test_calls_are_refused(project: Project) -> None:
    project.run("echo 1 > x")
    assert "no I/O activities" in project.provio("export", "--as", "wfformat", "--steps", "io", code=None).stderr


def test_a_record_without_files_is_refused(project: Project) -> None:
    project.watch("true")
    assert "no process with files" in project.provio("export", "--as", "wfformat", code=3).stderr
    assert not Path(project.path / "instance.json").exists()
