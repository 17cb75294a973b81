"""The setting `hash`: the SHA-256 of the files of a run, computed after the run; no process waits for them."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from background_merges import HASHING, hurry, mergers
from concurrent_runs import start, wait_for
from conftest import Project, in_memory, provio_command

from provio.merge import hashing
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.system import child
from provio.trace.content_requests import request

tmp_path = in_memory

PATH = "?v prov:specializationOf/provio:path ?n OPTIONAL { ?v provio:path ?own } BIND(COALESCE(?own, ?n) AS ?path)"
HASHES = f"SELECT DISTINCT ?path ?hash {{ ?v provio:sha256 ?hash . {PATH} }}"


def hashes(project: Project) -> dict[str, str]:
    """Return the SHA-256 of each version that has one, by path relative to the project."""
    return {os.path.relpath(row["path"], project.path): row["hash"] for row in project.rows(HASHES)}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def notes(project: Project) -> list[str]:
    """Return the runs with pending requests."""
    return [name for name in os.listdir(project.path / ".provio" / "hashing") if name != "lock"]


def wait_for_hashes(project: Project) -> None:
    """Wait for the background process and its merge, for which no query waits."""
    deadline = time.monotonic() + 300
    while notes(project):
        assert time.monotonic() < deadline
        for process in mergers(project.path / ".provio", HASHING):
            hurry(process)
        time.sleep(0.05)
    project.provio("merge")


@pytest.mark.integration
def test_exactly_the_files_of_a_run_have_hashes(project: Project) -> None:
    """Non-empty products and inputs, under their last names, also copies; neither system files nor overwritten
    content."""
    project.sh("echo in > in; echo old > twice")
    script = "head -c 1 in > out; cp out copy; echo 1 > twice; echo 2 > twice; "
    script += ": > empty; echo t > tmp; rm tmp; mv copy moved"
    project.provio("run", "--hash", "--quiet", "--", "bash", "-c", script)
    wait_for_hashes(project)
    assert hashes(project) == {name: digest(project.path / name) for name in ("in", "out", "moved", "twice")}
    assert project.count("?gap a provio:Gap") == 0


@pytest.mark.integration
def test_hashes_are_in_an_answer_without_anybody_merging(project: Project) -> None:
    """The background merge or the next query adds them, without `provio merge`."""
    project.provio("run", "--hash", "--quiet", "--", "sh", "-c", "echo x > x")
    deadline = time.monotonic() + 60
    while not hashes(project):
        assert time.monotonic() < deadline
    assert hashes(project) == {"x": digest(project.path / "x")}
    assert "0 runs merged, 1 unchanged" in project.provio("merge").stderr


@pytest.mark.integration
def test_without_the_setting_there_are_none(project: Project) -> None:
    """Neither hashes nor a folder for them if no content is read at all; `--no-hash` overrides provio.toml."""
    (project.path / "provio.toml").write_text("hash = true\n")
    del project.env["PROVIO_HASH"]
    project.env |= {"PROVIO_RECORD_PARAMETER_FILES": "", "PROVIO_RECORD_METRIC_FILES": ""}
    project.provio("run", "--no-hash", "--quiet", "--", "sh", "-c", "echo x > x")
    assert (hashes(project), (project.path / ".provio" / "hashing").exists()) == ({}, False)
    project.run("echo y > y")
    wait_for_hashes(project)
    assert hashes(project) == {"y": digest(project.path / "y")}


@pytest.mark.integration
def test_no_process_waits_for_the_hashes(project: Project) -> None:
    """A reader of the output sees its end while a large file is being hashed; a query is answered at that time."""
    hold = project.path / ".provio" / "hashing"
    hold.mkdir()
    with (hold / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [*provio_command(), "run", "--hash", "--", "sh", "-c", "echo x > x; exit 7"]
        piped = subprocess.run(
            ["bash", "-c", '"$@" 2>&1 | cat; exit ${PIPESTATUS[0]}', "bash", *command],
            cwd=project.path, env=project.env, capture_output=True, text=True, timeout=50,
        )  # fmt: skip
        assert piped.returncode == 7
        assert piped.stdout.endswith("; hashes follow\n")
        assert (hashes(project), len(notes(project))) == ({}, 1)
        assert project.provio("lineage", "x").stdout.startswith("x  2 B\n")
    project.provio("merge")
    assert hashes(project) == {"x": digest(project.path / "x")}


@pytest.mark.integration
def test_hashing_continues_after_a_kill(project: Project) -> None:
    """After a kill there is a request, a completed line and a partial one: the next merge completes the request."""
    project.run("echo x > x; echo y > y")
    run = next((project.path / ".provio" / "runs").iterdir())
    place = project.path / ".provio" / "hashing"
    found = os.stat(project.path / "x")
    iri = f"https://w3id.org/provio/run/{run.name}/{os.uname().nodename}/hash/{found.st_ino}.{found.st_mtime_ns}"
    (version,) = {
        row["v"] for row in project.rows(f'SELECT ?v {{ ?v a ?c FILTER(CONTAINS(STR(?v), "/{found.st_ino}.")) }}')
    }
    numbers = version.rpartition("/")[2].split(".")
    facts = f':device "{os.major(found.st_dev)}:{os.minor(found.st_dev)}" ; :inode {numbers[0]} ; :birthNs {numbers[1]}'
    facts += f" ; :mtimeNs {numbers[2]} ; :size {numbers[3]}"
    (place / run.name).write_text(f'all\n<{iri}> {facts} ; :sha256 "{"0" * 64}" .\n<https://cut')
    project.run("true")  # the next merge
    wait_for_hashes(project)
    assert hashes(project) == {"x": "0" * 64, "y": digest(project.path / "y")}


@pytest.mark.slow
def test_one_process_hashes_for_a_folder_at_a_time(project: Project) -> None:
    """After ten concurrent runs every hash exists, and no process is left."""
    project.run("true")
    running = [
        subprocess.Popen(
            [*provio_command(), "run", "--hash", "--quiet", "--", "sh", "-c", f"echo {n} > out{n}"],
            cwd=project.path, env=project.env,
        )
        for n in range(10)
    ]  # fmt: skip
    assert [process.wait(120) for process in running] == [0] * 10
    wait_for_hashes(project)
    assert hashes(project) == {f"out{n}": digest(project.path / f"out{n}") for n in range(10)}


@pytest.mark.integration
def test_a_file_that_changed_since_is_a_gap(project: Project) -> None:
    """A change between the run and the hashing is a Gap; a FIFO in its place is never opened."""
    project.run("echo x > x; echo y > y; echo z > z")
    run = next((project.path / ".provio" / "runs").iterdir())
    request(Home(project.path / ".provio"), run.name, Config(hash="all"))
    project.sh("echo more >> x; rm y; mkfifo y")
    project.provio("merge")
    assert hashes(project) == {"z": digest(project.path / "z")}
    gaps = project.rows(f"SELECT ?path ?reason {{ ?g provio:about ?v ; provio:reason ?reason . {PATH} }}")
    assert {(os.path.basename(row["path"]), row["reason"]) for row in gaps} == {
        ("x", "changed before its SHA-256 was computed: its SHA-256 is not known"),
        ("y", "is no regular file: its SHA-256 is not known"),
    }


@pytest.mark.integration
def test_hashing_leaves_the_times_of_the_files_alone(project: Project) -> None:
    """The access times of hashed files do not change."""
    project.run("echo x > x")
    os.utime(project.path / "x", ns=(1, os.stat(project.path / "x").st_mtime_ns))
    run = next((project.path / ".provio" / "runs").iterdir())
    request(Home(project.path / ".provio"), run.name, Config(hash="all"))
    project.provio("merge")
    assert (hashes(project), os.stat(project.path / "x").st_atime_ns) == ({"x": digest(project.path / "x")}, 1)


LONG = "a content that is not equal by chance"
TIES = "SELECT ?from ?to { GRAPH ?g { ?a provio:%s ?b } ?a prov:specializationOf/provio:path ?from . "
TIES += "?b prov:specializationOf/provio:path ?to }"


def ties(project: Project, word: str) -> set[tuple[str, str]]:
    """Return the pairs of files that a property joins, by name."""
    return {(os.path.basename(row["from"]), os.path.basename(row["to"])) for row in project.rows(TIES % word)}


@pytest.mark.slow
def test_equal_content_is_an_alternate_and_ties_no_lineage(project: Project) -> None:
    """Within a run and between two: equal text from different inputs; empty files are not equal content."""
    project.sh("echo x > in1; sleep 0.02; echo y > in2")
    project.hashed("bash", "-c", "wc -l < in1 > a; : > e1")
    project.hashed("bash", "-c", "wc -l < in2 > b; wc -l < in1 > c; : > e2")
    assert ties(project, "sameContentAs") == {("b", "a"), ("c", "a")}
    assert project.count("?x prov:alternateOf ?y") == 0
    assert (project.data("a"), project.data("b"), project.data("c")) == ({"in1"}, {"in2"}, {"in1"})
    assert project.descendants("in1") == {"data": {"a", "c"}, "carried": set(), "control": set()}


@pytest.mark.slow
def test_an_untracked_copy_comes_from_the_one_file_that_has_its_content(project: Project) -> None:
    """A copy made unobserved and read by a later run has the lineage of the original."""
    project.sh(f"echo {LONG} > in")
    project.hashed("bash", "-c", "sort in in > out")
    project.sh("cp out copy")
    project.hashed("bash", "-c", "cat copy copy > end")
    assert ties(project, "contentFrom") == {("copy", "out")}
    assert project.data("end") == {"copy", "out", "in"}
    assert project.data("out") == {"in"}
    assert project.descendants("in")["data"] == {"out", "copy", "end"}
    assert project.descendants("copy")["data"] == {"end"}


@pytest.mark.integration
def test_an_input_never_comes_from_the_copy_that_was_made_of_it(project: Project) -> None:
    """Copies by a program, with and without the original's times: the original is older."""
    project.sh(f"echo {LONG} > in")
    project.hashed("bash", "-c", "cat in > out; cp -p in kept; cat in > again")
    assert ties(project, "contentFrom") == set()
    assert (project.ancestors("in"), project.data("out")) == (
        {"data": set(), "carried": set(), "control": set()},
        {"in"},
    )


@pytest.mark.slow
def test_other_content_with_the_same_times_and_size(project: Project) -> None:
    """It is a gap of its products, as long as both runs are recorded; other permissions are none."""
    project.hashed("bash", "-c", "echo one > x; echo one > k")
    project.sh("touch -r x time; echo two > x; touch -r time x; chmod 600 k")
    project.hashed("bash", "-c", "cat x > y; cat k > z")
    reason = "other content had the same time and size: its SHA-256 differs, and the change was not seen"
    assert [gap["reason"] for gap in project.lineage("y")["gaps"]] == [reason]
    assert project.lineage("z")["gaps"] == []
    project.provio("rm", "--yes", "last")
    assert project.lineage("x")["gaps"] == []


@pytest.mark.slow
def test_of_several_origins_none_is_chosen(project: Project) -> None:
    """With two files of the same content before the copy there is a Gap, and no ancestor."""
    project.sh(f"echo {LONG} > in")
    project.hashed("bash", "-c", "sort in in > out1; sort in in > out2")
    project.sh("cp out1 copy")
    project.hashed("bash", "-c", "cat copy copy > end")
    assert ties(project, "contentFrom") == set()
    assert project.data("end") == {"copy"}
    reason = "has the content that 2 recorded files had before it: which it comes from is not known"
    assert [gap["reason"] for gap in project.lineage("end")["gaps"]] == [reason]
    assert reason in project.provio("why", "copy", code=3).stderr


@pytest.mark.slow
def test_the_order_of_merges_changes_nothing_of_equal_content(project: Project) -> None:
    """A store rebuilt from the folders, newest first, has the same content."""
    project.sh(f"echo {LONG} > in")
    project.hashed("bash", "-c", "sort in in > out")
    project.sh("cp out copy")
    project.hashed("bash", "-c", "cat copy copy > end")
    query = "SELECT ?s ?p ?o { GRAPH <https://w3id.org/provio/derived/content> { ?s ?p ?o } } ORDER BY ?s ?p ?o"
    before = project.rows(query)
    project.sh("rm -r .provio/store .provio/snapshots")
    runs = sorted(path.name for path in (project.path / ".provio" / "runs").iterdir())
    for run in reversed(runs):
        project.provio("merge", run)
    assert (len(before), project.rows(query)) == (3, before)


@pytest.mark.integration
def test_equal_content_is_followed_among_chosen_runs(project: Project) -> None:
    """If both runs are in the queried campaign, the copy between them is followed as without a campaign."""
    project.sh(f"echo {LONG} > in")
    project.provio("run", "--hash", "--campaign", "c", "--quiet", "--", "bash", "-c", "sort in in > out")
    project.provio("merge", "--quiet")
    project.sh("cp out copy")
    project.provio("run", "--hash", "--campaign", "c", "--quiet", "--", "bash", "-c", "cat copy copy > end")
    project.provio("merge", "--quiet")
    chosen = project.lineage("end", "--campaign", "c")
    assert {node["label"] for node in chosen["nodes"] if node["type"] == "FileVersion"} == {"end", "copy", "out", "in"}


@pytest.mark.integration
def test_a_run_that_cannot_be_hashed_is_not_tried_for_ever(project: Project) -> None:
    """After disk errors a request is repeated for a day, then dropped; other runs get their hashes."""
    project.provio("run", "--hash", "--quiet", "--no-merge", "--", "sh", "-c", "echo 1 > a")
    home = Home(project.path / ".provio")
    (new,) = home.run_folders()
    wait_for_hashes(project)
    old = new.with_name("00000000" + new.name[8:])
    shutil.copytree(new, old)
    for folder in (new, old):
        for path in folder.glob("*/*.ttl"):
            path.write_bytes(path.read_bytes().replace(new.name.encode(), folder.name.encode()))
        (host,) = (path for path in folder.iterdir() if path.is_dir())
        (host / "hashes.ttl").unlink()
        (host / "hashes.new").mkdir()
        request(home, folder.name, Config(hash="all"))
    assert hashing.finish(home, Config()) == []
    assert notes(project) == [new.name]
    next(new.glob("*/hashes.new")).rmdir()
    assert hashing.finish(home, Config()) == [new.name]
    assert notes(project) == []


def run_limited(project: Project, script: str, *options: str) -> None:
    """Run a script with `hash = auto`, and leave the run pending."""
    env = project.env | {"PROVIO_HASH": "auto"}
    project.provio("run", "--quiet", "--no-merge", *options, "--", "bash", "-c", script, env=env)


@pytest.mark.integration
def test_a_merge_hashes_products_inputs_and_scripts_at_once(project: Project) -> None:
    """With `hash = auto`: in the same merge, so that the run is not merged again; `--no-hash` requests no hashes."""
    project.sh("echo in > in; echo 'cat in > out; : > empty' > step.sh")
    run_limited(project, "bash step.sh")
    run_limited(project, "echo other > other", "--no-hash")
    assert len(notes(project)) == 2
    assert "2 runs merged" in project.provio("merge").stderr
    assert hashes(project) == {name: digest(project.path / name) for name in ("in", "out", "step.sh")}
    assert notes(project) == []
    assert "0 runs merged, 2 unchanged" in project.provio("merge").stderr


@pytest.mark.integration
def test_beyond_the_limits_there_is_neither_a_hash_nor_a_gap(project: Project) -> None:
    """With `hash = auto`: a file with holes, one that changed before the merge, one that was replaced."""
    run_limited(project, "truncate -s 1M holes; echo x > changed; echo x > replaced; echo x > kept")
    project.sh("echo more >> changed; rm replaced; mkfifo replaced")
    project.provio("merge")
    assert hashes(project) == {"kept": digest(project.path / "kept")}
    assert project.count("?gap a provio:Gap") == 0


@pytest.mark.integration
def test_a_query_hashes_nothing_and_the_next_merge_does(project: Project) -> None:
    """In a batch job: the query merges the run and starts no process; the request stays."""
    run_limited(project, "echo x > x")
    job = project.env | {"SLURM_JOB_ID": "7"}
    assert project.provio("lineage", "x", env=job).stdout.startswith("x  2 B\n")
    assert (len(notes(project)), hashes(project)) == (1, {})
    assert "1 run merged" in project.provio("merge").stderr
    assert hashes(project) == {"x": digest(project.path / "x")}


@pytest.mark.integration
def test_a_touch_and_an_identical_rerun_are_no_change(project: Project) -> None:
    """The new versions have the same content as the old ones. The one that was touched is still the file of before, and
    there is no lineage between the results."""
    project.sh(f"echo {LONG} > in")
    run_limited(project, "sort in in > out; cat in > copy")
    project.provio("merge", "--quiet")
    project.sh("sleep 0.02; touch in")
    run_limited(project, "rm out; sort in in > out")
    project.provio("merge", "--quiet")
    assert ties(project, "sameContentAs") == {("in", "copy"), ("out", "out")}
    assert project.count("?in prov:alternateOf ?before . ?in prov:specializationOf/provio:path ?path") == 1
    project.sh("touch in out")
    assert project.provio("verify").stdout.splitlines()[-1] == "1 same, 2 touched"


@pytest.mark.integration
def test_the_files_of_a_large_run_are_hashed_in_its_partitions(project: Project) -> None:
    """A run that is read in partitions, with files that several of them read."""
    project.sh("echo in > in")
    run_limited(project, "for n in 1 2 3; do cat in > out$n; done")
    script = "import sys; from provio.merge import job; job.MANY, job.WHOLE = 1, 100; "
    script += "from provio.cli.main import main; sys.argv = ['provio', 'merge', '--quiet']; main()"
    subprocess.run([sys.executable, "-c", script], cwd=project.path, env=project.env, check=True, timeout=100)
    assert hashes(project) == {name: digest(project.path / name) for name in ("in", "out1", "out2", "out3")}


@pytest.mark.integration
def test_a_run_that_ends_while_others_are_hashed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts no process, because one is running: that one hashes it too."""
    home = Home(project.path / ".provio")
    project.provio("run", "--hash=auto", "--quiet", "--no-merge", "--", "sh", "-c", "echo 1 > first")
    waiting = start(
        project, "sh", "-c", "echo > ready; while ! test -e go; do sleep 0.01; done; echo 2 > second",
        PROVIO_HASH="auto", PROVIO_MERGE="wait",
    )  # fmt: skip
    wait_for(project.path / "ready")
    assert len(notes(project)) == 2
    execute = hashing._execute

    def until_the_run_ended(*arguments: Any) -> list[str]:
        done = execute(*arguments)
        (project.path / "go").touch()
        assert waiting.wait(timeout=120) == 0
        return done

    monkeypatch.setattr(hashing, "_execute", until_the_run_ended)
    monkeypatch.setattr(child, "give_way", lambda: None)
    monkeypatch.setattr(os, "chdir", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["", str(home.path)])
    hashing.main()
    assert notes(project) == []
    project.provio("merge", "--quiet")
    assert hashes(project) == {name: digest(project.path / name) for name in ("ready", "first", "second")}
