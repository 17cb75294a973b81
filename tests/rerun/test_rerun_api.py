"""`store.packages` and `store.rerun`: a recorded project in, rows out."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Project

import provio
from provio.base.errors import BadQuery

pytestmark = pytest.mark.integration


@pytest.fixture
def store(project: Project, monkeypatch: pytest.MonkeyPatch) -> provio.Store:
    """The record of one copied file, in this process, and in its environment."""
    monkeypatch.delenv("PROVIO_HOME", raising=False)
    monkeypatch.chdir(project.path)
    for name, value in project.env.items():
        monkeypatch.setenv(name, value)
    project.sh("echo 1 > in")
    project.hashed("sort", "in", "-o", "out")
    return provio.open()


def test_packages(store: provio.Store) -> None:
    """The package of the program, for the run, a file and all runs; an unknown name is an error."""
    rows = store.packages("last")
    assert [(row.type, row.opened > 0) for row in rows if row.name == "coreutils"] == [("deb", True)]
    assert rows.columns[:3] == ("type", "name", "version")
    assert len(store.packages()) == len(rows)
    assert [row.name for row in store.packages("out") if row.name == "coreutils"] == ["coreutils"]
    with pytest.raises(provio.NothingKnown):
        store.packages("nowhere")


def test_rerun(store: provio.Store, project: Project, tmp_path: Path) -> None:
    """The verdicts as rows; a changed input is an error that names the remedy, and the remedy works."""
    done = store.rerun("out", folder=tmp_path / "a")
    assert [list(row) for row in done] == [["identical", str(project.path / "out"), None, None]]
    assert (done.ok, done.failed, done.folder) == (True, [], tmp_path / "a")
    assert [one["command"] for one in done.commands] == ["sort in -o out"]
    (project.path / "in").write_text("2\n")
    with pytest.raises(provio.NotAllowed, match=r"input changed: in: nothing was run: .*changed_inputs=True"):
        store.rerun("out", folder=tmp_path / "b")
    other = store.rerun("out", folder=tmp_path / "b", changed_inputs=True)
    assert ([row.verdict for row in other], other.ok) == (["differs"], False)
    assert store.rerun("out", folder=tmp_path / "c", only_stale=True)[0].verdict == "differs"
    with pytest.raises(BadQuery, match="a rerun is of one run, or of files"):
        store.rerun("last", "out")
