"""Maintenance: `prune` removes old runs, `backup` copies the record, `runs` shows the size of each run."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import filesystems
import pytest
from concurrent_runs import start, wait_for
from conftest import Project, provio_command
from test_hostile_paths import on_a_terminal

from provio.settings.home import Home


def ids(project: Project) -> list[str]:
    return sorted(entry.name.partition(".")[0] for entry in (project.path / ".provio" / "runs").iterdir())


def quads(project: Project, **env: str) -> set[str]:
    done = project.provio("export", "--as", "nquads", env={**project.env, **env})
    return set(done.stdout.splitlines())


@pytest.fixture
def recorded(project: Project) -> Project:
    """A project with two runs: b from a, c from b."""
    project.sh("echo 1 > a")
    project.watch("cp", "a", "b")
    project.watch("cp", "b", "c")
    return project


@pytest.mark.integration
def test_runs_shows_the_size_of_each(recorded: Project) -> None:
    """Numbers in machine-readable output, readable sizes within 80 columns otherwise; an archived run is one file."""

    def numbers() -> list[tuple[int, int]]:
        found = json.loads(recorded.provio("runs", "--as", "json").stdout)
        return [(row["size"], row["files"]) for row in found]

    folders = [recorded.path / ".provio" / "runs" / run for run in ids(recorded)]
    assert [files for _, files in numbers()] == [sum(p.is_file() for p in f.rglob("*")) for f in folders]
    before = numbers()
    recorded.provio("merge", "--pack")
    assert [files for _, files in numbers()] == [1, 1]
    assert all(now < was for (now, _), (was, _) in zip(numbers(), before, strict=True))
    table = recorded.provio("runs").stdout.splitlines()
    assert re.search(r"  record +in files  command$", table[0])
    assert re.search(r" [\d.]+ kB +1  cp a b$", table[2])
    shown = recorded.sh(f"COLUMNS=80 script -qec '{shlex.join(provio_command())} runs' /dev/null").splitlines()
    assert re.search(r"  \d{4}-\d\d-\d\d \d\d:\d\d  .*  cp a b$", shown[2])
    assert max(map(len, shown)) <= 80


@pytest.mark.slow
def test_prune_removes_runs_that_ended_before_a_time(recorded: Project) -> None:
    """By age or time; --dry-run only lists them; runs in progress stay at any age; leftovers are deleted."""
    first, second = ids(recorded)
    rows = json.loads(recorded.provio("runs", "--as", "json").stdout)
    assert len(rows) == 2
    between = recorded.rows("SELECT ?end { ?r a provio:Run ; prov:endedAtTime ?end } ORDER BY DESC(?end)")[0]["end"]
    damaged = recorded.path / ".provio" / "store.damaged-1"
    damaged.mkdir()
    (damaged / "CURRENT").write_text("x")
    os.mkfifo(recorded.path / "go")
    going = start(recorded, "bash", "-c", "cat a > d; cat go")
    wait_for(recorded.path / "d", b"1\n")
    assert "0 runs, 1 file," in recorded.provio("prune", "--older-than", "30d", "--dry-run").stderr
    done = recorded.provio("prune", "--older-than", between, "--dry-run")
    assert (done.stdout, "1 run," in done.stderr) == (f"{first}\n", True)
    assert "--yes" in recorded.provio("prune", "--older-than", between, code=1).stderr
    recorded.provio("prune", "--older-than", "soon", code=2)
    assert len(ids(recorded)) == 3
    recorded.provio("prune", "--older-than", between, "--yes")
    assert first not in ids(recorded)
    assert second in ids(recorded)
    assert not damaged.exists()
    recorded.provio("prune", "--older-than", "0h", "--yes")
    assert len(ids(recorded)) == 1
    (recorded.path / "go").write_text("on")
    assert going.wait(timeout=60) == 0
    assert recorded.data("d") == {"a"}


def let_go(lock: BinaryIO) -> None:
    """Release a lock after another process has waited for it for 2.5 seconds (proc_locks(5): `->` marks a waiting
    process)."""
    deadline, waits = time.monotonic() + 60, f":{os.fstat(lock.fileno()).st_ino} "
    try:
        while not any("->" in line and waits in line for line in Path("/proc/locks").read_text().splitlines()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(2.5)
    finally:
        fcntl.flock(lock, fcntl.LOCK_UN)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("rm", "--yes", "last"), ("prune", "--yes", "--older-than", "2100-01-01")])
def test_a_removal_of_more_than_a_second_shows_progress(recorded: Project, arguments: tuple[str, ...]) -> None:
    """Also if one step of it takes that long, as here while another process has the store; the line disappears at
    the end."""
    recorded.provio("runs")
    with Home(recorded.path / ".provio").lock.open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        release = threading.Thread(target=let_go, args=(lock,))
        release.start()
        said = on_a_terminal(recorded, *arguments)
        release.join()
    assert b"\r\x1b[Kwaiting for the store" in said
    assert re.search(rb"\r\x1b\[K[12] runs?[^\x1b]* removed\r\n$", said)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.integration
def test_a_backup_is_a_record_itself(recorded: Project, packed: bool, tmp_path: Path) -> None:
    """It answers like the original, contains pending runs, and does not change when the original does."""
    if packed:
        recorded.provio("merge", "--pack")
    before = quads(recorded)
    recorded.provio("run", "--quiet", "--no-merge", "--", "cp", "c", "d")
    target = tmp_path / "copy"
    assert "3 runs copied" in recorded.provio("backup", str(target)).stderr
    original = ids(recorded)
    recorded.provio("rm", "--yes", *original)
    there = {**recorded.env, "PROVIO_HOME": str(target)}
    assert "1 run pending" not in recorded.provio("runs", env=there).stderr
    assert before < quads(recorded, PROVIO_HOME=str(target))
    assert len(recorded.provio("runs", env=there).stdout.splitlines()) == 2 + 3
    assert "0 runs merged, 3 unchanged" in recorded.provio("merge", env=there).stderr
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".new")] == []


@pytest.mark.parametrize("merged", [True, False])
@pytest.mark.integration
def test_a_backup_needs_no_more_than_to_read(project: Project, tmp_path: Path, merged: bool) -> None:
    """The copy of a record on a read-only mount, merged or not, can be written."""
    disk = tmp_path / "disk"
    with ExitStack() as undo:
        filesystems.mount(disk, "tmpfs", undo)
        project.env["PROVIO_HOME"] = str(disk / ".provio")
        project.provio("run", "--quiet", *["--no-merge"] * (not merged), "--", "touch", "out")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        assert "1 run copied" in project.provio("backup", str(tmp_path / "copy")).stderr
    project.env["PROVIO_HOME"] = str(tmp_path / "copy")
    assert project.provio("merge").stderr == (
        "0 runs merged, 1 unchanged\n" if merged else "1 run merged, 0 unchanged\n"
    )
    project.provio("run", "--quiet", "--", "touch", "other")


@pytest.mark.integration
def test_a_killed_backup_is_started_again(recorded: Project, tmp_path: Path) -> None:
    """The next backup deletes the remains; another folder of that name stays."""
    target, new = tmp_path / "copy", tmp_path / "copy.new"
    killing = (
        "import os, signal; from pathlib import Path; from provio.merge import backup; "
        "from provio.settings import home; "
        "backup._copy_store = lambda *_: os.kill(os.getpid(), signal.SIGKILL); "
        f"backup.backup(home.Home(Path({str(recorded.path / '.provio')!r})), Path({str(target)!r}))"
    )
    killed = subprocess.run([sys.executable, "-c", killing], env=recorded.env)
    assert (killed.returncode, new.is_dir(), target.exists()) == (-signal.SIGKILL, True, False)
    recorded.provio("backup", str(target))
    assert (new.exists(), quads(recorded, PROVIO_HOME=str(target))) == (False, quads(recorded))
    new.mkdir()
    (new / "mine").write_text("mine\n")
    assert "already exists" in recorded.provio("backup", str(tmp_path / "copy"), code=1).stderr
    target.rename(tmp_path / "old")
    assert f"{new}, where the copy is made, already exists" in recorded.provio("backup", str(target), code=1).stderr
    assert (new / "mine").read_text() == "mine\n"
    assert sorted(path.name for path in (tmp_path / "old").iterdir() if "unfinished" in path.name) == []


@pytest.mark.integration
def test_a_backup_overwrites_nothing_and_leaves_nothing_half_made(recorded: Project, tmp_path: Path) -> None:
    """Existing files stay; if the target cannot be written, nothing is left there."""
    assert "already exists: name a new folder" in recorded.provio("backup", ".", code=1).stderr
    (tmp_path / "file").write_text("")
    assert "cannot write" in recorded.provio("backup", str(tmp_path / "file" / "copy"), code=1).stderr
    assert "cannot write" in recorded.provio("backup", str(tmp_path / "no" / "copy"), code=1).stderr
