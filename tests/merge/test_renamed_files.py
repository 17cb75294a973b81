"""A file that several runs rename: each run has the name that it found, or the names that it gave."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Project

from provio.ask import run_summary as summaries
from provio.ask import run_uses
from provio.settings.home import Home
from provio.store import open_reader

RUNS = ["echo 1 > a", "cat a", "mv a b; cat b", "cat b", "mv b c; cat c", "cat c"]
SHOWN = [["a"], ["a"], ["a"], ["b"], ["b"], ["c"]]  # of several the first


def shown(project: Project, run: str) -> list[str]:
    """Return the names of the files that a run read and wrote."""
    document = json.loads(project.provio("show", run, "--as", "json").stdout)
    return [Path(one["value"]).name for one in document if one["what"] in ("read", "wrote")]


@pytest.mark.slow
def test_a_run_has_the_names_that_it_found_or_gave(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for script in RUNS:
        project.run(script)
    runs = sorted(path.name.removesuffix(".tar.xz") for path in (project.path / ".provio" / "runs").iterdir())
    assert [shown(project, run) for run in runs] == SHOWN
    reader = open_reader(Home(project.path / ".provio"))
    told = []
    for most in (0, 1_000_000):  # each activity is looked at; all activities are read
        monkeypatch.setattr(run_uses, "MOST", most)
        told.append([summaries.facts(reader, run) for run in runs])
    assert told[0] == told[1]
    answer = project.provio("query", "files-of-program", "cat", "--as", "csv").stdout.splitlines()[1:]
    found = {(runs.index(line.rpartition("/")[2]), Path(line.split(",")[1]).name) for line in answer}
    assert found == {(1, "a"), (2, "a"), (2, "b"), (3, "b"), (4, "b"), (4, "c"), (5, "c")}
