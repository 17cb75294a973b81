"""Runs in progress: every answer includes their records so far, and the store contains none of them."""

from __future__ import annotations

import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import steps
from concurrent_runs import children, group_stopped, start, tell, wait_for, waits
from conftest import Project, in_memory, provio_command
from serve_process import serving

from provio.ask import live
from provio.serve import snapshot_holder
from provio.settings.home import Home
from provio.system import statx
from provio.trace import liveness, run_source

pytestmark = pytest.mark.usefixtures("merged_at_once")

tmp_path = in_memory

MOMENTS = int(os.environ.get("MOMENTS", "6"))
# Two threads and children of theirs that read, write, rename and remove the same few files, in an order by chance.
BUSY = """
import os, random, subprocess, sys, threading, time
def work(seed):
    chance = random.Random(seed)
    while not os.path.exists("enough"):
        one, other = (f"files/{chance.randrange(8)}" for _ in range(2))
        act = chance.random()
        try:
            if act < 0.5:
                with open(one) as source, open(other, chance.choice("wa")) as target:
                    target.write(source.read()[:100])
                    time.sleep(0.002)
            elif act < 0.7:
                os.rename(one, other)
            elif act < 0.8:
                subprocess.run(["cp", one, other], stderr=subprocess.DEVNULL)
            else:
                with open(one, "w") as target:
                    target.write(f"{act} ")
        except OSError:
            pass
        time.sleep(0.01)
threads = [threading.Thread(target=work, args=(int(sys.argv[1]) * 2 + number,)) for number in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
WAITS = "cat a > b; read < end; cat b > c"  # until data are written there
# The two statements of a graph's state: the hash of the files, and its name in the index.
NAMED = re.compile(r"contentHash|/derived|ontology/classes")


@pytest.fixture
def waiting(project: Project) -> Iterator[Project]:
    """A run in progress, next to one that has ended."""
    project.run("echo 1 > a")
    os.mkfifo(project.path / "end")
    run = start(project, "bash", "-c", WAITS)
    wait_for(project.path / "b", b"1")
    yield project
    if not (project.path / "c").exists():
        tell(project.path / "end", "\n")
    assert run.wait(60) == 0


def ends(project: Project) -> None:
    """Have the run end, and be merged."""
    count = len(in_store(project))
    tell(project.path / "end", "\n")
    deadline = time.monotonic() + 60
    while len(in_store(project)) == count:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def overlays(project: Project) -> set[str]:
    folder = project.path / ".provio" / "live"
    return set(os.listdir(folder)) if folder.exists() else set()


def in_store(project: Project) -> set[str]:
    return set(os.listdir(project.path / ".provio" / "snapshots" / "merged")) - {"rules", "rules.new"}


@pytest.mark.integration
def test_it_is_in_answers_and_not_in_the_store(waiting: Project) -> None:
    """Nor after another process merged; it is when the run has ended, and then the overlays are deleted."""
    before = in_store(waiting)
    asked = waiting.provio("why", "b")
    assert "cat a" in asked.stdout and re.fullmatch(
        r"as of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, run [0-9a-f]{8}-[0-9a-f]{4} is in progress\n", asked.stderr
    )
    assert waiting.data("b") == {"a"}
    assert waiting.provio("merge").stderr == "0 runs merged, 1 unchanged, 1 skipped because in progress\n"
    waiting.provio("merge", "--rebuild")
    assert in_store(waiting) == before
    ends(waiting)
    asked = waiting.provio("lineage", "c")
    assert "in progress" not in asked.stderr and "a" in asked.stdout
    assert overlays(waiting) == set()


@pytest.mark.integration
def test_a_process_that_goes_on_has_no_end(project: Project) -> None:
    """Its last recorded call is none; an ended process has its own end."""
    os.mkfifo(project.path / "end")
    run = start(project, "bash", "-c", "cat end > /dev/null & echo 1 > a; cat a > b; wait")
    wait_for(project.path / "b", b"1")
    in_progress, ended = (json.loads(project.provio("why", name, "--as", "json").stdout)["process"] for name in "ab")
    assert "end" not in in_progress and "end" in ended
    assert "in progress" in project.provio("why", "a").stdout
    tell(project.path / "end", "\n")
    assert run.wait(60) == 0
    assert json.loads(project.provio("why", "a", "--as", "json").stdout)["process"].keys() >= {"end", "exitCode"}


@pytest.mark.integration
def test_a_question_about_it_waits_for_nobody_who_merges(waiting: Project) -> None:
    """The lock of the store is another's."""
    waiting.provio("runs")
    with open(waiting.path / ".provio" / "lock", "r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "cat a" in waiting.provio("why", "b").stdout


@pytest.mark.integration
def test_what_was_made_for_one_question_answers_the_next(waiting: Project) -> None:
    """Until something more is recorded, or published."""
    waiting.provio("runs")
    made = overlays(waiting)
    assert len(made) == 1
    waiting.provio("why", "b")
    assert overlays(waiting) == made
    waiting.run("echo 2 > d")
    assert waiting.provio("why", "d").stdout and "cat a" in waiting.provio("why", "b").stdout
    assert len(overlays(waiting)) == 1 and overlays(waiting) != made


@pytest.mark.integration
def test_what_is_not_known_yet_is_not_said_to_be_unknown(waiting: Project) -> None:
    """Neither in words nor by the exit code; when the run has ended, the answer reports it."""
    (waiting.path / "x").write_text("1")
    for words in (["why", "x"], ["lineage", "gone"], ["lineage", "x", "gone"], ["verify", "x"], ["impact", "x"]):
        asked = waiting.provio(*words, code=4)
        assert "nothing is" not in asked.stdout + asked.stderr
        assert "not known" in asked.stdout + asked.stderr and "in progress" in asked.stderr
    asked = waiting.provio("lineage", "b", "--stale")
    assert "nothing" not in asked.stdout and "in progress; its inputs are unchanged" in asked.stdout
    assert "in progress" in waiting.lineage("b")["asOf"]
    ends(waiting)
    assert "nothing is recorded of" in waiting.provio("why", "x", code=3).stderr
    assert "nothing is stale" in waiting.provio("lineage", "b", "--stale").stdout


@pytest.mark.integration
def test_a_run_of_another_host_is_named_with_its_age(waiting: Project) -> None:
    """As far as this host can determine it is in progress, until it showed no sign of life for an hour."""
    waiting.provio("merge")
    copy = Project(waiting.path.with_name("copy"), waiting.env)
    shutil.copytree(waiting.path, copy.path, symlinks=True, ignore=shutil.ignore_patterns("end"))
    folder = next(path for path in (copy.path / ".provio" / "runs").iterdir() if path.name not in in_store(copy))
    head = folder / "run.ttl"
    own = statx.boot_id()
    head.write_text(re.sub(r':host "[^"]*"', ':host "node3"', head.read_text()).replace(own, "0" * len(own)))
    next(path for path in folder.iterdir() if path.is_dir()).rename(folder / "node3")
    asked = copy.provio("why", "nowhere", code=4)
    assert re.search(r"run \S+ is in progress on node3, last sign of life \S+ m?s ago", asked.stderr)
    assert folder.name not in in_store(copy)
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (time.time() - liveness.SILENT - 60,) * 2)
    assert "in progress" not in copy.provio("why", "nowhere", code=3).stderr
    assert folder.name in in_store(copy)


@pytest.mark.integration
def test_where_it_may_not_lie_in_the_record(waiting: Project, tmp_path: Path) -> None:
    """In a shared record the overlay is among the temporary files, and is deleted after the answer."""
    waiting.provio("runs")
    home, temporary = waiting.path / ".provio", tmp_path / "temporary"
    temporary.mkdir()
    shutil.rmtree(home / "live")
    home.chmod(0o2770)
    waiting.env["TMPDIR"] = str(temporary)
    asked = waiting.provio("why", "b")
    assert "cat a" in asked.stdout and "in progress" in asked.stderr
    assert overlays(waiting) == set() and list(temporary.iterdir()) == []


@pytest.mark.slow
def test_who_asks_is_killed(waiting: Project) -> None:
    """At each eighth step; nothing is lost, no process remains, and partial files are deleted."""
    waiting.provio("runs")
    step, hit = 3, True  # when the folder exists, and its lock does not
    while hit:
        shutil.rmtree(waiting.path / ".provio" / "live", ignore_errors=True)
        asking = subprocess.Popen(
            steps.until(step, "why", "b"), cwd=waiting.path, env=waiting.env, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        hit = asking.wait() == -signal.SIGKILL
        for place in (waiting.path / ".provio" / "live").glob("*"):
            if not (place / "lock").exists():
                os.utime(place, (1, 1))  # as if time had passed: it may be one that is being made
        session = subprocess.run(["ps", "-o", "pid=", "-s", str(asking.pid)], capture_output=True, text=True)
        deadline = time.monotonic() + 60
        while session.stdout.strip() and time.monotonic() < deadline:
            time.sleep(0.05)
            session = subprocess.run(["ps", "-o", "pid=", "-s", str(asking.pid)], capture_output=True, text=True)
        assert session.stdout.strip() == ""
        assert "cat a" in waiting.provio("why", "b").stdout
        waiting.run(f"echo {step} > d")
        assert "cat a" in waiting.provio("why", "b").stdout
        assert len(overlays(waiting)) == 1
        step += 8
    assert step > 40, step


def graph(project: Project) -> set[str]:
    """Return all files of a record that affect answers, except those that name its state."""
    return {line for line in project.provio("export", "--as", "nquads").stdout.splitlines() if not NAMED.search(line)}


@pytest.mark.slow
def test_it_is_answered_as_a_merge_of_what_is_there_would(project: Project) -> None:
    """At many moments, while the program is stopped."""
    project.sh("mkdir files; for n in 0 1 2 3 4 5 6 7; do echo $n > files/$n; done; cat files/* > all")
    project.run("cat files/* > all")
    (project.path / "busy.py").write_text(BUSY)
    chance, own = random.Random(2), statx.boot_id()
    words = [*provio_command(), "run", "--quiet", "--", sys.executable, "busy.py", "1"]
    run = subprocess.Popen(words, cwd=project.path, env=project.env, start_new_session=True)
    for moment in range(MOMENTS):
        time.sleep(chance.random() * 0.3 + (2 if moment == 0 else 0))
        group_stopped(run.pid)
        copy = project.path.with_name(f"copy{moment}")
        shutil.copytree(project.path / ".provio" / "runs", copy / "runs")
        answered = graph(project)
        for head in copy.glob("runs/*/run.ttl"):  # as of before this host was booted, so that it has ended
            head.write_text(head.read_text().replace(own, "0" * len(own)))
        merged = graph(Project(project.path, project.env | {"PROVIO_HOME": str(copy)}))
        merged = {line.replace("0" * len(own), own) for line in merged}
        shutil.rmtree(copy)
        assert len(answered) > 100 and answered == merged, moment
        os.killpg(run.pid, signal.SIGCONT)
    (project.path / "enough").touch()
    assert run.wait(60) == 0


@pytest.mark.slow
def test_a_server_answers_with_it(project: Project) -> None:
    """The answer, by SPARQL and on the page, includes data closed before the request, with no merge. Nothing is read
    again if nothing was recorded in between."""
    project.run("echo 1 > a; mkfifo go")
    run = start(project, "bash", "-c", "for n in 1 2 3; do cat a > o$n; : > closed$n; read < go; done")
    with serving(project) as site:
        for number in (1, 2, 3):
            path = project.path / f"o{number}"
            wait_for(project.path / f"closed{number}")
            waits(children(run.pid)[0])
            time.sleep(snapshot_holder.FRESH + 0.1)  # an answer may be this old
            query = f'SELECT ?by {{ ?f provio:path "{path}" . ?v prov:specializationOf ?f ; prov:wasGeneratedBy ?by }}'
            assert len(site.query(query)[1].splitlines()) == 2
            made = overlays(project)
            assert site.iri(path) and len(site.query(query)[1].splitlines()) == 2
            assert overlays(project) <= made
            answer = site.api("runs")
            assert re.search("^as of .* in progress$", answer["asOf"]) and answer["runs"][0]["end"] == "in progress"
            status, said, _ = site.ask("/api/lineage?target=https://w3id.org/provio/version/none")
            assert status == 404 and "is not known as of" in said
            said = site.ask("/query?query=ASK%7B%7D")[2]["Provio-As-Of"]
            assert re.search("^as of .* in progress$", said)
            tell(project.path / "go", "\n")
        assert run.wait(60) == 0
        time.sleep(snapshot_holder.FRESH + 0.1)  # an answer may be this old
        answer = site.api("runs")
        assert (answer["count"], answer["runs"][0]["end"], "asOf" in answer) == (2, "exit 0", False)


def test_only_so_much_is_read_without_the_lock(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the runs that another process has not merged yet, the newest."""
    for name in ("one", "two", "three"):
        project.provio("run", "--quiet", "--no-merge", "--", "sh", "-c", f"echo 1 > {name}")
    runs = Home(project.path / ".provio").run_folders()
    assert live.newest(runs) == runs[::-1]
    monkeypatch.setattr(live, "MOST", 2 * run_source.of(runs[0]).extent()[0])
    assert live.newest(runs) == runs[:0:-1]


def test_a_damaged_snapshot_is_made_anew(waiting: Project) -> None:
    """While a run goes on, too: the answer is never of that run alone."""
    for manifest in (waiting.path / ".provio" / "snapshots").glob("*/MANIFEST-*"):
        manifest.write_bytes(b"")
    done = waiting.provio("runs")
    assert done.stderr.splitlines()[0].endswith("; rebuilding it")
    assert "delete it" not in done.stderr
    assert "echo 1" in done.stdout and "in progress" in done.stdout


@pytest.mark.integration
def test_what_another_writes_is_left_alone(waiting: Project) -> None:
    """The answer does not use the list of a run that another process is writing."""
    name = Home(waiting.path / ".provio").run_folders()[-1].name
    written = waiting.path / ".provio" / "statements" / f"{name}.new.gz"
    written.write_bytes(b"half")
    assert "in progress" in waiting.provio("runs").stdout
    assert written.read_bytes() == b"half"


def test_a_store_made_anew_is_given_what_went_on_when_it_ends(project: Project) -> None:
    """A run that was merged before and goes on, for all that can be seen, is in answers then and later."""
    project.run("echo 1 > a")
    (folder,) = Home(project.path / ".provio").run_folders()
    fd = os.open(folder, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_SH)
    assert "in progress" in project.provio("merge", "--rebuild").stderr
    assert "in progress" in project.provio("runs").stdout
    os.close(fd)
    assert "exit 0" in project.provio("runs").stdout


@pytest.mark.integration
def test_a_folder_that_lost_its_lock_is_taken_away(waiting: Project) -> None:
    """A process was killed while it deleted the overlay; a young overlay may be in use."""
    waiting.provio("runs")
    live = waiting.path / ".provio" / "live"
    old, young = live / "provio-live-0.old", live / "provio-live-0.young"
    old.mkdir()
    young.mkdir()
    os.utime(old, (1, 1))
    waiting.provio("run", "true")
    assert young.exists() and not old.exists()
