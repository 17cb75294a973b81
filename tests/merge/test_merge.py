"""Merge: a repeated merge changes nothing; a damaged file affects only itself; the store can be deleted and rebuilt."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from concurrent_runs import SIGNALLED, state
from conftest import Project

from provio.base.vocab import NS
from provio.merge import partitions
from provio.merge.runs import merge
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.store.embedded.reader import StoreReader
from provio.trace import run_source
from provio.trace.read import read_run
from provio.trace.run_source import pending


def quads(project: Project) -> set[str]:
    return set(project.provio("export", "--as", "nquads").stdout.splitlines())


@pytest.mark.integration
def test_merging_twice_changes_nothing(project: Project) -> None:
    """The second merge finds every run unchanged, and the store has the same quads."""
    project.sh("echo 1 > a")
    project.run("cat a > b; sort b > c")
    before = quads(project)
    assert "0 runs merged, 1 unchanged" in project.provio("merge").stderr
    assert quads(project) == before


@pytest.mark.integration
def test_a_run_merged_by_older_rules_is_merged_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version may conclude more from the same trace files: so does a query."""
    project.sh("echo 1 > a")
    project.run("cat a > b")
    project.run("cat b > c")
    home = Home(project.path / ".provio")
    monkeypatch.setattr(run_source, "RULES", run_source.RULES - 1)
    merge(home)
    assert pending(home) == []
    monkeypatch.undo()
    assert len(pending(home)) == 2
    assert project.data("c") == {"a", "b"}
    assert pending(home) == []
    assert "0 runs merged, 2 unchanged" in project.provio("merge").stderr


def test_a_run_merged_by_other_rules_leaves_all_pending(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version, which has these files too, merges one run: which runs have its rules is unknown then."""
    home = Home(project.path / ".provio")
    project.sh("echo 1 > a")
    for name in "bc":
        project.watch("cp", "a", name)
    project.provio("run", "--no-merge", "--", "cp", "a", "d")
    monkeypatch.setattr(run_source, "RULES", run_source.RULES + 1)
    merge(home, home.run_folders()[-1:])
    assert len(pending(home)) == 3
    monkeypatch.undo()
    assert len(pending(home)) == 3
    assert "1 run merged, 2 unchanged" in project.provio("merge").stderr
    assert pending(home) == []


def test_the_runs_of_a_snapshot_of_another_version_are_pending(project: Project) -> None:
    """Which rules it used is unknown; each snapshot of this version states the rules of all its runs."""
    home = Home(project.path / ".provio")
    project.sh("echo 1 > a")
    for name in "bcd":
        project.watch("cp", "a", name)
        assert pending(home) == []
    project.provio("rm", "--yes", "last")
    assert pending(home) == []
    number = int(os.readlink(home.snapshots / "current"))
    (home.snapshots / str(number)).rename(home.snapshots / str(number + 1))
    (home.snapshots / "current").unlink()
    (home.snapshots / "current").symlink_to(str(number + 1))
    assert len(pending(home)) == 2
    assert project.data("b") == {"a"}
    assert pending(home) == []


@pytest.mark.integration
def test_a_rebuilt_store_is_the_same(project: Project) -> None:
    """The Turtle files are the source of truth: after deleting the store, a merge gives the same quads."""
    project.sh("echo 1 > a")
    project.run("tar cf - a | gzip -n > b")
    project.watch("cp", "b", "c")
    before = quads(project)
    shutil.rmtree(project.path / ".provio" / "store")
    shutil.rmtree(project.path / ".provio" / "snapshots")
    project.provio("merge")
    assert quads(project) == before


def test_files_written_by_a_merge_are_private(project: Project) -> None:
    """With any umask, post-processing results that a merge stores in the run folder are private, like all other
    files."""
    project.sh("echo 1 > a")
    project.provio("run", "--no-merge", "--", "cp", "a", "b")
    record = project.path / ".provio"
    for path in record.glob("runs/*/*/settled.ttl"):  # as after a run that was killed
        path.unlink()
    project.provio("merge", umask=0)
    assert len(list(record.glob("runs/*/*/settled.ttl"))) == 1
    assert {oct(path.stat().st_mode & 0o777) for path in record.rglob("*") if path.is_file()} == {"0o600"}


@pytest.mark.integration
def test_a_run_at_which_merges_are_killed_affects_no_other(project: Project) -> None:
    """For example a run that needs too much memory: the next merge publishes the others before it merges that run."""
    project.sh("echo 1 > a")
    for name in ("b", "c", "d"):
        project.provio("run", "--no-merge", "--name", name, "--", "cp", "a", name)
    record = project.path / ".provio"
    second = sorted((record / "runs").iterdir())[1].name
    for published in (False, True, True):
        command = [sys.executable, "-c", SIGNALLED, "SIGKILL", second, "merge"]
        done = subprocess.run(command, cwd=project.path, env=project.env, check=False)
        assert done.returncode == -signal.SIGKILL
        assert (record / "snapshots" / "current").exists() == published
    names = {quad.object.value for quad in StoreReader(Home(record)).store if quad.predicate.value == NS + "name"}
    assert {"b", "c", "d"} & names == {"b", "d"}
    assert "1 run merged, 2 unchanged" in project.provio("merge").stderr
    assert not (record / "store.merging").exists()


def test_an_invalid_run_keeps_its_earlier_graph(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that has become invalid is reported, and its earlier graph stays."""
    project.sh("echo 1 > a")
    project.provio("run", "--", "cp", "a", "b")
    home = Home(project.path / ".provio")
    (run,) = home.run_folders()
    before = {str(quad) for quad in StoreReader(home).store}
    (run / "run.ttl").write_text((run / "run.ttl").read_text() + "\n# changed\n")

    def fails(*_: object) -> None:
        raise ValueError("no conclusion")

    monkeypatch.setattr(partitions, "conclude", fails)
    assert merge(home).damages == [f"{run}: cannot be merged (ValueError: no conclusion)"]
    assert {str(quad) for quad in StoreReader(home).store} == before


def test_no_merge_leaves_the_run_pending_and_the_next_question_merges_it(project: Project) -> None:
    """--no-merge reports that; lineage answers nevertheless."""
    project.sh("echo 1 > a")
    done = project.provio("run", "--no-merge", "--", "cp", "a", "b")
    assert "pending" in done.stderr
    assert project.data("b") == {"a"}


@pytest.mark.integration
def test_the_end_of_a_run_does_not_wait_for_a_busy_store(project: Project) -> None:
    """While another process holds the store, a run ends at once and is merged later."""
    project.sh("echo 1 > a")
    project.watch("true")
    with (project.path / ".provio" / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = project.provio("run", "--", "cp", "a", "b")
        assert "pending" in done.stderr
        fcntl.flock(lock, fcntl.LOCK_UN)
    assert project.data("b") == {"a"}


@pytest.mark.integration
def test_a_damaged_file_is_reported_and_affects_only_itself(project: Project) -> None:
    """Garbage in one thread file: its line is reported, its valid prefix and every other file are kept, the exit
    code is 1."""
    project.sh("echo 1 > a; echo 2 > b")
    project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", "cat a > x; cat b > y")
    victim = next(path for path in project.trace_files() if b'"cat b"' in path.read_bytes())
    data = victim.read_bytes()
    lines = data.split(b"\n")
    lines.insert(3, b" <broken \xff\xfe this is not Turtle .")
    victim.write_bytes(b"\n".join(lines[:4]) + b"\n")
    done = project.provio("merge", code=1)
    assert f"{victim}:4:" in done.stderr
    assert project.data("x") == {"a"}
    assert project.count('?p a provio:Process ; provio:argv "cat b"') == 1
    again = project.provio("merge", code=1)
    assert f"{victim}:4:" in again.stderr
    assert "0 runs merged, 1 unchanged" in again.stderr


def test_an_empty_name_is_no_run(project: Project) -> None:
    """`provio merge ""` names no run, also if there is only one."""
    project.watch("true")
    done = project.provio("merge", "", code=3)
    folder = project.path / ".provio" / "runs"
    assert (done.stdout, done.stderr) == ("", f"provio: no run id starts with '' in {folder}: provio runs lists them\n")


@pytest.mark.integration
def test_an_empty_and_a_foreign_file_do_no_harm(project: Project) -> None:
    """An empty file and Turtle of another tool are merged with their content."""
    project.sh("echo 1 > a")
    project.provio("run", "--quiet", "--no-merge", "--", "cp", "a", "b")
    folder = project.trace_files()[0].parent
    (folder / "empty.ttl").write_bytes(b"")
    (folder / "foreign.ttl").write_text("<urn:a> <urn:b> 'c' .\n")
    project.provio("merge")
    assert project.data("b") == {"a"}


@pytest.mark.integration
def test_a_pending_run_is_not_forgotten_when_a_later_one_is_merged(project: Project) -> None:
    """The merge of one run does not affect whether others are pending."""
    project.sh("echo 1 > a")
    project.provio("run", "--quiet", "--no-merge", "--", "cp", "a", "b")
    project.watch("cp", "a", "c")
    assert project.data("b") == {"a"}


@pytest.mark.integration
def test_a_run_merged_before_the_clock_was_set_back_is_checked_again(project: Project) -> None:
    """A mark with a future time does not hide later changes."""
    project.sh("echo 1 > a")
    project.watch("cp", "a", "b")
    for note in (project.path / ".provio" / "snapshots" / "merged").iterdir():
        os.utime(note, (time.time() + 7200,) * 2)
    (folder,) = (project.path / ".provio" / "runs").iterdir()
    head = folder / "run.ttl"
    head.write_text(head.read_text() + f'<https://w3id.org/provio/run/{folder.name}> <{NS}name> "late" .\n')
    assert "late" in project.provio("runs").stdout


def spoil_integer(folder: Path) -> None:
    file = next(folder.glob("*/*.0.ttl"))
    file.write_bytes(file.read_bytes().replace(b":size ", b':size "x" ; :flags ', 1))


def spoil_end(folder: Path) -> None:
    (folder / "run.ttl").write_text((folder / "run.ttl").read_text().replace(":exitCode 0", ':exitCode "zz"'))


SPOILED = {
    "an integer that is none": spoil_integer,
    "an exit code that is none": spoil_end,
    "no run.ttl": lambda folder: (folder / "run.ttl").unlink(),
    "a trace folder of another user": lambda folder: (
        (folder / "run.ttl")
        .open("a")
        .write(f'<https://w3id.org/provio/run/{folder.name}> <https://w3id.org/provio/ns#traceFolder> "/proc/1" .\n')
    ),
    "a folder named as a thread file": lambda folder: next(folder.glob("*/")).joinpath("d.ttl").mkdir(),
    "a FIFO named as a thread file": lambda folder: os.mkfifo(next(folder.glob("*/")) / "f.ttl"),
    "a dangling link": lambda folder: next(folder.glob("*/")).joinpath("l.ttl").symlink_to("nowhere"),
    "a folder that is no run": lambda folder: folder.parent.joinpath("st range>").mkdir(),
    "binary noise": lambda folder: next(folder.glob("*/")).joinpath("9.9.0.0.ttl").write_bytes(bytes(range(256)) * 99),
    "one long literal": lambda folder: (
        next(folder.glob("*/")).joinpath("9.9.0.0.ttl").write_text('<urn:a> <urn:b> "' + "x" * 20_000_000 + '" .\n')
    ),
}


@pytest.mark.parametrize("how", sorted(SPOILED))
@pytest.mark.integration
def test_an_invalid_run_affects_only_itself(project: Project, how: str) -> None:
    """For any content of a run folder, other runs answer, and no traceback is shown."""
    project.sh("echo 1 > a")
    project.provio("run", "--quiet", "--no-merge", "--", "cp", "a", "b")
    SPOILED[how](next((project.path / ".provio" / "runs").iterdir()))
    project.watch("cp", "a", "c")
    assert project.data("c") == {"a"}
    done = project.provio("merge", code=None)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1)


def damage(folder: Path, pattern: str) -> None:
    for file in folder.glob(pattern):
        file.write_bytes(b"garbage")


BROKEN = {
    "store: every file": lambda home: damage(home / "store", "*"),
    "store: no CURRENT": lambda home: (home / "store" / "CURRENT").unlink(),
    "snapshot: every file": lambda home: damage(home / "snapshots" / "current", "*"),
    "snapshot: missing": lambda home: shutil.rmtree((home / "snapshots" / "current").resolve()),
    "version: empty": lambda home: (home / "store.version").write_text(""),
    "both: missing": lambda home: [shutil.rmtree(home / name) for name in ("store", "snapshots")],
}


@pytest.mark.parametrize("how", sorted(BROKEN))
@pytest.mark.integration
def test_a_broken_store_is_rebuilt(project: Project, how: str) -> None:
    """The run folders contain everything: a store that cannot be opened is rebuilt, with the same answers."""
    project.sh("echo 1 > a")
    project.watch("cp", "a", "b")
    before = quads(project)
    BROKEN[how](project.path / ".provio")
    project.watch("cp", "b", "c")
    assert project.data("c") == {"a", "b"}
    assert before <= quads(project)


def test_a_store_that_cannot_be_written_still_answers(project: Project) -> None:
    """If pending runs cannot be merged, lineage reports that and answers from them nevertheless."""
    project.sh("echo 1 > a")
    project.watch("cp", "a", "b")
    project.provio("run", "--quiet", "--no-merge", "--", "cp", "b", "c")
    (project.path / ".provio" / "lock").unlink()
    (project.path / ".provio" / "lock").mkdir()
    done = project.provio("lineage", "c")
    assert "1 run pending" in done.stderr
    assert "cp a b" in done.stdout


@pytest.mark.integration
def test_a_process_that_outlives_its_run(project: Project) -> None:
    """The next query merges the reads and writes of a daemon after its run was merged."""
    project.sh("echo 1 > a; echo 2 > b")
    code = (
        "import os, time\nold = open('a').read()\nout = open('x', 'w'); out.write(old); out.flush()\nmore = open('b')\n"
        "child = os.fork()\nif child == 0:\n    os.setsid(); os.closerange(0, 3)\n"
        "    while not os.path.exists('go'): time.sleep(0.05)\n    out.write(more.read()); out.flush()\n"
        "else:\n    open('daemon', 'w').write(str(child))\nos._exit(0)\n"
    )
    (project.path / "daemon.py").write_text(code)
    project.watch("python3", "daemon.py")
    assert project.data("x") == {"a"}
    daemon, deadline = int((project.path / "daemon").read_text()), time.monotonic() + 60
    assert state(daemon) not in ("", "Z")
    project.sh("touch go")
    while state(daemon) not in ("", "Z"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert project.data("x") == {"a", "b", "x"}


@pytest.mark.integration
def test_a_file_of_a_far_year(project: Project) -> None:
    """A time of twenty digits (ns) is a valid number: the file is read, copied and queried."""
    project.sh("echo 1 > a; touch -d 2300-01-01T00:00:00Z a")
    project.watch("cp", "-p", "a", "b")
    assert "a" in project.data("b")
    assert project.count('?v a provio:FileVersion ; provio:modified ?m FILTER(CONTAINS(STR(?m), "2300-01-01"))') == 2


@pytest.mark.integration
def test_the_source_of_a_copy_in_a_damaged_part(project: Project) -> None:
    """A copy from an opening in the damaged part is lost, and no other file of the run."""
    project.sh("echo 1 > a; echo 2 > c")
    project.provio("run", "--no-merge", "--", "bash", "-c", "cp a b; cat c > d")
    for path in project.trace_files():
        inode = rb'(:path "[^"]*/a" *; :opening "(?:[^ "]+ ){11})\d+'
        path.write_bytes(re.sub(inode, rb"\g<1>" + b"1" * 30, path.read_bytes()))
    project.provio("merge", code=1)
    assert project.data("d") == {"c"}


@pytest.mark.integration
def test_rebuild_gives_the_same_store(project: Project) -> None:
    """`merge --rebuild` gives the same quads for any order of runs; names of runs are a usage error."""
    project.sh("echo 1 > a")
    project.watch("cp", "b", "c", code=1)
    project.run("tar cf - a | gzip -n > b")
    project.watch("cp", "b", "c")
    before = quads(project)
    shutil.rmtree(project.path / ".provio" / "store")
    assert "3 runs merged, 0 unchanged" in project.provio("merge", "--rebuild").stderr
    assert quads(project) == before
    assert {path.name for path in (project.path / ".provio").glob("store*")} == {"store", "store.version"}
    project.provio("merge", "--rebuild", "x", code=2)


@pytest.mark.integration
def test_a_change_in_the_second_of_the_merge_is_pending(project: Project) -> None:
    """If a network file system stores whole seconds, times do not show the order."""
    project.run("echo 1 > out")
    home = Home(project.path / ".provio")
    [folder] = home.run_folders()
    second = (time.time_ns() // 10**9 + 1) * 10**9
    time.sleep(2)
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, ns=(second, second), follow_symlinks=False)
    os.utime(home.marks / folder.name, ns=(second, second))
    settings = Config().conclusions
    assert run_source.pending(home, settings) == [folder]
    os.utime(home.marks / folder.name, ns=(second + 1, second + 1))
    assert run_source.pending(home, settings) == []


def test_a_write_between_reading_and_merging_is_pending(project: Project) -> None:
    """A process that outlives its run writes while the end of the run waits for the store: the next query includes
    it."""
    project.sh("echo 1 > a")
    project.provio("run", "--quiet", "--no-merge", "--", "cp", "a", "b")
    home = Home(project.path / ".provio")
    [folder] = home.run_folders()
    trace = read_run(folder)
    thread = next(path for path in folder.rglob("*.0.ttl"))
    thread.write_bytes(thread.read_bytes() + b"# more\n")
    merge(home, known=trace)
    assert run_source.pending(home) == [folder]
    assert merge(home).merged == [folder.name]
