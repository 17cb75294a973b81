"""`provio rm`: a run is removed with all conclusions from it; every other answer is as if the run had never existed."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from itertools import permutations
from pathlib import Path

import pyoxigraph as ox
import pytest
import steps
from concurrent_runs import children, growing, shell, start, wait_for, while_one_runs
from conftest import Project, in_memory, provio_command
from filesystems import mount

from provio.base.errors import StoreError
from provio.base.vocab import RUN_BASE
from provio.merge.removal import remove
from provio.merge.runs import merge
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.store import open_reader
from provio.trace import liveness

tmp_path = in_memory


def quads(home: Path) -> set[str]:
    """Return all published quads, including the index."""
    return set(str(open_reader(Home(home)).dataset(None, ox.RdfFormat.N_QUADS), "utf-8").splitlines())


def runs(home: Path) -> list[str]:
    return sorted(entry.name.partition(".")[0] for entry in (home / "runs").iterdir())


def over_a_file(project: Project) -> None:
    """Record a writer, a reader of its intermediate output, and a reader of the final one."""
    writer = growing(project, "wb")
    project.run("cat x > z")
    project.sh("touch seen")
    assert writer.wait(timeout=60) == 0
    project.run("cat x > y")


def over_a_pipe(project: Project) -> None:
    """Record three runs joined by pipes."""
    shell(project, "$provio cat a | $provio sort -r | $provio gzip -n > x.gz")


def unseen(project: Project) -> None:
    """Record a run during which a file appears, the maker of an earlier version of the file, and its reader."""
    project.run("cat a > new")
    with while_one_runs(project):
        project.sh("echo 4 > new")
        project.run("cat new > d")


def equal(project: Project) -> None:
    """Record two runs that made the same content, and a reader of an unobserved copy."""
    for name in ("b", "c"):
        project.provio("run", "--quiet", "--hash", "--", "cp", "a", name)
    project.sh("cp b unseen")
    project.provio("run", "--quiet", "--hash", "--", "sort", "unseen", "-o", "sorted")
    project.provio("merge")


def appended(project: Project) -> None:
    """Record a maker of a log and two runs that append to it, with a system file that is an input of one and noise
    in the other."""
    project.run("cat a > log")
    project.watch("python3", "-c", "open('log', 'a').write(open('/etc/hostname').read())")
    project.run("cat b >> log; cat /etc/hostname > h")


MET = {met.__name__: met for met in (over_a_file, over_a_pipe, unseen, equal, appended)}


@pytest.mark.parametrize("met", sorted(MET))
@pytest.mark.slow
def test_neither_the_order_of_merges_nor_a_removed_run_changes_an_answer(project: Project, met: str) -> None:
    """For three related runs the quads do not depend on the order of merges; without any one of them they equal a
    store that never had it."""
    project.sh("echo 1 > a; echo 2 > b")
    MET[met](project)
    original = project.path / ".provio"
    ids = runs(original)
    assert len(ids) == 3

    def merged(order: tuple[str, ...]) -> tuple[Path, set[str]]:
        home = project.path.parent / "home" / "record"
        shutil.rmtree(home, ignore_errors=True)
        (home / "runs").mkdir(parents=True)
        for run in order:
            shutil.copytree(original / "runs" / run, home / "runs" / run, symlinks=True)
            merge(Home(home))
        return home, quads(home)

    whole = quads(original)
    without = {run: merged(tuple(other for other in ids if other != run))[1] for run in ids}
    for order in permutations(ids):
        home, found = merged(order)
        assert found == whole, f"merged in the order {order}"
        remove(Home(home), [order[0]], Config())
        assert quads(home) == without[order[0]], f"{order[0]} removed of {order}"


@pytest.mark.slow
def test_nothing_of_a_removed_run_is_left(project: Project) -> None:
    """Its graph, files, marks and notes are removed; queries do not know its products; answers about other runs
    stay."""
    project.sh("echo 1 > a")
    project.watch("cp", "a", "b")
    kept = quads(project.path / ".provio")
    project.provio("run", "--quiet", "--name", "second", "--", "cp", "b", "c")
    home = project.path / ".provio"
    first, second = runs(home)
    done = project.provio("rm", "--yes", "second")
    assert "1 run (" in done.stderr
    assert runs(home) == [first]
    assert not [path for path in home.rglob("*") if second in path.name]
    assert quads(home) == kept
    project.provio("lineage", "c", code=3)
    project.provio("rm", "--yes", first)
    assert quads(home) == set()
    assert "nothing" in project.provio("lineage", "b", code=3).stderr


def holding(home: Path, word: str) -> set[str]:
    """Return the parts of a `.provio` with a word in their files on disk."""
    files = [path for path in home.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]
    return {path.relative_to(home).parts[0] for path in files}


@pytest.mark.slow
def test_no_word_of_a_removed_run_is_left_on_disk(project: Project) -> None:
    """Also from the store's tables, unless --fast leaves that to a rebuild and reports it; the remaining runs answer
    as before."""
    project.sh("echo 1 > a; echo 2 > xylophone1; echo 3 > xylophone2")
    project.watch("cp", "a", "b")
    home = project.path / ".provio"
    kept = quads(home)
    project.watch("cp", "xylophone1", "c")
    assert {"runs", "store", "snapshots"} == holding(home, "xylophone1")
    assert "merge --rebuild" not in project.provio("rm", "--yes", "last").stderr
    assert holding(home, "xylophone1") == set()
    assert (quads(home), project.data("b")) == (kept, {"a"})
    project.watch("cp", "xylophone2", "c")
    assert (
        "stay in the store's tables until provio merge --rebuild"
        in project.provio("prune", "--fast", "--yes", "--older-than", "0h").stderr
    )
    assert {"store", "snapshots"} == holding(home, "xylophone2")
    project.provio("merge", "--rebuild")
    assert holding(home, "xylophone2") == set()


KILLED = "import os, sys; from provio.cli import main as cli; from provio.merge import removal; "
KILLED += "removal._remove_terms = lambda *_: os.kill(os.getpid(), 9); "
KILLED += "sys.argv = ['provio', 'rm', '--yes', 'last']; cli.main()"


@pytest.mark.slow
def test_words_left_by_a_killed_removal_are_removed_on_request(project: Project) -> None:
    """The end of a run and a query leave them, and they are reported; a merge, removal, prune or rebuild removes
    them."""
    project.sh("echo 1 > a; echo 2 > xylophone; echo 3 > d")
    project.watch("cp", "d", "e")
    home, said = project.path / ".provio", "words of removed runs are still in the store's tables"
    for finish in (["merge"], ["rm", "--yes", "last"], ["prune"], ["merge", "--rebuild"]):
        project.watch("cp", "xylophone", "c")
        assert subprocess.run([sys.executable, "-c", KILLED], cwd=project.path, env=project.env).returncode == -9
        project.watch("cp", "a", "b")
        assert {"store", "snapshots"} <= holding(home, "xylophone")
        assert said in project.provio("runs").stderr
        assert f"{said} → provio merge" in " ".join(project.provio("doctor", code=None).stdout.split())
        before = project.data("e")
        project.provio(*finish)
        assert (holding(home, "xylophone"), project.data("e")) == (set(), before)
        assert said not in project.provio("runs").stderr


@pytest.mark.slow
def test_a_full_disk_gives_a_remedy(project: Project, tmp_path: Path) -> None:
    """If even the store cannot be changed, one line names the files to delete first; then the removal succeeds."""
    with ExitStack() as undo:
        mount(tmp_path / "small", "ext4", undo)
        home = tmp_path / "small" / "provio"
        project.env["PROVIO_HOME"] = str(home)
        project.sh("echo 1 > a")
        project.run("for i in $(seq 30); do /bin/cat a; done")
        project.run("echo 1 > c")
        names, before = runs(home), quads(home)
        with contextlib.suppress(OSError), (tmp_path / "small" / "filler").open("wb", 0) as filler:
            while True:
                filler.write(b"x" * 4096)
        done = project.provio("rm", "--yes", names[0], code=1)
        assert "make room, or delete store, snapshots and the runs' folders" in done.stderr
        assert (done.stderr.count("\n"), runs(home), quads(home)) == (1, names, before)
        for name in ("store", "snapshots", f"runs/{names[0]}"):
            shutil.rmtree(home / name)
        assert project.count("?run a provio:Run") == 1


@pytest.mark.integration
def test_where_the_store_cannot_be_written_nothing_is_removed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run remains with its files and answers, and the next merge removes nothing."""
    project.sh("echo 1 > a")
    project.watch("cp", "a", "b")
    home = Home(project.path / ".provio")
    before, names = quads(home.path), runs(home.path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr("provio.store.embedded.snapshots.publish", full)
        with pytest.raises(StoreError, match="no run is lost"):
            remove(home, names, Config())
    assert runs(home.path) == names and not (home.path / "removed").exists()
    assert not home.words_left.exists()
    project.provio("merge")
    assert quads(home.path) == before
    assert runs(home.path) == names


@pytest.mark.integration
def test_runs_that_are_not_removed(project: Project) -> None:
    """An empty name, a prefix or name of several runs, an unknown one, or a missing confirmation: none of the named
    runs is removed."""
    project.sh("echo 1 > a")
    for name in ("b", "c"):
        project.provio("run", "--quiet", "--name", "same", "--", "cp", "a", name)
    home = project.path / ".provio"
    before, first = quads(home), runs(home)[0]
    project.provio("rm", "--yes", "", code=2)
    project.provio("rm", "--yes", code=2)
    assert "2 runs match" in project.provio("rm", "--yes", "same", code=1).stderr
    assert "2 runs match" in project.provio("rm", "--yes", "0", code=1).stderr
    project.provio("rm", "--yes", first, "ffff", code=3)
    assert "--yes" in project.provio("rm", first, code=1).stderr
    assert quads(home) == before


def test_a_process_that_ended_unwaited_for_is_not_there() -> None:
    """As in a container with an init process that reaps no children: the run does not count as in progress because
    of it."""
    with subprocess.Popen(["sleep", "60"]) as child:
        image = str(child.pid), Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19]
        assert liveness.alive(image)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not liveness.alive(image)


@pytest.mark.integration
def test_a_run_in_progress_is_not_removed(project: Project) -> None:
    """It stays while its supervisor or one of its processes exists; after these have ended, also by a kill, it can
    be removed."""
    project.sh("echo 1 > a")
    script = "cat a > b; (sleep 600; cat a > c) >&- 2>&- <&- & echo $! > pid; cat wait"
    os.mkfifo(project.path / "wait")
    supervisor = start(project, "bash", "-c", script)
    wait_for(project.path / "pid", b"\n")
    (run,) = runs(project.path / ".provio")
    assert "is in progress" in project.provio("rm", "--yes", run, code=1).stderr
    supervisor.kill()
    supervisor.wait()
    assert "is in progress" in project.provio("rm", "--yes", run, code=1).stderr
    (project.path / "wait").write_text("on")
    sleeper = int((project.path / "pid").read_text())
    for process in (sleeper, *children(sleeper)):  # `sleep` was started in the run as well
        os.kill(process, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while (done := project.provio("rm", "--yes", run, code=None)).returncode:
        assert "is in progress" in done.stderr
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert runs(project.path / ".provio") == []


@pytest.mark.integration
def test_the_processes_of_a_run_in_progress_are_named(project: Project) -> None:
    """Three of them with ids and programs, and the number of the others."""
    script = "for n in 1 2 3 4; do sleep 600 & done; echo > started; wait"
    command = [*provio_command(), "run", "--", "sh", "-c", script]
    env = project.env | {"PROVIO_RUN": "job"}
    with subprocess.Popen(command, cwd=project.path, env=env, start_new_session=True) as rank:
        try:
            wait_for(project.path / "started", b"\n")
            (run,) = runs(project.path / ".provio")
            said = project.provio("rm", "--yes", run, code=1).stderr
        finally:
            os.killpg(rank.pid, signal.SIGKILL)
    named = r"\d+ (sh|sleep)"  # a child of the shell's is one until it sleeps
    assert re.search(rf"is in progress \({named}, {named}, {named} and 2 more\): end its processes first", said)


@pytest.mark.integration
def test_a_rank_that_has_touched_nothing_yet_is_at_work(project: Project) -> None:
    """It has no file in the run yet, and no process waits for it: its later reads must not be lost."""
    env = project.env | {"PROVIO_RUN": "job"}
    with subprocess.Popen([*provio_command(), "run", "--", "sleep", "600"], cwd=project.path, env=env) as rank:
        try:
            wait_for(Path(f"/proc/{rank.pid}/comm"), b"sleep\n")
            (run,) = runs(project.path / ".provio")
            assert not list((project.path / ".provio" / "runs" / run).glob(f"*/{rank.pid}.*"))
            said = (
                f"provio: run {run} is in progress ({rank.pid} sleep): end its processes first; nothing was removed\n"
            )
            assert project.provio("rm", "--yes", run, code=1).stderr == said
            assert "0 runs" in project.provio("prune", "--yes", "--older-than", "0h").stderr
            assert "in progress" in project.provio("stats").stdout
        finally:
            rank.kill()
    project.provio("rm", "--yes", run)
    assert runs(project.path / ".provio") == []


@pytest.mark.slow
def test_a_removal_that_was_killed_is_finished(project: Project) -> None:
    """After a kill at each twelfth step the run is complete, or removed by the next merge."""
    project.sh("echo 1 > a")
    project.watch("cp", "a", "b")
    kept = quads(project.path / ".provio")
    project.watch("cp", "b", "c")
    home = project.path.parent / "home" / "record"
    env = {**project.env, "PROVIO_HOME": str(home)}
    whole = quads(project.path / ".provio")
    run = runs(project.path / ".provio")[1]
    removed, step, hit = [], 1, True
    while hit:
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(project.path / ".provio", home, symlinks=True)
        hit = steps.killed(step, env, "rm", "--yes", run, cwd=project.path)
        project.provio("merge", env=env)
        found = quads(home)
        assert found in (kept, whole), step
        removed.append(found == kept)
        assert not (home / "removed").exists()
        step += 12
    assert removed == sorted(removed) and set(removed) == {False, True}


@pytest.mark.slow
def test_runs_of_a_federated_record_are_not_removed(project: Project) -> None:
    """A run of another record is in answers, but can be removed only there."""
    project.sh("echo 1 > a; mkdir -p other/.provio")
    project.watch("cp", "a", "b")
    there = {**project.env, "PROVIO_HOME": str(project.path / "other" / ".provio")}
    project.provio("run", "--quiet", "--name", "theirs", "--", "cp", "a", "c", env=there)
    (project.path / "provio.toml").write_text('stores = ["other"]\n')
    assert project.data("c") == {"a"}
    project.provio("rm", "--yes", "theirs", code=3)
    project.provio("prune", "--older-than", "0h", "--yes")
    assert runs(project.path / ".provio") == []
    assert project.data("c") == {"a"}


@pytest.mark.slow
def test_a_store_found_damaged_costs_no_other_run(project: Project) -> None:
    """Removing a run rebuilds the store: the next query merges all remaining runs."""
    project.run("echo 1 > a")
    project.run("cat a > b")
    home = project.path / ".provio"
    first, second = runs(home)
    (home / "store" / "CURRENT").write_text("nothing\n")
    project.provio("rm", "--yes", second)
    assert [row["run"] for row in project.rows("SELECT ?run { ?run a provio:Run }")] == [RUN_BASE + first]


@pytest.mark.integration
def test_a_run_with_a_killed_archiving_is_removed(project: Project) -> None:
    """Nothing is left of its folder, which was being deleted."""
    project.run("echo 1 > a")
    home = project.path / ".provio"
    (run,) = runs(home)
    project.provio("merge", "--pack")
    (home / "runs" / f"{run}.packed").mkdir()
    (home / "runs" / f"{run}.packed" / "run.ttl").write_text("# as it was\n")
    project.provio("rm", "--yes", run)
    assert not [path for path in home.rglob("*") if run in path.name]
