"""`capture_dir`: traces are written to a node's own disk and copied to the run folder at the end; a lost node leaves a
gap."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import filesystems
import pytest
from conftest import Project, in_memory, provio_command
from filesystems import mount

from provio.base import vocab
from provio.base.errors import ConfigError
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.system import node_local, ranks
from provio.trace import collect, run_source

tmp_path = in_memory

LONGEST = 60  # seconds


@pytest.fixture
def node(project: Project, tmp_path: Path) -> Path:
    """The capture folder of this host."""
    folder = tmp_path / "node's own"
    folder.mkdir()
    project.env |= {"PROVIO_CAPTURE_DIR": "$NODE", "NODE": str(folder)}
    (project.path / ".provio").mkdir(exist_ok=True)
    (project.path / "in").write_text("in\n")
    return folder


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if not path.is_dir())


def until(what: str, happened: object) -> None:
    """Poll until a condition holds."""
    begun = time.monotonic()
    while not happened():  # type: ignore[operator]
        assert time.monotonic() - begun < LONGEST, what
        time.sleep(0.02)


def begun(project: Project, script: str, **more: str) -> subprocess.Popen[bytes]:
    """Start a run in a process group of its own."""
    command = [*provio_command(), "run", "--quiet", "--", "sh", "-c", script]
    return subprocess.Popen(command, cwd=project.path, env=project.env | more, start_new_session=True)


def killed_with_its_node(project: Project, node: Path) -> Path:
    """Kill a run after reads and writes, with its collector; return the folder of its captured files."""
    with begun(project, "cp in out; touch done; sleep 600") as process:
        until("the copy was made", (project.path / "done").exists)
        os.killpg(process.pid, signal.SIGKILL)
    (left,) = (node / f"provio-{os.geteuid()}").iterdir()
    until("all killed processes have ended", lambda: not collect.living_processes(left))
    return left


def gaps_of(project: Project) -> list[str]:
    return [row["reason"] for row in project.rows("SELECT ?reason { ?gap a provio:Gap ; provio:reason ?reason }")]


@pytest.mark.integration
def test_at_the_end_all_is_in_the_run_folder(project: Project, node: Path) -> None:
    """And nothing is left on the node; during the run, the run folder has only the mark of the host."""
    seen = project.run('cp in out; ls -R "$NODE"; ls .provio/runs/*/*')
    assert ".0.0.ttl" in seen
    assert seen.endswith(f"{node_local.MARK}\n")
    assert files_in(node) == []
    names = [file.name for file in project.trace_files()]
    assert node_local.MARK in names
    assert len(names) > 2
    assert project.data("out") == {"in"}
    assert gaps_of(project) == []


@pytest.mark.integration
def test_of_a_long_command_too(project: Project, node: Path) -> None:
    """The waiter waits for it."""
    project.run("cp in out; sleep 0.6")
    assert files_in(node) == []
    assert project.data("out") == {"in"}


@pytest.mark.integration
def test_a_cancelled_job_is_collected(project: Project, node: Path) -> None:
    """SIGTERM to `provio run`, as batch systems send it: the command ends by it, and its records are complete."""
    with begun(project, "cp in out; touch done; exec sleep 600") as process:  # of one process: none ends after it
        until("the copy was made", (project.path / "done").exists)
        os.killpg(process.pid, signal.SIGTERM)
    assert process.returncode == -signal.SIGTERM
    assert files_in(node) == []
    assert project.data("out") == {"in"}


@pytest.mark.integration
def test_a_cancelled_job_that_does_not_end(project: Project, node: Path) -> None:
    """It ignores the signal until the whole job is killed, and its node is lost: its records up to the signal are
    merged, and a gap states that there may be more."""
    script = (
        "trap '' TERM; cp in out; touch done; until [ -e go ]; do sleep 0.05; done; cp out more; touch end; sleep 600"
    )
    with begun(project, script, SLURM_JOB_ID="7") as process:
        try:
            until("the copy was made", (project.path / "done").exists)
            (place,) = (node / f"provio-{os.geteuid()}").iterdir()
            until("there is who collects", lambda: collectors(place))
            (collector,) = collectors(place)
            for pid in (process.pid, collector):
                os.kill(pid, signal.SIGTERM)
            kept = list((place / os.uname().nodename).glob("[1-9]*.ttl"))
            until(
                "it was collected",
                lambda: {file.name for file in kept} <= {file.name for file in project.trace_files()},
            )
            (project.path / "go").touch()
            until("more was done", (project.path / "end").exists)
            os.kill(collector, signal.SIGKILL)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    place.rename(node / "lost")
    assert project.data("out") == {"in"}
    assert any("is not collected: run provio merge there" in reason for reason in gaps_of(project))


@pytest.mark.integration
@pytest.mark.parametrize("warnings", ["default", "error"])
def test_a_job_that_is_killed_at_once(project: Project, node: Path, warnings: str) -> None:
    """If the batch system does not kill the collector, all files are collected after the last process, with any of
    Python's settings for warnings."""
    with begun(project, "cp in out; touch done; sleep 600", SLURM_JOB_ID="7", PYTHONWARNINGS=warnings) as process:
        until("the copy was made", (project.path / "done").exists)
        (place,) = (node / f"provio-{os.geteuid()}").iterdir()
        os.killpg(process.pid, signal.SIGKILL)
    until("it was collected", lambda: not place.exists() and not collectors(place))
    assert project.data("out") == {"in"}
    assert gaps_of(project) == []


@pytest.mark.integration
def test_the_files_of_a_job_are_collected_when_it_ends(project: Project, node: Path) -> None:
    """By its `provio run`, although a collector exists in case it is killed; the collector ends, too."""
    project.env["SLURM_JOB_ID"] = "7"
    project.run("cp in out")
    assert files_in(node) == []
    assert project.data("out") == {"in"}
    assert gaps_of(project) == []


@pytest.mark.integration
def test_to_collect_merges_nothing(project: Project, node: Path) -> None:
    """`provio merge --collect` collects the files, and leaves the run pending."""
    killed_with_its_node(project, node)
    for more in ("--rebuild", "--pack"):
        assert "--collect merges nothing" in project.provio("merge", "--collect", more, code=2).stderr
    assert project.provio("merge", "--collect").stderr == ""
    assert files_in(node) == []
    assert run_source.pending(Home(project.path / ".provio"), Config().conclusions) != []
    assert project.data("out") == {"in"}


@pytest.mark.integration
def test_files_left_by_a_kill_are_collected_by_the_next_provio(project: Project, node: Path) -> None:
    """All processes, including provio, are killed: the next query on that host collects all files."""
    killed_with_its_node(project, node)
    assert project.data("out") == {"in"}
    assert gaps_of(project) == []
    assert files_in(node) == []


@pytest.mark.integration
def test_a_lost_node_is_a_gap(project: Project, node: Path) -> None:
    """Collected files are merged; each answer reports the missing ones."""
    left = killed_with_its_node(project, node)
    left.rename(node / "lost")
    unseen = project.provio("lineage", "out", code=3).stderr
    assert "the recording on" in unseen
    assert "is not collected: run provio merge there; it is lost if the node is)" in unseen
    project.run("cp out further")
    assert any("is not collected: run provio merge there" in reason for reason in gaps_of(project))
    (node / "lost").rename(left)
    note = project.path / ".provio" / node_local.NOTES / os.uname().nodename / left.name
    assert not note.is_symlink()  # the other job removed the note


@pytest.mark.integration
def test_a_job_that_does_not_see_the_folder_does_no_harm(project: Project, node: Path) -> None:
    """In jobs with a private /tmp each, it removes the note; the capturing job collects its files anyway."""
    project.run("cp in out; rm .provio/captured/*/*")
    assert files_in(node) == []
    assert project.data("out") == {"in"}
    assert gaps_of(project) == []


@pytest.mark.integration
@pytest.mark.parametrize("first", [["merge", "--collect"], ["runs"]])
def test_files_in_a_private_tmp_are_found_without_a_note(project: Project, node: Path, first: list[str]) -> None:
    """Another job found nothing and removed the note; the next provio that sees the folder collects the files."""
    left = killed_with_its_node(project, node)
    (note,) = (project.path / ".provio" / node_local.NOTES).glob("*/*")
    note.unlink()
    project.provio(*first)
    assert not left.exists()
    assert project.data("out") == {"in"}
    assert gaps_of(project) == []


@pytest.mark.integration
def test_folders_of_a_killed_collector_are_removed(project: Project, node: Path) -> None:
    """It had copied all files and renamed the folder; folders of another `.provio` stay."""
    project.run("cp in out")
    (run,) = (project.path / ".provio" / "runs").iterdir()
    mine = node / f"provio-{os.geteuid()}"
    other = f"{run.name[:-4]}0000.collected"
    for name in (f"{run.name}.collected", other):
        (mine / name / os.uname().nodename).mkdir(parents=True)
        (mine / name / os.uname().nodename / "1.1.0.0.ttl").write_text("left\n")
    assert project.data("out") == {"in"}
    assert [place.name for place in mine.iterdir()] == [other]


@pytest.mark.integration
def test_a_run_folder_that_is_lost_is_a_gap(project: Project, node: Path) -> None:
    """Files captured on this host are merged anyway; without a `.provio`, there is only a message."""
    lost = "was removed during the run, and its records are lost"
    done = project.provio("run", "--", "sh", "-c", "cp in out; rm -r .provio/runs/*")
    assert f"{lost} (a gap states that)" in done.stderr
    assert project.data("out") == {"in"}
    assert gaps_of(project) == [f"its run folder {lost}"]
    done = project.provio("run", "--", "sh", "-c", "cp in out; mv .provio gone; exit 3", code=3)
    assert (
        f"{lost} (no gap states that, because the folder cannot be created: No such file or directory)" in done.stderr
    )
    assert files_in(node)
    (project.path / "gone").rename(project.path / ".provio")
    assert project.data("out") == {"in"}
    assert files_in(node) == []


@pytest.mark.integration
@pytest.mark.parametrize("script", ["cp in out", "cp in out; sleep 0.5"])
def test_a_run_folder_that_is_lost_is_a_gap_too_without_capture(project: Project, script: str) -> None:
    """Also with the waiter."""
    (project.path / ".provio").mkdir(exist_ok=True)
    (project.path / "in").write_text("in\n")
    done = project.provio("run", "--", "sh", "-c", f"rm -r .provio/runs/*; {script}; exit 3", code=3)
    assert "was removed during the run, and its records are lost (a gap states that)" in done.stderr
    assert gaps_of(project) == ["its run folder was removed during the run, and its records are lost"]


@pytest.mark.integration
def test_captured_files_of_an_archived_run_stay(project: Project, node: Path) -> None:
    """Only the removal of a run removes its captured files."""
    left = killed_with_its_node(project, node)
    runs = project.path / ".provio" / "runs"
    (runs / left.name).rename(project.path / "packed")
    (runs / f"{left.name}.tar.xz").touch()
    before = files_in(left)
    collect.collect(Home(runs.parent), left.name)
    assert files_in(left) == before


@pytest.mark.integration
def test_an_interrupted_or_repeated_collection_does_no_harm(project: Project, node: Path) -> None:
    """A partial copy, and files that were collected before."""
    left = killed_with_its_node(project, node)
    home = Home(project.path / ".provio")
    host = os.uname().nodename
    target = home.runs / left.name / host
    first, *_ = sorted((left / host).glob("[1-9]*.ttl"))
    (target / first.with_suffix(".new").name).write_bytes(b"half")
    (target / first.name).write_bytes(first.read_bytes()[:100])
    whole = {path.name: path.read_bytes() for path in [*(left / host).glob("*.ttl"), left / host / "threads"]}
    assert collect.collect(home, left.name) == ""
    assert collect.collect(home, left.name) == ""
    found = {path.name: path.read_bytes() for path in target.iterdir() if path.name != node_local.MARK}
    assert found == whole
    assert project.data("out") == {"in"}


@pytest.mark.integration
@pytest.mark.parametrize("span", ["0", "0.5"])  # seconds: a longer command gets the waiter
def test_a_full_run_folder_costs_one_line(project: Project, node: Path, span: str) -> None:
    """The command's exit code is unchanged, and the captured files stay until there is space."""
    with ExitStack() as undo:
        shared = project.path / "shared"
        mount(shared, "tmpfs", undo)
        project.env["PROVIO_HOME"] = str(shared / ".provio")
        script = f"cp in out; dd if=/dev/zero of='{shared}/all' bs=64k 2>&1 | tail -n 0; sleep {span}; exit 7"
        subprocess.run(["mount", "-o", "remount,size=3m", shared], check=True)
        done = project.provio("run", "--no-merge", "--", "sh", "-c", script, code=7)
        (line, *_) = [line for line in done.stderr.splitlines() if "not collected" in line]
        assert "No space left on device" in line
        assert files_in(node)
        (shared / "all").unlink()
        assert project.data("out") == {"in"}
        assert files_in(node) == []


# Makes Python wait at a step on a path with this ending until it is released, as on a slow network file system.
WAITS = """
import os, sys, time
KIND, END, SIGN = os.environ["WAIT_AT"].split("|")
def hook(event, arguments):
    if event == KIND and os.fsdecode(arguments[0]).endswith(END) and not os.path.exists(SIGN + ".at"):
        open(SIGN + ".at", "w").close()
        begun = time.monotonic()
        while not os.path.exists(SIGN + ".go") and time.monotonic() - begun < 60:
            time.sleep(0.01)
sys.addaudithook(hook)
"""


def waiting(project: Project, kind: str, end: str) -> dict[str, str]:
    """Return the environment in which provio's Python waits at that step."""
    (project.path / "hook").mkdir()
    (project.path / "hook" / "sitecustomize.py").write_text(WAITS)
    return {"PYTHONPATH": f"{project.path}/hook", "WAIT_AT": f"{kind}|{end}|{project.path}/step"}


@pytest.mark.integration
@pytest.mark.parametrize("step", ["os.rename|.0.new", "os.rename|0.host.new", "os.remove|{note}", "os.rename|{run}"])
def test_a_rank_that_joins_during_the_removal(project: Project, node: Path, step: str) -> None:
    """At each step of the collector, the rank starts and is recorded, and a query has its records, or reports that they
    are missing."""
    project.env |= {"PROVIO_RUN": "night"}
    first = begun(project, "touch running; until [ -e go ]; do sleep 0.05; done; cp in a")
    until("the first runs", (project.path / "running").exists)
    (place,) = (node / f"provio-{os.geteuid()}").iterdir()
    until("somebody waits", lambda: collectors(place))
    os.kill(collectors(place)[0], signal.SIGKILL)
    until("nobody waits", lambda: not collectors(place))
    kind, _, end = step.format(run=place.name, note=f"{os.uname().nodename}/{place.name}").partition("|")
    words = [node_local.COLLECT, str(project.path / ".provio"), place.name, str(place), "9"]
    collector = subprocess.Popen([sys.executable, "-P", "-c", *words], env=project.env | waiting(project, kind, end))
    (project.path / "go").touch()
    assert first.wait(LONGEST) == 0
    until("it is at that step", (project.path / "step.at").exists)
    assert begun(project, "cp a b").wait(LONGEST) == 0
    answer = project.provio("lineage", "b", code=None)
    assert "cp a b" in answer.stdout or "is not collected" in answer.stdout + answer.stderr, answer
    (project.path / "step.go").touch()
    assert collector.wait(LONGEST) == 0
    until("all was collected", lambda: not place.exists() and not collectors(place))
    assert project.data("b") == {"in", "a"}
    assert project.count("?run a provio:Run") == 1
    assert gaps_of(project) == []


@pytest.mark.integration
def test_a_run_that_is_about_to_start_is_not_removed(project: Project, node: Path) -> None:
    """A query between the creation of the run and the start of its command finds no process."""
    more = waiting(project, "subprocess.Popen", "cp")
    command = [*provio_command(), "run", "--quiet", "--no-merge", "--", "cp", "in", "out"]
    with subprocess.Popen(command, cwd=project.path, env=project.env | more) as process:
        until("it is about to begin", (project.path / "step.at").exists)
        project.provio("runs")
        (project.path / "step.go").touch()
    assert process.returncode == 0
    assert project.data("out") == {"in"}
    assert gaps_of(project) == []


@pytest.mark.slow
def test_a_file_without_a_record_because_of_a_full_disk_has_a_gap(project: Project, node: Path) -> None:
    """A query for a file without a recorded writer names the gap, if it was made during the run; for a file that was
    there before, the run may have read it."""
    (project.path / "old").write_text("of before\n")
    for name in ("old", "in"):
        os.utime(project.path / name, (1, 1))
    with ExitStack() as undo:
        mount(node / "small", "tmpfs", undo)
        project.env["NODE"] = str(node / "small")
        with suppress(OSError), open(node / "small" / "filler", "wb", buffering=0) as filler:
            while True:
                filler.write(bytes(1024))
        project.run("sort in > out")
    (run,) = (project.path / ".provio" / "runs").iterdir()
    gap = f"not all of run {run.name} could be recorded (no space left on the trace's file system): "
    gap += f"provio query gaps {run.name}; else record its use (provio run -- COMMAND)\n"
    for verb in ("lineage", "why", "impact"):
        said = project.provio(verb, "out", code=3).stderr
        assert said == f"provio: nothing is recorded of out: when it was last changed {gap}", verb
        said = project.provio(verb, "old", code=3).stderr
        may = f"provio: nothing is recorded of old: run {run.name} may have read it: not all "
        assert said.startswith(f"{may}of it could be recorded (no space left on the trace's file system)"), verb
    for question in ("who-wrote", "users-of-file"):
        said = project.provio("query", question, "out").stderr
        assert said == f"provio: out: nothing is recorded of it: when it was last changed {gap}", question
        said = project.provio("query", question, "in").stderr
        assert said.startswith(f"provio: in: nothing is recorded of it: run {run.name} may have read it"), question
    assert "there is no such file; not all of run" in project.provio("lineage", "gone", code=3).stderr
    assert "no space left on the trace's file system" in gaps_of(project)


@pytest.mark.integration
def test_a_process_that_ends_after_the_command_is_collected(project: Project, node: Path) -> None:
    """The run's own merge, which is later, removes the files that were left for a living process."""
    script = "cp in out; (exec 3< in; touch there; until [ -e go ]; do sleep 0.01; done) & "
    script += "until [ -e there ]; do sleep 0.01; done; sleep 0.5"
    process = begun(project, script, **waiting(project, "import", "pyoxigraph"))
    try:
        until("it is about to merge", (project.path / "step.at").exists)
        (place,) = (node / f"provio-{os.geteuid()}").iterdir()
        assert collect.living_processes(place)
    finally:
        (project.path / "go").touch()
    until("nothing of it is there", lambda: not collect.living_processes(place))
    (project.path / "step.go").touch()
    assert process.wait(LONGEST) == 0
    assert files_in(node) == []
    assert project.data("out") == {"in"}


@pytest.mark.integration
def test_of_ranks_each_host_collects_by_itself(project: Project, node: Path) -> None:
    """A rank becomes its command, and the last may end long after the first: one collector for each host ends after
    them."""
    project.env |= {"PROVIO_RUN": "night", "PMI_SIZE": "3"}
    with (
        begun(project, "cp in a; touch done; until [ -e go ]; do sleep 0.05; done; cp a z", PMI_RANK="0") as last,
        begun(project, "until [ -e done ]; do sleep 0.05; done; cp a b", PMI_RANK="1") as other,
    ):
        assert other.wait(LONGEST) == 0
        (place,) = (node / f"provio-{os.geteuid()}").iterdir()
        until("somebody waits", lambda: collectors(place))
        assert len(collectors(place)) == 1
        (project.path / "go").touch()
        assert last.wait(LONGEST) == 0
    until("all was collected", lambda: not place.exists() and not collectors(place))
    third = begun(project, "cp z y", PMI_RANK="2")  # it joins after the collection
    assert third.wait(LONGEST) == 0
    until("that, too", lambda: not any((node / place.parent.name).iterdir()))
    assert project.data("y") == {"in", "a", "z"}
    assert project.count("?run a provio:Run") == 1
    assert gaps_of(project) == []


@pytest.mark.integration
def test_ranks_without_an_input_leave_one_collector_too(project: Project, node: Path) -> None:
    """It collects even if another job, with a private /tmp, found nothing there and removed the note."""
    project.env |= {"PROVIO_RUN": "night", "PMI_SIZE": "2"}
    script = "touch $PMI_RANK; until [ -e go ]; do sleep 0.05; done; cp in $PMI_RANK"
    closed = ["sh", "-c", 'exec "$@" <&-', "sh", *provio_command(), "run", "--quiet", "--", "sh", "-c", script]
    begun = [subprocess.Popen(closed, cwd=project.path, env=project.env | {"PMI_RANK": rank}) for rank in "01"]
    until("both go on", lambda: all((project.path / rank).exists() for rank in "01"))
    (place,) = (node / f"provio-{os.geteuid()}").iterdir()
    until("somebody waits", lambda: collectors(place))
    one = len(collectors(place))
    (note,) = (project.path / ".provio" / node_local.NOTES).glob("*/*")
    note.unlink()
    (project.path / "go").touch()
    assert [rank.wait(LONGEST) for rank in begun] == [0, 0]
    until("all was collected", lambda: not place.exists() and not collectors(place))
    assert one == 1
    assert project.data("0") == project.data("1") == {"in"}
    assert gaps_of(project) == []


def collectors(place: Path) -> list[int]:
    """Return the collectors of a run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if node_local.COLLECT.encode() in words and place.name.encode() in words:
                found.append(int(entry.name))
    return found


@pytest.mark.integration
def test_without_a_capture_folder_the_run_folder_is_used(project: Project, node: Path) -> None:
    """One line has the reason."""
    project.env["NODE"] = f"{node}/not/there"
    done = project.provio("run", "--", "cp", "in", "out")
    wrong = f"{node}/not/there/provio-{os.geteuid()}: No such file or directory"
    assert done.stderr.startswith(f"provio: capture_dir: {wrong}: traces are written into the run folder (name ")
    assert project.data("out") == {"in"}


def test_a_mark_is_complete_or_missing(tmp_path: Path) -> None:
    """Without space, there is no mark, and the next process writes it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            node_local.mark(str(tmp_path), "run", "host", taken=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    node_local.mark(str(tmp_path), "run", "host", taken=True)
    assert ":captured true .\n" in (tmp_path / node_local.MARK).read_text()


@pytest.mark.integration
def test_each_user_of_a_group_collects_their_own_files(project: Project, node: Path) -> None:
    """The notes belong to the group; a query does not report files that another user's provio collects."""
    home = project.path / ".provio"
    home.chmod(0o2770)
    project.run("cp in out; sleep 0.1")
    notes = home / node_local.NOTES
    assert {folder.stat().st_mode & 0o7777 for folder in (notes, *notes.iterdir())} == {0o2770}
    left = killed_with_its_node(project, node)
    assert collect.uncollected_runs(Home(home)) == [left.name]
    if os.geteuid():
        pytest.skip("needs root, to give a note away")
    os.lchown(notes / os.uname().nodename / left.name, 65534, -1)
    assert collect.uncollected_runs(Home(home)) == []


def test_another_users_folder_is_not_used(tmp_path: Path) -> None:
    """Nor a link instead of it."""
    (tmp_path / f"provio-{os.geteuid()}").symlink_to("/")
    with pytest.raises(ValueError, match="belongs to another user"):
        node_local.place_of(str(tmp_path), "run")


def test_the_removal_of_a_run_removes_its_captured_files(project: Project, node: Path) -> None:
    """And the note about them."""
    left = killed_with_its_node(project, node)
    collect.drop(Home(project.path / ".provio"), left.name)
    assert files_in(node) == []
    assert not collect.has_uncollected(Home(project.path / ".provio"), left.name)


@pytest.mark.parametrize("value", ["", None])
def test_the_environment_stays_as_it_was(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    """Also an empty `TMPDIR`, which counts as unset."""
    monkeypatch.delenv("TMPDIR", raising=False) if value is None else monkeypatch.setenv("TMPDIR", value)
    assert node_local.folder_of("$TMPDIR/x") == "/tmp/x"
    assert os.environ.get("TMPDIR") == value


def test_an_invalid_capture_folder_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A relative folder would be different on each host."""
    from provio.settings import load

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PROVIO_CAPTURE_DIR", "scratch")
    with pytest.raises(ConfigError, match=r"^PROVIO_CAPTURE_DIR: capture_dir: 'scratch' is not allowed"):
        load.load([])


@pytest.mark.integration
def test_doctor_checks_the_folder(project: Project, node: Path) -> None:
    """Whether it exists, and is local to the node."""
    (found,) = examined(project)
    assert (found["level"], found["says"].partition(": ")[0]) == ("ok", str(node))
    project.env["NODE"] = "none"
    (found,) = examined(project)
    assert (found["level"], found["says"]) == ("problem", "$NODE: none is not an absolute path")
    small = node / "small"
    with ExitStack() as undo:
        filesystems.mount(small, "tmpfs", undo)
        subprocess.run(["mount", "-o", "remount,size=64k", small], check=True)
        project.env["NODE"] = str(small)
        (found,) = examined(project)
        assert (found["level"], found["says"]) == ("problem", f"{small}: 65.5 kB free")


def examined(project: Project) -> list[dict[str, str]]:
    found = json.loads(project.provio("doctor", "--as", "json", code=None).stdout)
    return [one for one in found if one["about"] == "capture_dir"]


def test_constants_in_two_modules_are_equal() -> None:
    """The module that every rank loads does not import the modules with the originals."""
    assert vocab.NS == node_local.BASE + "ns#"
    assert vocab.RUN_BASE == node_local.BASE + "run/"
    assert ranks.plain(node_local.encoded("a;b%c")) == b"a;b%c"


@pytest.mark.integration
def test_in_a_batch_job_the_collection_is_announced(project: Project, node: Path) -> None:
    """The job waits for it, so one line announces it; not elsewhere, and not with --quiet."""
    said = [
        project.provio("run", *options, "--", "cp", "in", "out", env=project.env | more).stderr
        for options, more in (([], {"SLURM_JOB_ID": "1"}), (["--quiet"], {"SLURM_JOB_ID": "1"}), ([], {}))
    ]
    assert ["collecting the records in" in line for line in said] == [True, False, False]
    assert said[0].count("\n") == 2 and "pending in" in said[0]
    assert len({path.parent.parent for path in project.trace_files()}) == 3
