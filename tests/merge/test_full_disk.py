"""A disk that becomes full during a large merge or removal: one line gives the remedy, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import filesystems
import pytest
from background_merges import over, words_of
from conftest import Project, provio_command
from test_remove import quads, runs

MANY = 2000  # files of a run: so many that the graph is loaded as tables
KB = 1024


@pytest.fixture
def small(project: Project, tmp_path: Path) -> Iterator[Project]:
    """A project with its record on a file system of 64 MB: two small merged runs, two large pending ones."""
    with ExitStack() as undo:
        filesystems.mount(tmp_path / "disk", "tmpfs", undo)
        subprocess.run(["mount", "-o", "remount,size=64m", tmp_path / "disk"], check=True)
        project.env["PROVIO_HOME"] = str(tmp_path / "disk" / "provio")
        project.sh("echo 1 > a")
        project.watch("cp", "a", "b")
        project.watch("cp", "b", "c")
        for name in ("many", "more"):
            script = f"mkdir {name}; cd {name}; for i in $(seq {MANY}); do echo $i > $i; done"
            project.provio("run", "--quiet", "--no-merge", "--name", name, "--", "bash", "-c", script)
        yield project


def fill(record: Path, room: int) -> Path:
    """Fill the disk except for so many bytes; return the file that does."""
    filler = record.parent / "filler"
    free = os.statvfs(record)
    filler.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - room)))
    return filler


def undisturbed(project: Project, place: Path) -> set[str]:
    """Return the output of a merge on a disk with room."""
    shutil.copytree(project.env["PROVIO_HOME"], place, symlinks=True)
    subprocess.run([*provio_command(), "merge", "--quiet"], env=project.env | {"PROVIO_HOME": str(place)}, check=True)
    return quads(place)


@pytest.mark.parametrize("room", [0, 500, 4000, 10000])
@pytest.mark.slow
def test_a_merge_of_much(small: Project, tmp_path: Path, room: int) -> None:
    """With so many KB left, queries are answered as before, and all is merged once there is room."""
    record = Path(small.env["PROVIO_HOME"])
    before, after, files = quads(record), undisturbed(small, tmp_path / "copy"), runs(record)
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
def test_a_background_merge(small: Project, tmp_path: Path, room: int) -> None:
    """It ends, and the published store answers as before; a query merges all runs once there is room."""
    record = Path(small.env["PROVIO_HOME"])
    before, after, files = quads(record), undisturbed(small, tmp_path / "copy"), runs(record)
    filler = fill(record, room * KB)
    over(subprocess.Popen(words_of(record), env=small.env).pid)
    assert (quads(record) in (before, after), runs(record)) == (True, files)
    filler.unlink()
    assert "cp a b" in small.provio("runs").stdout
    assert quads(record) == after


@pytest.mark.parametrize("room", [0, 500, 4000, 10000])
@pytest.mark.slow
def test_a_removal(small: Project, room: int) -> None:
    """With so many KB left, the run is removed, or it remains and one line explains how to make room."""
    record = Path(small.env["PROVIO_HOME"])
    small.provio("merge")
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
    found = quads(record)
    small.provio("merge", "--rebuild")
    assert sorted(quads(record)) == sorted(found)
