"""`provio export --as ro-crate`: crates of real runs are complete, and valid for the validator and the library of the
RO-Crate community."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Project, assert_valid, new_project
from crate_judge import OF_A_FILE, PROFILES, findings
from program_environments import path_with
from rocrate.rocrate import ROCrate
from synthetic_records import STORIES

from provio.exchange import crate_root
from provio.exchange.description import Description
from provio.exchange.formats import ro_crate
from provio.exchange.subject import Subject
from provio.merge.runs import merge
from provio.settings.home import Home
from provio.store import open_reader

pytestmark = pytest.mark.integration
STATED = Description(
    title="Sorted letters",
    description="An example.",
    licence="https://creativecommons.org/licenses/by/4.0/",
    creators=(("Ada Lovelace", "0000-0002-1825-0097"), ("Grace Hopper", "")),
    affiliation=("An institute", "https://institute.example"),
    publisher=("A publisher", "https://publisher.example"),
    funding=("Grant 7",),
    identifiers=("https://doi.org/10.5281/zenodo.1",),
)
JOB = """#!/bin/sh
sort in.txt > sorted.txt
cat sorted.txt caf*.txt | gzip -n > out.gz
ls nothing 2> /dev/null
exit 0
"""
NOT_UTF_8 = "caf%E9.txt is not available"  # the validator decodes each name as UTF-8
NOT_STATED = ("publisher", "affiliation")  # facts that only the owner of a project knows


@pytest.fixture(scope="module")
def sorting(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Iterator[Project]:
    """A project with a run of a script: a pipe, a program that fails, a name that is not UTF-8, hashes."""
    project = new_project(tmp_path_factory.mktemp("sorting"))
    project.sh("printf 'b\\na\\n' > in.txt; printf '3\\n' > $'caf\\351.txt'")
    (project.path / "job.sh").write_text(JOB)
    project.hashed("sh", "job.sh")
    yield project
    assert_valid(project.path / ".provio")


def entities(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the entities of a crate by id; each id is there once."""
    graph = json.loads((folder / "ro-crate-metadata.json").read_text(encoding="utf-8"))["@graph"]
    assert len({one["@id"] for one in graph}) == len(graph)
    return {one["@id"]: one for one in graph}


def ids(value: Any) -> list[str]:
    """Return the ids of one or several references."""
    return [one["@id"] for one in (value if isinstance(value, list) else [value] if value else [])]


def of_type(folder: Path, kind: str) -> list[dict[str, Any]]:
    """Return the entities of a type."""
    return [one for one in entities(folder).values() if kind in one["@type"]]


def stated(project: Project, folder: Path, **options: Any) -> Path:
    """Write a crate of all runs of a project, with its description, and return its folder."""
    folder.mkdir()
    home = Home(project.path / ".provio")
    ro_crate.fill(Subject(open_reader(home), home, **options), folder, STATED)
    return folder


@pytest.mark.parametrize("number", range(3))
def test_it_is_valid(sorting: Project, tmp_path: Path, number: int) -> None:
    """The validator finds nothing in a crate whose owner described it, in its profile and in those that it includes."""
    profile = crate_root.PROFILES[number]
    crate = stated(sorting, tmp_path / "crate", profile=profile, with_data=True)
    for name in PROFILES[: number + 1]:
        assert findings(crate, name) == (OF_A_FILE if number else [])


@pytest.mark.parametrize("level", ["file", "folder"])
def test_calls_and_folders_are_valid(sorting: Project, tmp_path: Path, level: str) -> None:
    """The validator finds nothing in a crate with the I/O activities, of files or of folders; their bytes are those
    of the processes."""
    crate = stated(sorting, tmp_path / "crate", level=level, steps="io", with_data=True)
    assert findings(crate, PROFILES[2]) == OF_A_FILE
    known = entities(crate)
    actions = [one for one in known.values() if "isPartOf" in one]
    of = {"object": "bytesRead", "result": "bytesWritten"}
    for process in {one["isPartOf"]["@id"] for one in actions}:
        own = [one for one in actions if one["isPartOf"]["@id"] == process]
        for side, word in of.items():
            moved = [known[iri] for one in own if side in one for iri in ids(one.get("resourceUsage"))]
            total = [known[iri] for iri in ids(known[process]["resourceUsage"]) if iri.startswith(f"#{word}-")]
            assert sum(int(one["value"]) for one in moved) == sum(int(one["value"]) for one in total)
    files = [ids(one.get("object") or one.get("result")) for one in actions]
    assert ["data/in.txt" if level == "file" else "data/"] in files
    if level == "folder":
        size = sum(path.stat().st_size for path in (crate / "data").iterdir() if path.name != "job.sh")
        assert known["data/"]["description"] == f"data/: 4 recorded files, {size} bytes"


def test_a_crate_without_a_description(sorting: Project, tmp_path: Path) -> None:
    """Without a description, the validator misses only facts that were not stated; none is invented."""
    crate = tmp_path / "crate"
    sorting.provio("export", "last", "--as", "ro-crate", "-o", str(crate))
    found = [one for one in findings(crate, PROFILES[2]) if one not in OF_A_FILE and NOT_UTF_8 not in one]
    assert found and all(one.startswith("RECOMMENDED: ") and any(word in one for word in NOT_STATED) for one in found)
    root = entities(crate)["./"]
    assert ids(root["license"]) == ["#licence"] and "publisher" not in root


def test_the_actions(sorting: Project, tmp_path: Path) -> None:
    """Each process is an action with its program, inputs, results, times and end; so is the run, with its own."""
    crate = tmp_path / "crate"
    sorting.provio("export", "last", "--as", "ro-crate", "--with-data", "-o", str(crate))
    known = entities(crate)
    names = {key: one.get("name", key) for key, one in known.items()}
    actions = {
        one["name"]: (
            names[one["instrument"]["@id"]],
            sorted(names[iri] for iri in ids(one.get("object"))),
            sorted(names[iri] for iri in ids(one.get("result"))),
            one["actionStatus"].rpartition("/")[2],
            one.get("error"),
        )
        for one in known.values()
        if one["@type"] in ("CreateAction", "ActivateAction")
    }
    done, failed, cafe = "CompletedActionStatus", "FailedActionStatus", "caf%E9.txt"
    assert actions == {
        "sort in.txt": ("sort", ["in.txt"], ["sorted.txt"], done, None),
        "cat sorted.txt 'caf�.txt'": ("cat", [cafe, "sorted.txt"], ["a pipe"], done, None),
        "gzip -n": ("gzip", ["a pipe"], ["out.gz"], done, None),
        "ls nothing": ("ls", [], [], failed, "exit code 2"),
        "sh job.sh": ("sh job.sh", [cafe, "in.txt"], ["out.gz", "sorted.txt"], done, None),
    }
    for one in of_type(crate, "Action"):
        assert one["@type"] == "ControlAction" or one["startTime"] <= one["endTime"]
    assert sorted(ids(known["./"]["mentions"])) == sorted(
        key for key, one in known.items() if one["@type"] in ("CreateAction", "ActivateAction")
    )


def test_the_files(sorting: Project, tmp_path: Path) -> None:
    """With data, the crate has each file, with its size and hash; a name that is not UTF-8 is percent-encoded."""
    crate = tmp_path / "crate"
    sorting.provio("export", "last", "--as", "ro-crate", "--with-data", "-o", str(crate))
    copies = {path.name for path in (crate / "data").iterdir()}
    assert copies == {"in.txt", "sorted.txt", "out.gz", "caf%E9.txt", "job.sh"} - ({"job.sh"} - copies)
    for key in sorted(one for one in entities(crate) if one.startswith("data/")):
        one = entities(crate)[key]
        copy = crate / key.replace("%25", "%")
        assert one["contentSize"] == str(copy.stat().st_size)
        assert one["sha256"] == subprocess.check_output(["sha256sum", copy], timeout=60)[:64].decode()
    assert (crate / "data" / "caf%E9.txt").read_text() == "3\n"
    assert entities(crate)["data/out.gz"]["encodingFormat"] == "application/gzip"
    read = ROCrate(crate)
    assert read.mainEntity.id == "workflows/1.sh"
    assert {one.id for one in read.data_entities} == set(ids(entities(crate)["./"]["hasPart"]))


def test_a_file_that_changed(project: Project) -> None:
    """With data, a result that is missing and an input that changed are listed, and no folder is left; --anyway
    describes them without their content."""
    project.sh("echo 1 > a; echo 2 > b")
    project.run("cat a b > c; cat c > d; rm c")
    project.sh("echo 11 > a; rm d")
    done = project.provio("export", "last", "--as", "ro-crate", "--with-data", "-o", "crate", code=1)
    path = project.path
    assert done.stderr == (
        f"provio: no crate with data was written: {path}/a has changed since, {path}/d is missing: make them again, "
        "use --as ro-crate without --with-data, or add --anyway to describe them without their content\n"
    )
    assert not [one for one in os.listdir(path) if "crate" in one]
    project.provio("export", "last", "--as", "ro-crate", "--with-data", "--anyway", "-o", "crate")
    assert [one.name for one in (path / "crate" / "data").iterdir()] == ["b"]
    files = {one["name"]: one["description"] for one in of_type(path / "crate", "File") if one["@id"][0] == "#"}
    left = "this content is not in the crate, only its description"
    assert files == {
        "a": f"recorded as {path}/a; {left}; has changed since",
        "c": f"recorded as {path}/c; {left}",
        "d": f"recorded as {path}/d; {left}; is missing",
    }


def test_an_existing_folder(sorting: Project, tmp_path: Path) -> None:
    """The output is a new folder."""
    (tmp_path / "crate").mkdir()
    done = sorting.provio("export", "last", "--as", "ro-crate", "-o", str(tmp_path / "crate"), code=2)
    assert "exists: name a folder that does not exist yet" in done.stderr
    assert not list((tmp_path / "crate").iterdir())


def story(folder: Path, name: str) -> Project:
    """Return a project with the record of a story."""
    project = new_project(folder)
    home = Home(project.path / ".provio")
    home.path.mkdir(mode=0o700, exist_ok=True)
    STORIES[name](home)
    assert merge(home).damages == []
    return project


def test_a_record_with_gaps(tmp_path: Path) -> None:
    """A record with gaps is refused; with --anyway the gaps are stated. Runs with one command share a workflow."""
    project = story(tmp_path, "project")
    done = project.provio("export", "--as", "ro-crate", "-o", "crate", code=1)
    assert done.stderr == (
        "provio: no crate was written: the record has gaps (no space left on the trace's file system): run the command "
        "again so that all of it is recorded, or add --anyway to state the gaps in the crate\n"
    )
    project.provio("export", "--as", "ro-crate", "--anyway", "-o", "crate")
    crate = project.path / "crate"
    gap = "no space left on the trace's file system"
    root = entities(crate)["./"]
    assert (
        root["description"]
        == f"A record of 5 runs with 5 processes, made by provio. Not everything was observed: {gap}."
    )
    runs = {one["name"]: one for one in of_type(crate, "CreateAction") if "workflows/" in str(one["instrument"])}
    assert [one["name"] for one in of_type(crate, "ComputationalWorkflow")] == [
        "decimate",
        "correlate",
        "again",
        "./figure",
    ]
    assert runs["./figure"]["error"] == "signal 9" and gap in runs["./figure"]["description"]
    assert runs["again"]["error"] == "exit code 1"


def test_tasks_and_parameters(tmp_path: Path) -> None:
    """--steps task makes an action of each Task, with its parameters and metrics."""
    project = story(tmp_path, "training")
    project.provio("export", "sweep", "--as", "ro-crate", "--anyway", "--steps", "task", "-o", "crate")
    known = entities(project.path / "crate")
    fits = [one for one in known.values() if one.get("name") == "fit" and "Action" in one["@type"]]
    assert len(fits) == 2 and all(one["actionStatus"].endswith("CompletedActionStatus") for one in fits)
    settings = [{known[iri]["name"]: known[iri].get("value") for iri in ids(one["object"])} for one in fits]
    assert [(one["lr"], one["batch"], one["optimizer.name"]) for one in settings] == [
        ("0.1", "128", "adam"),
        ("0.01", "128", "adam"),
    ]
    assert {one["additionalType"] for one in known.values() if one["@type"] == "FormalParameter"} == {
        "Float",
        "Integer",
        "Text",
    }
    metrics = [
        [known[iri]["value"] for iri in ids(one["result"]) if known[iri]["@type"] == "PropertyValue"] for one in fits
    ]
    assert [sorted(one) for one in metrics] == [["0.25", "0.5", "0.5"], ["0.25", "0.5", "0.75"]]


@pytest.mark.parametrize("name", ["inside", "training", "notebook"])
def test_the_parts_of_files_and_of_programs(tmp_path: Path, name: str) -> None:
    """Objects in files, Tasks, parameters and metrics are valid, too; an id has at most one fragment."""
    project = story(tmp_path, name)
    options = ("--anyway", "--level", "dataset", "--steps", "task")
    project.provio("export", "--as", "ro-crate", *options, "-o", "crate")
    crate = project.path / "crate"
    found = [one for one in findings(crate, PROFILES[2]) if one not in OF_A_FILE]
    assert [one for one in found if not any(word in one for word in NOT_STATED)] == []
    assert [key for key in entities(crate) if key.count("#") > 1] == []
    parts = {one["name"] for one in of_type(crate, "CreativeWork") if "isPartOf" in one}
    assert bool(parts) == (name == "inside")


def test_the_lineage_of_a_file(project: Project) -> None:
    """The crate of a file has the actions of its lineage, and no others."""
    project.sh("echo 1 > a; echo 2 > x")
    project.run("cat a > b; cat x > y; cat b > c")
    project.provio("export", "c", "--as", "ro-crate", "--profile", "process", "-o", "crate")
    crate = project.path / "crate"
    actions = {one["name"] for one in of_type(crate, "Action")}
    assert {"cat a", "cat b"} <= actions and "cat x" not in actions
    assert {one["name"] for one in of_type(crate, "File")} == {"a", "b", "c", "README.md"}


def test_the_file_of_an_object_is_in_the_crate(project: Project) -> None:
    """Also if the lineage of a file is that of objects inside files; as RDF, the object's file has its name."""
    pytest.importorskip("h5py")
    project.watch("python3", "-c", "import h5py; h5py.File('in.h5', 'w')['x'] = [1.5]")
    project.watch("python3", "-c", "import h5py; open('out', 'w').write(str(h5py.File('in.h5')['x'][0]))")
    project.provio("export", "out", "--as", "ro-crate", "--with-data", "--level", "dataset", "-o", "crate")
    crate = project.path / "crate"
    assert {one.name for one in (crate / "data").iterdir()} == {"in.h5", "out"}
    assert {one["isPartOf"]["@id"] for one in of_type(crate, "CreativeWork") if "isPartOf" in one} == {"data/in.h5"}
    assert f'provio:path "{project.path}/in.h5"' in project.answer("export", "out", "--as", "ttl", "--level", "dataset")


def test_runcrate_reports_the_actions(sorting: Project, tmp_path: Path) -> None:
    """`runcrate report` lists the run and each process that made something, with its inputs and outputs."""
    crate = tmp_path / "crate"
    sorting.provio("export", "last", "--as", "ro-crate", "--with-data", "-o", str(crate))
    called = subprocess.run(
        ["runcrate", "report", str(crate)], capture_output=True, text=True, timeout=120, check=True,
        env={**os.environ, "PATH": path_with("runcrate")},
    )  # fmt: skip
    made = {key for key, one in entities(crate).items() if one["@type"] == "CreateAction"}
    assert set(re.findall(r"^action: (\S+)$", called.stdout, re.MULTILINE)) == made
    assert len(made) > 2
    for name in ("data/in.txt", "data/sorted.txt", "data/out.gz"):
        assert f"    {name}\n" in called.stdout
