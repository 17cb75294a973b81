"""`provio export --as deposit`: one folder with the files, their record, a page for people, and checksums."""

from __future__ import annotations

import json
import subprocess

import pyoxigraph as ox
import pytest
from conftest import Project
from crate_judge import findings
from test_ro_crate import OF_A_FILE

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
