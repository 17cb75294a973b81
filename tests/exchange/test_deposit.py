"""`provio export --as deposit`: one folder with the files, their record, a page for people, and checksums."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable

import pyoxigraph as ox
import pytest
from conftest import Project, provio_command
from crate_judge import OF_A_FILE, findings

pytestmark = pytest.mark.integration


def test_a_deposit(project: Project) -> None:
    """The checksums are right, the graph is that of the run, the page names everything, and the crate lists it."""
    project.sh("echo 1 > 'two words.txt'; echo 2 > $'new\\nline'")
    project.watch("sh", "-c", "cat 'two words.txt' new* > out")
    project.provio("export", "last", "--as", "deposit", "-o", "deposit")
    folder = project.path / "deposit"
    files = {str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file()}
    data = {"data/two words.txt", "data/new%0Aline", "data/out"}
    own = {"ro-crate-metadata.json", "README.md", "SHA256SUMS", "graph/runs.trig", "workflows/1.sh"}
    assert files == data | own
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=folder, check=True, timeout=60)
    assert len((folder / "SHA256SUMS").read_text().splitlines()) == len(files) - 1
    graph = (folder / "graph" / "runs.trig").read_bytes()
    expected = project.answer("export", "last", "--as", "trig").encode()
    assert {*ox.parse(graph, ox.RdfFormat.TRIG)} == {*ox.parse(expected, ox.RdfFormat.TRIG)}
    page = (folder / "README.md").read_text()
    for line in (
        "    sh -c 'cat '\"'\"'two words.txt'\"'\"' new* > out'",
        "- end: exit code 0",
        "- inputs:\n  - `data/new%0Aline`\n  - `data/two words.txt`\n",
        "- results:\n  - `data/out`\n",
        "Licence: No licence is stated",
        "    sh workflows/1.sh",
    ):
        assert line in page
    document = json.loads((folder / "ro-crate-metadata.json").read_text())
    root = next(one for one in document["@graph"] if one["@id"] == "./")
    parts = {one["@id"].replace("%20", " ").replace("%250A", "%0A") for one in root["hasPart"]}
    assert parts == files - {"ro-crate-metadata.json"}
    found = [one for one in findings(folder, "provenance-run-crate") if one not in OF_A_FILE]
    assert [one for one in found if "publisher" not in one and "affiliation" not in one] == []


def test_the_script_makes_the_result_again(project: Project) -> None:
    """The script of a run has the command with its redirections."""
    project.sh("echo 1 > a")
    project.provio("run", "--quiet", "--", "sh", "-c", "cat a > b")
    project.provio("export", "last", "--as", "deposit", "-o", "deposit")
    project.sh("rm b; sh deposit/workflows/1.sh; diff b deposit/data/b")


def test_several_runs(project: Project) -> None:
    """A deposit of two runs has both commands and both graphs; a run and a file are refused."""
    project.sh("echo 1 > a")
    for name in ("first", "second", "third"):
        project.provio("run", "--quiet", "--name", name, "--", "cp", "a", name)
    project.provio("export", "first", "third", "--as", "deposit", "-o", "deposit")
    folder = project.path / "deposit"
    assert {one.name for one in (folder / "data").iterdir()} == {"a", "first", "third"}
    assert {one.name for one in (folder / "workflows").iterdir()} == {"1.sh", "2.sh"}
    known = {one.graph_name.value for one in ox.parse((folder / "graph" / "runs.trig").read_bytes(), ox.RdfFormat.TRIG)
             if isinstance(one.graph_name, ox.NamedNode)}  # fmt: skip
    runs = {row["run"] for row in json.loads(project.answer("runs", "--as", "json")) if row["name"] != "second"}
    assert known == {f"https://w3id.org/provio/run/{run}/bundle" for run in runs}
    for names in (("first", "a"), ("./a", "third")):
        done = project.provio("export", *names, "--as", "deposit", "-o", "other", code=2)
        assert "is a run: export runs, or files, but not both at once" in done.stderr


def test_a_run_in_progress(project: Project) -> None:
    """The crate of a run in progress states the time that it describes, and no end."""
    project.sh("echo 1 > a; mkfifo go")
    command = [*provio_command(), "run", "--quiet", "--name", "slow", "--", "sh", "-c", "cat a > b; cat go > c"]
    process = subprocess.Popen(command, cwd=project.path, env=project.env)
    try:
        waited_for(lambda: (project.path / "c").exists())
        project.provio("export", "slow", "--as", "ro-crate", "-o", "crate")
    finally:
        (project.path / "go").write_text("2")
        process.wait(timeout=60)
    graph = json.loads((project.path / "crate" / "ro-crate-metadata.json").read_text())["@graph"]
    run = next(one for one in graph if one.get("name") == "slow" and one["@type"].endswith("Action"))
    assert "is in progress" in run["description"] and "endTime" not in run and "actionStatus" not in run
    assert "The record is as of " in next(one for one in graph if one["@id"] == "./")["description"]


def waited_for(is_there: Callable[[], bool]) -> None:
    """Wait until something is there, at most a minute."""
    end = time.monotonic() + 60
    while not is_there() and time.monotonic() < end:
        time.sleep(0.05)
    assert is_there()
