"""Projects and folders that are at another place than when they were recorded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Project, assert_valid

from provio.settings import moves
from provio.settings.home import Home


@pytest.fixture
def recorded(project: Project) -> Project:
    """A project: mean is made from clean, and that from raw; `flag` is a result of two bytes."""
    project.sh("seq 20 > raw")
    project.hashed("bash", "-c", "tail -n 10 raw > clean; sha256sum clean > mean; echo 1 > flag")
    return project


def copied(project: Project, place: Path, *, move: bool = False) -> Project:
    """Copy a project, without the times of its files, or move it."""
    (shutil.move if move else shutil.copytree)(project.path, place)
    if not move:
        for file in place.iterdir():
            os.utime(file)
    return Project(place, {**project.env})


@pytest.mark.integration
def test_work_goes_on_in_a_copy(recorded: Project, tmp_path: Path) -> None:
    """Runs of the original and of the copy have one lineage, in any order of merges; a file of the copy that is
    edited is stale there alone."""
    copy = copied(recorded, tmp_path / "a copy\n")
    copy.hashed("bash", "-c", "cat mean flag raw > report")
    assert copy.data("flag") == set()  # contents of a few bytes are often equal by chance
    assert copy.data("report") == {"mean", "flag", "clean", "raw"}
    assert copy.descendants("raw")["data"] == {"clean", "mean", "report"}
    assert copy.provio("status").stdout.startswith("current")
    before = set(copy.provio("export", "--as", "nquads").stdout.splitlines())
    copy.provio("merge", "--rebuild")
    assert set(copy.provio("export", "--as", "nquads").stdout.splitlines()) == before
    copy.sh("echo 21 >> raw")
    states = [line.split()[0] for line in copy.provio("status", code=1).stdout.splitlines()]
    assert {*states} == {"stale", "changed", "current", "record"}
    assert recorded.provio("status").stdout.startswith("current")
    assert_valid(copy.path / ".provio")


@pytest.mark.integration
def test_a_record_in_no_project_keeps_its_places(recorded: Project, tmp_path: Path) -> None:
    """The backup of a moved project names the files where they were last; nothing is merged again."""
    moved = copied(recorded, tmp_path / "moved", move=True)
    moved.provio("merge")
    moved.provio("backup", str(tmp_path / "kept"))
    backup = Project(tmp_path, {**moved.env, "PROVIO_HOME": str(tmp_path / "kept")})
    assert "0 runs merged, 1 unchanged" in backup.provio("merge").stderr
    assert backup.data("moved/mean") == {"moved/clean", "moved/raw"}
    recorded.path.mkdir()
    (recorded.path / ".provio").mkdir()  # `assert_valid` of the fixture
    shutil.copytree(moved.path / ".provio", recorded.path / ".provio", dirs_exist_ok=True)
    assert recorded.data("mean") == {"clean", "raw"}


@pytest.mark.integration
def test_a_folder_outside_of_the_project(project: Project, tmp_path: Path) -> None:
    """`relocate` holds for the runs until then; also in a copy, in a backup, and for a single file; it can be
    reverted."""
    old, new = tmp_path / "disk", tmp_path / "other disk"
    old.mkdir()
    (old / "raw").write_text("raw data of an instrument\n")
    project.hashed("bash", "-c", f"cat {old}/raw > copy")
    old.rename(new)
    assert "does not exist: give the place" in project.provio("relocate", str(new), str(old), code=1).stderr
    assert project.provio("relocate", str(tmp_path / "no"), str(new), code=3).stderr.startswith("provio: nothing is")
    for wrong in (["a"], ["a", "./a"], ["a", "b", "c"]):
        project.provio("relocate", *wrong, code=2)
    done = project.provio("relocate", str(old), str(new))
    assert done.stderr.startswith("1 recorded file: answers name"), done.stderr
    assert project.data("copy") == {"../other disk/raw"}
    assert project.descendants("../other disk/raw")["data"] == {"copy"}
    assert project.provio("status").stdout.startswith("current")
    command = str(new).replace(" ", "%20") + "/raw"
    assert project.count(f"?p a provio:Process ; provio:argv ?argv FILTER(STRENDS(?argv, 'cat {command}'))") == 1
    old.mkdir()
    (old / "raw").write_text("another file of the same name\n")
    project.hashed("bash", "-c", f"cat {old}/raw > second")
    assert (project.data("copy"), project.data("second")) == ({"../other disk/raw"}, {"../disk/raw"})
    project.provio("backup", str(tmp_path / "kept"))
    kept = Project(project.path, {**project.env, "PROVIO_HOME": str(tmp_path / "kept")})
    assert kept.data("copy") == {"../other disk/raw"}
    (project.path / "inside").mkdir()
    (new / "raw").rename(project.path / "inside" / "raw")
    project.provio("relocate", str(new / "raw"), "inside/raw")
    assert copied(project, tmp_path / "copied").data("copy") == {"inside/raw"}
    assert project.provio("relocate").stdout.splitlines() == [
        f"{old} → {new}", f"{new}/raw → {project.path}/inside/raw",
    ]  # fmt: skip
    (project.path / "inside" / "raw").rename(new / "raw")
    assert "again" in project.provio("relocate", "--undo").stderr
    assert project.data("copy") == {"../other disk/raw"}


@pytest.mark.integration
def test_original_and_copy_in_one_answer(recorded: Project, tmp_path: Path) -> None:
    """Each run counts once; a file from another site is found by its content, whether a run read it or not."""
    copy = copied(recorded, tmp_path / "copy")
    copy.hashed("bash", "-c", "cat mean raw > report")
    copy.env["PROVIO_STORES"] = str(recorded.path)
    assert copy.count("?run a provio:Run") == 2
    assert copy.data("report") == {"mean", "clean", "raw"}
    (tmp_path / "site").mkdir()
    site = Project(tmp_path / "site", {**recorded.env})
    site.provio("init")
    shutil.copy(recorded.path / "clean", site.path / "received")
    shutil.copy(recorded.path / "clean", site.path / "mailed")
    site.hashed("bash", "-c", "sort received > sorted")
    assert site.data("sorted") == {"received"}
    site.env["PROVIO_STORES"] = str(recorded.path)
    assert site.data("sorted") == {"received", "../project/clean", "../project/raw"}
    answer = site.provio("lineage", "mailed").stdout
    assert "! not recorded; same content as" in answer
    assert "../project/raw" in answer


@pytest.mark.integration
def test_a_read_only_copy(recorded: Project, tmp_path: Path, needs: object) -> None:
    """It is answered in memory, at its place; one line states that it cannot be merged again."""
    if os.geteuid():
        pytest.skip("needs root, for a mount")
    copy = copied(recorded, tmp_path / "copy")
    script = f"mount --bind {copy.path} {copy.path}; mount -o remount,bind,ro {copy.path}; "
    call = f"cd {copy.path}; {sys.executable} -m provio lineage mean"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-ec", script + call], env=copy.env, capture_output=True, text=True, check=True, cwd="/"
    )
    assert [line.split()[-3] for line in done.stdout.splitlines() if "─" in line] == ["clean", "raw"]
    assert "1 run pending: cannot write" in done.stderr


def test_each_mount_of_a_folder_is_one_place(tmp_path: Path) -> None:
    """A record that hosts or containers use in turn through several mounts is not merged again each time."""
    if os.geteuid():
        pytest.skip("needs root, for a mount")
    for name in ("one/.provio", "two"):
        (tmp_path / name).mkdir(parents=True)
    show = "from provio.settings import moves; from provio.settings.home import Home; from pathlib import Path; "
    show += f"print(*(moves.key(Home(Path('{tmp_path}', name, '.provio')))[0] for name in ('one', 'two')), sep='\\n')"
    script = f'mount --bind {tmp_path}/one {tmp_path}/two; {sys.executable} -c "{show}"'
    done = subprocess.run(["unshare", "-m", "sh", "-ec", script], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == second != ""
    before = moves.key(Home(tmp_path / "one" / ".provio"))
    (tmp_path / "one").rename(tmp_path / "three")
    assert before != moves.key(Home(tmp_path / "three" / ".provio")) != ("", "")
    assert moves.key(Home(tmp_path / "three")) == ("", "")


@pytest.mark.integration
def test_a_move_before_the_first_merge(project: Project, tmp_path: Path) -> None:
    """Names with `..` are those of the files, in the project and in a relocated folder."""
    (tmp_path / "disk").mkdir()
    project.sh("mkdir src data; echo raw data of a station > data/raw; cp data/raw ../disk/more")
    script = "cd src; cat ../data/raw ../../disk/more > ../out"
    project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", script)
    (tmp_path / "disk").rename(tmp_path / "other")
    moved = copied(project, tmp_path / "moved", move=True)
    assert moved.data("out") == {"data/raw", "../disk/more"}
    moved.provio("relocate", str(tmp_path / "disk"), str(tmp_path / "other"))
    assert moved.data("out") == {"data/raw", "../other/more"}
    project.path.mkdir()
    shutil.copytree(moved.path / ".provio", project.path / ".provio")  # which the fixture checks
