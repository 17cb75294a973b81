"""A store of the first release is rebuilt once from the run folders; runs without a folder are copied."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest
from conftest import Project

from provio.merge.runs import merge
from provio.settings.home import Home
from provio.store.embedded import writer
from provio.store.embedded.snapshots import VERSION
from provio.store.embedded.writer import StoreWriter

FIRST = Path(__file__).parent.parent / "golden" / "first-release.tar.xz"
MADE = """SELECT ?from ?to { ?made prov:wasGeneratedBy/prov:used ?used . ?used prov:specializationOf/provio:path ?from .
    ?made prov:specializationOf/provio:path ?to } ORDER BY ?from"""
EXPECTED = [(f"/tmp/migrated/{one}", f"/tmp/migrated/{other}") for one, other in ("ab", "bc", "cd")]


@pytest.fixture
def first(project: Project) -> Project:
    """A project with a record of the first release, which merged `cp a b`, `cp b c` and `sort c -o d`."""
    with tarfile.open(FIRST) as packed:
        packed.extractall(project.path, filter="data")
    return project


def made(project: Project) -> list[tuple[str, ...]]:
    """Return the pairs of files; a project that has a run folder is at its present place."""
    moved = any((project.path / ".provio" / "runs").iterdir())
    folder = str(project.path) if moved else "/tmp/migrated"
    return [tuple(path.replace(f"{folder}/", "/tmp/migrated/") for path in row.values()) for row in project.rows(MADE)]


@pytest.mark.parametrize("missing", [(), (1,), (0, 1, 2)], ids=["all folders", "one is missing", "all are missing"])
@pytest.mark.integration
def test_every_run_answers_as_before(first: Project, missing: tuple[int, ...]) -> None:
    """Also a run that exists only in the old store; the new store has the new version, and the old one is removed."""
    home = Home(first.path / ".provio")
    for number in missing:
        shutil.rmtree(home.run_folders()[number] if len(missing) == 1 else home.run_folders()[0])
    assert (home.path / "store.version").read_text() == "1\n"
    assert made(first) == EXPECTED
    assert (home.path / "store.version").read_text() == f"{VERSION}\n"
    assert len(first.provio("runs", "--as", "csv").stdout.splitlines()) == 4
    assert not (home.path / "store.new").exists()
    assert made(first) == EXPECTED


@pytest.mark.integration
def test_a_run_is_recorded_next_to_an_old_store(first: Project) -> None:
    (first.path / "x").write_text("1\n")
    first.watch("cp", "x", "y")
    assert first.data("y") == {"x"}
    assert made(first)[:3] == EXPECTED


def test_a_kill_at_the_end_of_it_loses_nothing(first: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is published, but the version is not recorded yet: runs without a folder are copied again."""
    home = Home(first.path / ".provio")
    shutil.rmtree(home.run_folders()[1])

    def killed(_: Home) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(writer, "note_version", killed)
    with pytest.raises(KeyboardInterrupt):
        merge(home)
    monkeypatch.undo()
    assert (home.path / "store.version").read_text() == "1\n"
    assert made(first) == EXPECTED
    assert (home.path / "store.version").read_text() == f"{VERSION}\n"


def test_it_is_published_whole(first: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes: a partial store would count as complete."""
    published: list[int] = []
    publish = StoreWriter.publish

    def counted(store: StoreWriter) -> None:
        published.append(sum(1 for _ in store.rows("SELECT ?r { ?r a provio:Run }")))
        publish(store)

    monkeypatch.setattr(StoreWriter, "publish", counted)
    monkeypatch.setattr("provio.merge.runs.BETWEEN", -1.0)
    merge(Home(first.path / ".provio"))
    assert published == [3]
