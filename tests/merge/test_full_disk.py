"""A disk that becomes full during a large merge or removal: one line gives the remedy, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import filesystems
import pytest
from background_merges import over, words_of
from conftest import Project, in_memory, new_project
from test_remove import quads, runs

tmp_path = in_memory

MANY = 2000  # files of a run: so many that the graph is loaded as tables
KB = 1024


@dataclass
class Recorded:
    """A record that tests copy: two small merged runs, two large pending ones; the same after a merge of all; the quads
    of that, and those of a record without the last run."""

    pending: Path
    merged: Path
    after: set[str]
    without: set[str]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Recorded:
    project = new_project(tmp_path_factory.mktemp("recorded"))
    pending = project.path / ".provio"
    merged, without = (project.path.with_name(name) for name in ("merged", "without"))
    project.sh("echo 1 > a")
    project.watch("cp", "a", "b")
    project.watch("cp", "b", "c")
    for name in ("many", "more"):
        script = f"mkdir {name}; cd {name}; for i in $(seq {MANY}); do echo $i > $i; done"
        project.provio("run", "--quiet", "--no-merge", "--name", name, "--", "bash", "-c", script)
    for place in (merged, without):
        shutil.copytree(pending, place, symlinks=True)
    shutil.rmtree(max((without / "runs").iterdir()))
    for place in (merged, without):
        project.provio("merge", "--quiet", env=project.env | {"PROVIO_HOME": str(place)})
    return Recorded(pending, merged, quads(merged), quads(without))


@pytest.fixture
def small(project: Project, tmp_path: Path) -> Iterator[Project]:
    """A project with its record on a file system of 64 MB, still empty."""
    with ExitStack() as undo:
        filesystems.mount(tmp_path / "disk", "tmpfs", undo)
        subprocess.run(["mount", "-o", "remount,size=64m", tmp_path / "disk"], check=True)
        project.env["PROVIO_HOME"] = str(tmp_path / "disk" / "provio")
        yield project


def copied(record: Path, small: Project) -> Path:
    """Fill the small file system with a copy of a record."""
    return shutil.copytree(record, Path(small.env["PROVIO_HOME"]), symlinks=True)


def fill(record: Path, room: int) -> Path:
    """Fill the disk except for so many bytes; return the file that does."""
    filler = record.parent / "filler"
    free = os.statvfs(record)
    filler.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - room)))
    return filler


@pytest.mark.parametrize("room", [0, 500, 4000, 10000])
@pytest.mark.slow
def test_a_merge_of_much(small: Project, recorded: Recorded, room: int) -> None:
    """With so many KB left, queries are answered as before, and all is merged once there is room."""
    record = copied(recorded.pending, small)
    before, after, files = quads(record), recorded.after, runs(record)
    filler = fill(record, room * KB)
    done = small.provio("merge", code=None)
    if done.returncode:
        assert (done.returncode, done.stderr.count("\n"), "make room" in done.stderr) == (1, 1, True), done.stderr
        assert quads(record) == before
        assert "cp a b" in small.provio("runs").stdout
    assert runs(record) == files
    filler.unlink()
    small.provio("merge")
    assert quads(record) == after


@pytest.mark.parametrize("room", [0, 4000])
@pytest.mark.slow
def test_a_background_merge(small: Project, recorded: Recorded, room: int) -> None:
    """It ends, and the published store answers as before; a query merges all runs once there is room."""
    record = copied(recorded.pending, small)
    before, after, files = quads(record), recorded.after, runs(record)
    filler = fill(record, room * KB)
    over(subprocess.Popen(words_of(record), env=small.env).pid)
    assert (quads(record) in (before, after), runs(record)) == (True, files)
    filler.unlink()
    assert "cp a b" in small.provio("runs").stdout
    assert quads(record) == after


@pytest.mark.parametrize("room", [0, 500, 4000, 10000])
@pytest.mark.slow
def test_a_removal(small: Project, recorded: Recorded, room: int) -> None:
    """With so many KB left, the run is removed, or it remains and one line explains how to make room."""
    record = copied(recorded.merged, small)
    before, files = quads(record), runs(record)
    filler = fill(record, room * KB)
    done = small.provio("rm", "--yes", "more", code=None)
    there = runs(record) == files
    if there:
        assert done.returncode == 1
        assert "nothing was removed, no run is lost; make room" in done.stderr.splitlines()[-1]
        assert quads(record) == before
    filler.unlink()
    if there:
        small.provio("rm", "--yes", "more")
    small.provio("merge")
    assert runs(record) == files[:-1]
    assert quads(record) == recorded.without
