"""`provio doctor` about damaged records: real runs, damaged as disks, users and kills do it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from conftest import Project, provio_command
from filesystems import mount

from provio import doctor
from provio.doctor.checks import damage
from provio.settings.home import Home
from provio.trace import read as traces

pytestmark = pytest.mark.integration
SAFE = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all", "--"]  # root as other users are


def findings(project: Project, *options: str, about: str = "damage", **more: Any) -> list[tuple[str, str, str]]:
    """Return the level, message and remedy of each finding about a subject."""
    found = json.loads(project.provio("doctor", "--as", "json", *options, code=None, **more).stdout)
    return [(one["level"], one["says"], one["remedy"]) for one in found if one["about"] == about]


def problems(project: Project, *options: str, about: str = "damage") -> list[tuple[str, str]]:
    """Return the message and remedy of each problem about a subject."""
    return [(says, remedy) for level, says, remedy in findings(project, *options, about=about) if level == "problem"]


@pytest.fixture
def recorded(project: Project) -> Project:
    """A project with two merged runs."""
    project.sh("echo hello > a")
    project.watch("sh", "-c", "cat a > b")
    project.watch("sh", "-c", "cat b > c")
    project.provio("runs")
    return project


def folders(project: Project) -> list[Path]:
    """Return the run folders and archives, the oldest first."""
    return sorted((project.path / ".provio" / "runs").iterdir())


def thread_file(run: Path) -> Path:
    """Return the largest thread file of a run: that of `cat`."""
    return max(run.glob("*/*.*.*.*.ttl"), key=lambda path: len(path.read_bytes().replace(b"#", b"")))


def cut(path: Path) -> None:
    """Truncate a file in the middle of its records."""
    os.truncate(path, len(path.read_bytes().rstrip(b"#\n")) - 40)


def zero(path: Path) -> None:
    """Overwrite a part of the records with zeros, as a power loss leaves a page."""
    with path.open("r+b") as file:
        file.seek(400)
        file.write(bytes(512))


def swap(path: Path) -> None:
    """Overwrite bytes within a line."""
    data = path.read_bytes()
    place = data.index(b":path ")
    path.write_bytes(data[:place] + b'"<<"' + data[place + 4 :])


def test_intact_runs(recorded: Project) -> None:
    """Nothing is reported, with and without --record, and doctor changes no file of the record."""
    home = recorded.path / ".provio"
    before = {path: path.lstat().st_mtime_ns for path in home.rglob("*") if path.name != "lock"}
    assert findings(recorded) == [("ok", "no damage known in 2 runs", "")]
    assert findings(recorded, "--record") == [("ok", "no damage known in 2 runs, 2 of them read now", "")]
    assert {path: path.lstat().st_mtime_ns for path in home.rglob("*") if path.name != "lock"} == before


@pytest.mark.parametrize("spoil", [cut, zero, swap])
def test_a_damaged_thread_file(recorded: Project, spoil: Callable[[Path], None]) -> None:
    """It is named before and after its merge, until it is put back and merged; or until the run is removed."""
    run = folders(recorded)[-1]
    file = thread_file(run)
    process = file.name.partition(".")[0]
    shutil.copy2(file, recorded.path / "kept")
    spoil(file)
    for verbs in ([], ["runs"]):
        for verb in verbs:
            recorded.provio(verb)
        ((says, remedy),) = problems(recorded)
        assert says.startswith(f"{file.relative_to(recorded.path)}: ")
        assert says.endswith(f"; lost: records of process {process}, at this place; the run's other records are kept")
        assert remedy.endswith(f"provio rm --lost {run.name} removes the run")
    shutil.copy2(recorded.path / "kept", file)
    recorded.provio("merge")
    assert not problems(recorded, "--record")
    spoil(file)
    recorded.provio("rm", "--yes", "--lost", run.name)
    assert findings(recorded) == [("ok", "no damage known in 1 run", "")]


def test_damage_that_changes_no_time(recorded: Project) -> None:
    """As by a disk: only --record reads merged runs."""
    file = thread_file(folders(recorded)[0])
    times = file.stat()
    zero(file)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert not problems(recorded)
    ((says, _),) = problems(recorded, "--record")
    assert says.startswith(str(file.relative_to(recorded.path)))


def test_files_that_are_not_readable(recorded: Project, needs: Any) -> None:
    """The remedy makes a file and a folder readable, and nothing is lost."""
    needs("setpriv")
    first, last = folders(recorded)
    for path, remedy in ((thread_file(first), "chmod u+r"), (last, "chmod u+rx")):
        mode = path.stat().st_mode
        path.chmod(0)
        done = subprocess.run(
            [*SAFE, *provio_command(), "doctor", "--as", "json"],
            cwd=recorded.path, env=recorded.env, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        (found,) = [one for one in json.loads(done.stdout) if one["about"] == "damage" and one["level"] == "problem"]
        assert found["says"] == f"{path.relative_to(recorded.path)}: is not readable"
        assert found["remedy"] == f"{remedy} {path}"
        recorded.sh(found["remedy"])
        assert path.stat().st_mode & 0o400
        path.chmod(mode)
    assert not problems(recorded)


def test_a_run_without_its_description(recorded: Project) -> None:
    """Without `run.ttl`, the run has no command any more, and can be removed."""
    run = folders(recorded)[0]
    (run / "run.ttl").unlink()
    ((says, _),) = problems(recorded)
    assert says == (
        f"{run.relative_to(recorded.path)}/run.ttl: No such file or directory; lost: the run's command, times or exit "
        "state; the records of its processes are kept"
    )
    recorded.provio("rm", "--yes", "--lost", run.name)
    assert not problems(recorded)


@pytest.mark.parametrize("late", [False, True])
def test_an_archive_that_cannot_be_opened(recorded: Project, late: bool) -> None:
    """A truncated one is reported once, also if its time is that of the complete one."""
    recorded.provio("merge", "--pack")
    archive = folders(recorded)[0]
    times, data = archive.stat(), archive.read_bytes()
    archive.write_bytes(data[:-100])
    if late:
        os.utime(archive, ns=(times.st_atime_ns, times.st_mtime_ns))
    ((says, _),) = problems(recorded)
    assert says.startswith(f"{archive.relative_to(recorded.path)}: the archive is damaged")
    archive.write_bytes(data)
    recorded.provio("merge")
    assert not problems(recorded, "--record")


def test_five_are_named(project: Project) -> None:
    """Of seven damaged files five are named; the rest is counted."""
    for _ in range(7):
        project.watch("sh", "-c", "cat /etc/hostname > b")
    for run in folders(project):
        (run / "run.ttl").unlink()
    found = problems(project)
    assert len(found) == 6
    assert found[5] == ("2 more damaged files", "provio merge lists all")
    assert sum("damaged: " in line for line in project.provio("merge", code=1).stderr.splitlines()) == 7


def test_a_killed_run_and_one_in_progress(project: Project) -> None:
    """SIGKILL loses no record; a run in progress is not examined, and none of its files is damaged."""
    command = [*provio_command(), "run", "--quiet", "--", "sh", "-c", "cat /etc/hostname > b; echo > begun; sleep 100"]
    begun = project.path / "begun"
    child = subprocess.Popen(command, cwd=project.path, env=project.env, start_new_session=True)
    try:
        while not begun.exists():
            assert child.poll() is None
            time.sleep(0.05)
        assert findings(project) == [("ok", "no damage known in 0 runs (1 in progress: not examined)", "")]
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    assert findings(project) == [("ok", "no damage known in 1 run, 1 of them read now", "")]


def test_a_store_whose_files_are_damaged_or_missing(recorded: Project) -> None:
    """The remedy builds it again from the runs."""
    for command in ("rm {}/MANIFEST-*", "truncate -s 40 {}/MANIFEST-*", "truncate -s 100 {}/*.sst", "rm {}/*.sst"):
        recorded.sh(command.format(".provio/snapshots/current"))
        ((says, remedy),) = problems(recorded, about="store")
        assert "is damaged" in says
        assert remedy == "provio merge --rebuild"
        warning = "the damaged store cannot be read: runs without a folder, if any, are lost"
        assert warning in recorded.provio(*remedy.split()[1:]).stderr
        assert warning not in recorded.provio(*remedy.split()[1:]).stderr
        assert not problems(recorded, about="store")
        assert "b" in recorded.answer("lineage", "c")


def test_a_block_of_the_store_that_is_damaged(recorded: Project) -> None:
    """The store opens: only --record reads all its blocks."""
    table = max((recorded.path / ".provio/snapshots/current").glob("*.sst"), key=lambda path: path.stat().st_size)
    with table.open("r+b") as file:
        file.write(b"XXXX")
    assert not problems(recorded, about="store")
    ((says, remedy),) = problems(recorded, "--record")
    assert says.startswith("the store is damaged (Corruption: ")
    assert "checksum" in says
    recorded.provio(*remedy.split()[1:])
    assert not problems(recorded, "--record")


@pytest.mark.parametrize("verb", ["stats", "status", "runs", "export", "lineage c", "query tasks"])
def test_a_query_that_meets_a_damaged_block(recorded: Project, verb: str) -> None:
    """One line names the remedy, also if the store would read the block again without end."""
    recorded.provio("runs")
    for table in (recorded.path / ".provio/snapshots/current").glob("*.sst"):
        if table.stat().st_size > 3000:  # in a smaller one the first block is no data
            with table.open("r+b") as file:
                file.write(b"XXXX")
    limit = [] if verb == "export" else ["--max-memory", "400MB"]
    (line,) = recorded.provio(*verb.split(), *limit, code=1).stderr.splitlines()
    assert line.startswith("provio: the store is damaged (Corruption: ")
    assert line.endswith("): provio merge --rebuild builds it again")
    recorded.provio("merge", "--rebuild")
    assert "damaged" not in recorded.provio(*verb.split()).stderr
    assert not problems(recorded, "--record")


def test_a_store_that_lacks_a_run(recorded: Project) -> None:
    """An older store in the place of the newer one; and a run whose folder was deleted."""
    home = recorded.path / ".provio"
    recorded.sh("cp -a .provio older")
    recorded.watch("cat", "c")
    recorded.provio("runs")
    run = folders(recorded)[-1]
    marks = recorded.path / "marks"
    shutil.copytree(home / "snapshots" / "merged", marks)
    for part in ("store", "snapshots", "statements"):
        shutil.rmtree(home / part)
        shutil.copytree(recorded.path / "older" / part, home / part, symlinks=True)
    shutil.copytree(marks, home / "snapshots" / "merged", dirs_exist_ok=True)
    for mark in marks.iterdir():
        shutil.copystat(mark, home / "snapshots" / "merged" / mark.name)
    assert problems(recorded) == [(f"the store lacks 1 run that counted as merged: {run.name}", "provio merge")]
    recorded.provio("merge")
    assert not problems(recorded)
    shutil.move(run, recorded.path / "away")
    ((level, says, remedy),) = findings(recorded)[1:]
    assert level == "note"
    assert says.startswith("1 run only in the store, without files in ")
    lost = f"1 run without files in {home / 'runs'} ({run.name})"
    refused = recorded.provio("merge", "--rebuild", code=1).stderr
    assert refused == f"provio: a rebuild would lose {lost}: put the files back from a backup, or pass --force\n"
    assert run.name in recorded.answer("runs", "--as", "csv")
    recorded.sh("cp -a .provio kept")
    forced = recorded.provio("merge", "--rebuild", "--force").stderr
    assert f"the new store lacks {lost}\n" in forced
    assert run.name not in recorded.answer("runs", "--as", "csv")
    assert recorded.provio("merge", "--rebuild").stderr.count("lacks") == 0
    assert "belongs to --rebuild" in recorded.provio("merge", "--force", code=2).stderr
    shutil.rmtree(home)
    (recorded.path / "kept").rename(home)
    recorded.provio(*remedy.partition("provio ")[2].split(), "--yes")
    assert len(findings(recorded)) == 1


def test_a_merge_that_was_killed(recorded: Project) -> None:
    """The run at which it was killed is named until a merge completes."""
    recorded.watch("cat", "c")
    run = folders(recorded)[-1]
    home = recorded.path / ".provio"
    (home / "store.merging").write_text(run.name)
    os.utime(home / "lock", (0, 0))
    ((says, remedy),) = problems(recorded)
    assert says.startswith(f"the last merge was killed at run {run.name} (")
    assert remedy.startswith("provio merge; ")
    recorded.provio("merge")
    assert not problems(recorded)


def test_limits_and_a_run_that_cannot_be_merged(recorded: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limits, runs are counted as not read or not checked; a fault of the merge itself is damage."""
    for run in folders(recorded):
        os.utime(thread_file(run))
    place = doctor.Place(Home(recorded.path / ".provio"))
    levels = [[one.level for one in damage.check_damage(place)]]
    for limit in ("RUNS", "BYTES", "FILES"):
        with monkeypatch.context() as patch:
            patch.setattr(damage, limit, 1)
            levels.append([one.level for one in damage.check_damage(place)])
    assert levels == [["ok"], ["note", "ok"], ["note", "ok"], ["note", "ok"]]

    def invalid(*_: object, **__: object) -> None:
        raise ValueError("a reason")

    monkeypatch.setattr(traces, "read_run", invalid)
    found = [one for one in damage.check_damage(place) if one.level == "problem"]
    run = folders(recorded)[-1]
    assert len(found) == 2
    assert found[0].message.endswith(
        f"{run.name}: cannot be merged (ValueError: a reason); lost: the run is in no answer"
    )


@pytest.fixture
def mounted() -> Iterator[ExitStack]:
    with ExitStack() as undo:
        yield undo


def test_a_run_on_a_disk_that_became_full(project: Project, mounted: ExitStack, tmp_path: Path) -> None:
    """The run is recorded with a gap, which is no damage; doctor reports the full disk."""
    folder = tmp_path / "full"
    mount(folder, "tmpfs", mounted)
    project.sh(f"mount -o remount,size=2M {folder}")
    project.provio(
        "run", "--quiet", "--", "sh", "-c", "head -c 4M /dev/zero > big; cat big > b; true", cwd=folder, code=None
    )
    assert [level for level, *_ in findings(project, cwd=folder)] == ["ok"]
    assert any("cannot write 1 MB" in says for _, says, _ in findings(project, about="record", cwd=folder))
