"""`capture_dir`: what is recorded lies on a node's own disk, and is in the run folder at the end; if the node is lost,
a gap says so."""

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
from conftest import Project, provio_command
from filesystems import mount

from provio.base import vocab
from provio.base.errors import ConfigError
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.system import node_local, ranks
from provio.trace import collect, run_source

LONGEST = 60  # seconds


@pytest.fixture
def node(project: Project, tmp_path: Path) -> Path:
    """The folder where this host captures."""
    folder = tmp_path / "node's own"
    folder.mkdir()
    project.env |= {"PROVIO_CAPTURE_DIR": "$NODE", "NODE": str(folder)}
    (project.path / ".provio").mkdir(exist_ok=True)
    (project.path / "in").write_text("in\n")
    return folder


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if not path.is_dir())


def until(what: str, happened: object) -> None:
    """Wait until something holds, by looking."""
    begun = time.monotonic()
    while not happened():  # type: ignore[operator]
        assert time.monotonic() - begun < LONGEST, what
        time.sleep(0.02)


def begun(project: Project, script: str, **more: str) -> subprocess.Popen[bytes]:
    """A run that goes on; all of it is one group."""
    command = [*provio_command(), "run", "--quiet", "--", "sh", "-c", script]
    return subprocess.Popen(command, cwd=project.path, env=project.env | more, start_new_session=True)


def killed_with_its_node(project: Project, node: Path) -> Path:
    """A run that read and wrote and was then killed, with all that might have collected; the folder that it left."""
    with begun(project, "cp in out; touch done; sleep 600") as process:
        until("the copy was made", (project.path / "done").exists)
        os.killpg(process.pid, signal.SIGKILL)
    (left,) = (node / f"provio-{os.geteuid()}").iterdir()
    until("all that was killed is gone", lambda: not collect.living_processes(left))
    return left


def gaps_of(project: Project) -> list[str]:
    return [row["reason"] for row in project.rows("SELECT ?reason { ?gap a provio:Gap ; provio:reason ?reason }")]


@pytest.mark.slow
def test_at_the_end_all_is_in_the_run_folder(project: Project, node: Path) -> None:
    """And nothing is left on the node; while it goes on, the run folder has the mark of the host alone."""
    seen = project.run('cp in out; ls -R "$NODE"; ls .provio/runs/*/*')
    assert ".0.0.ttl" in seen
    assert seen.endswith(f"{node_local.MARK}\n")
    assert files_in(node) == []
    names = [file.name for file in project.trace_files()]
    assert node_local.MARK in names
    assert len(names) > 2
    assert project.data("out") == {"in"}
    assert gaps_of(project) == []


@pytest.mark.slow
def test_of_a_command_that_goes_on_too(project: Project, node: Path) -> None:
    """Where a small program waits for it."""
    project.run("cp in out; sleep 0.6")
    assert files_in(node) == []
    assert project.data("out") == {"in"}


@pytest.mark.slow
def test_a_cancelled_job_is_collected(project: Project, node: Path) -> None:
    """SIGTERM to `provio run`, as batch systems send it: the command ends by it, and what it did is there."""
    with begun(project, "cp in out; touch done; exec sleep 600") as process:  # of one process: none ends after it
        until("the copy was made", (project.path / "done").exists)
        os.killpg(process.pid, signal.SIGTERM)
    assert process.returncode == -signal.SIGTERM
    assert files_in(node) == []
    assert project.data("out") == {"in"}


@pytest.mark.slow
def test_a_cancelled_job_that_does_not_end(project: Project, node: Path) -> None:
    """Told to end, it goes on until it is killed with all that is in the job, and its node is gone: what had been done
    when it was told is merged, and that there may be more is a gap."""
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


@pytest.mark.slow
@pytest.mark.parametrize("warnings", ["default", "error"])
def test_a_job_that_is_killed_at_once(project: Project, node: Path, warnings: str) -> None:
    """Where the batch system does not reach who collects, all is collected when the last process is gone; whatever
    Python is told to make of warnings."""
    with begun(project, "cp in out; touch done; sleep 600", SLURM_JOB_ID="7", PYTHONWARNINGS=warnings) as process:
        until("the copy was made", (project.path / "done").exists)
        (place,) = (node / f"provio-{os.geteuid()}").iterdir()
        os.killpg(process.pid, signal.SIGKILL)
    until("it was collected", lambda: not place.exists() and not collectors(place))
    assert project.data("out") == {"in"}
    assert gaps_of(project) == []


@pytest.mark.slow
def test_what_a_job_captured_is_collected_when_it_ends(project: Project, node: Path) -> None:
    """By its `provio run`, though another process is there for the case that it is killed; and that ends, too."""
    project.env["SLURM_JOB_ID"] = "7"
    project.run("cp in out")
    assert files_in(node) == []
    assert project.data("out") == {"in"}
    assert gaps_of(project) == []


@pytest.mark.slow
def test_to_collect_merges_nothing(project: Project, node: Path) -> None:
    """`provio merge --collect` brings in what there is, and leaves the run pending."""
    killed_with_its_node(project, node)
    for more in ("--rebuild", "--pack"):
        assert "--collect merges nothing" in project.provio("merge", "--collect", more, code=2).stderr
    assert project.provio("merge", "--collect").stderr == ""
    assert files_in(node) == []
    assert run_source.pending(Home(project.path / ".provio"), Config().conclusions) != []
    assert project.data("out") == {"in"}


@pytest.mark.slow
def test_what_a_kill_left_is_collected_by_the_next_provio(project: Project, node: Path) -> None:
    """Of all, provio too: the next question on that host brings it in, whole."""
    killed_with_its_node(project, node)
    assert project.data("out") == {"in"}
    assert gaps_of(project) == []
    assert files_in(node) == []


@pytest.mark.slow
def test_a_lost_node_is_a_gap(project: Project, node: Path) -> None:
    """What was collected is merged; what is missing is said in each answer."""
    left = killed_with_its_node(project, node)
    left.rename(node / "lost")
    unseen = project.provio("lineage", "out", code=3).stderr
    assert "the recording on" in unseen
    assert "is not collected: run provio merge there; it is lost if the node is; else run what makes" in unseen
    project.run("cp out further")
    assert any("is not collected: run provio merge there" in reason for reason in gaps_of(project))
    (node / "lost").rename(left)
    note = project.path / ".provio" / node_local.NOTES / os.uname().nodename / left.name
    assert not note.is_symlink()  # who looked found it gone


def test_another_job_that_sees_nothing_there_does_no_harm(project: Project, node: Path) -> None:
    """Where jobs have a /tmp of their own each, it takes the note away; who captures collects all the same."""
    project.run("cp in out; rm .provio/captured/*/*")
    assert files_in(node) == []
    assert project.data("out") == {"in"}
    assert gaps_of(project) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", [["merge", "--collect"], ["runs"]])
def test_what_a_private_tmp_holds_is_found_without_a_note(project: Project, node: Path, first: list[str]) -> None:
    """Another job looked, found nothing, and took the note away; the next that sees the folder brings it in."""
    left = killed_with_its_node(project, node)
    (note,) = (project.path / ".provio" / node_local.NOTES).glob("*/*")
    note.unlink()
    project.provio(*first)
    assert not left.exists()
    assert project.data("out") == {"in"}
    assert gaps_of(project) == []


@pytest.mark.slow
def test_what_a_collector_was_killed_over_is_tidied_up(project: Project, node: Path) -> None:
    """It had all in the run folder, and moved the rest aside; what is another record's is left alone."""
    project.run("cp in out")
    (run,) = (project.path / ".provio" / "runs").iterdir()
    mine = node / f"provio-{os.geteuid()}"
    other = f"{run.name[:-4]}0000.collected"
    for name in (f"{run.name}.collected", other):
        (mine / name / os.uname().nodename).mkdir(parents=True)
        (mine / name / os.uname().nodename / "1.1.0.0.ttl").write_text("left\n")
    assert project.data("out") == {"in"}
    assert [place.name for place in mine.iterdir()] == [other]


@pytest.mark.slow
def test_a_run_folder_that_is_lost_is_a_gap(project: Project, node: Path) -> None:
    """What this host captured is merged all the same; without a record there is no place but for a line."""
    lost = "was removed during the run, and its records are lost"
    done = project.provio("run", "--", "sh", "-c", "cp in out; rm -r .provio/runs/*")
    assert f"{lost} (a gap states that)" in done.stderr
    assert project.data("out") == {"in"}
    assert gaps_of(project) == [f"its run folder {lost}"]
    done = project.provio("run", "--", "sh", "-c", "cp in out; mv .provio gone; exit 3", code=3)
    assert f"{lost} (no gap states that, because the folder cannot be created: No such file or directory)" in done.stderr
    assert files_in(node)
    (project.path / "gone").rename(project.path / ".provio")
    assert project.data("out") == {"in"}
    assert files_in(node) == []


@pytest.mark.slow
@pytest.mark.parametrize("script", ["cp in out", "cp in out; sleep 0.5"])
def test_a_run_folder_that_is_lost_is_a_gap_too_where_nothing_is_captured(project: Project, script: str) -> None:
    """And where a small program waits for a command that goes on."""
    (project.path / ".provio").mkdir(exist_ok=True)
    (project.path / "in").write_text("in\n")
    done = project.provio("run", "--", "sh", "-c", f"rm -r .provio/runs/*; {script}; exit 3", code=3)
    assert "was removed during the run, and its records are lost (a gap states that)" in done.stderr
    assert gaps_of(project) == ["its run folder was removed during the run, and its records are lost"]


@pytest.mark.slow
def test_of_a_packed_run_nothing_is_taken_away(project: Project, node: Path) -> None:
    """Only what is removed goes with its captured files."""
    left = killed_with_its_node(project, node)
    runs = project.path / ".provio" / "runs"
    (runs / left.name).rename(project.path / "packed")
    (runs / f"{left.name}.tar.xz").touch()
    before = files_in(left)
    collect.collect(Home(runs.parent), left.name)
    assert files_in(left) == before


@pytest.mark.slow
def test_to_be_cut_short_or_to_do_it_again_does_no_harm(project: Project, node: Path) -> None:
    """Half a copy, and files that were collected before the node was killed once more."""
    left = killed_with_its_node(project, node)
    home = Home(project.path / ".provio")
    host = os.uname().nodename
    target = home.runs / left.name / host
    first, *_ = sorted((left / host).glob("[1-9]*.ttl"))
    (target / first.with_suffix(".new").name).write_bytes(b"half")
    (target / first.name).write_bytes(first.read_bytes()[:100])
    whole = {path.name: path.read_bytes() for path in (left / host).glob("*.ttl")}
    assert collect.collect(home, left.name) == ""
    assert collect.collect(home, left.name) == ""
    found = {path.name: path.read_bytes() for path in target.iterdir() if path.name != node_local.MARK}
    assert found == whole
    assert project.data("out") == {"in"}


@pytest.mark.slow
@pytest.mark.parametrize("span", ["0", "0.5"])  # seconds: who goes on for long is left to the waiter
def test_a_full_run_folder_costs_a_line_and_nothing_else(project: Project, node: Path, span: str) -> None:
    """The command's end is its own, and what was captured is kept until there is room."""
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


# Has Python wait at one kind of step, of a path that ends so, until it may go on: on a network file system it does.
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
    """The environment in which provio's Python waits there."""
    (project.path / "hook").mkdir()
    (project.path / "hook" / "sitecustomize.py").write_text(WAITS)
    return {"PYTHONPATH": f"{project.path}/hook", "WAIT_AT": f"{kind}|{end}|{project.path}/step"}


@pytest.mark.slow
@pytest.mark.parametrize("step", ["os.rename|.0.new", "os.rename|0.host.new", "os.remove|{note}", "os.rename|{run}"])
def test_a_rank_that_comes_while_all_is_taken_away(project: Project, node: Path, step: str) -> None:
    """Whatever who collects is at, the rank starts and is recorded, and who asks is told of it, or that it is not
    there yet."""
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


@pytest.mark.slow
def test_what_is_about_to_begin_is_not_taken_away(project: Project, node: Path) -> None:
    """Who asks between the run and its command finds no process in it yet."""
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
def test_what_a_full_folder_kept_from_being_recorded_is_named(project: Project, node: Path) -> None:
    """Who asks for a file that nobody was seen to make is told of the gap, where it was made meanwhile; of another file
    that nothing is recorded."""
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
    gap += f"provio query gaps {run.name}; else run what makes or reads it under provio (provio run -- COMMAND)\n"
    for verb in ("lineage", "why", "impact"):
        said = project.provio(verb, "out", code=3).stderr
        assert said == f"provio: nothing is recorded of {project.path}/out: when it was last changed {gap}", verb
        said = project.provio(verb, "old", code=3).stderr
        assert said.startswith(f"provio: nothing is recorded of {project.path}/old: run what makes"), verb
    for question in ("who-wrote", "users-of-file"):
        said = project.provio("query", question, "out").stderr
        assert said == f"provio: out: nothing is recorded of it: when it was last changed {gap}", question
        assert project.provio("query", question, "old").stderr == ""
        assert project.provio("query", question, "in").stderr == ""
    assert "there is no such file; not all of run" in project.provio("lineage", "gone", code=3).stderr
    assert "no space left on the trace's file system" in gaps_of(project)


@pytest.mark.slow
def test_a_process_that_ends_after_the_command_is_collected(project: Project, node: Path) -> None:
    """The run's own merge, which comes later, takes away what its end had to leave for one that was still there."""
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


@pytest.mark.slow
def test_of_ranks_each_host_collects_by_itself(project: Project, node: Path) -> None:
    """A rank becomes its command, and the last may end long after the first: one process is left behind for all of a
    host, and ends when they have."""
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
    third = begun(project, "cp z y", PMI_RANK="2")  # which joins when all of it was collected
    assert third.wait(LONGEST) == 0
    until("that, too", lambda: not any((node / place.parent.name).iterdir()))
    assert project.data("y") == {"in", "a", "z"}
    assert project.count("?run a provio:Run") == 1
    assert gaps_of(project) == []


@pytest.mark.slow
def test_ranks_without_an_input_leave_one_process_too(project: Project, node: Path) -> None:
    """It collects even where another job, with a /tmp of its own, found nothing there and took the note away."""
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
    """The processes that wait for the ranks of a run."""
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


@pytest.mark.slow
def test_where_it_cannot_be_the_run_folder_has_all(project: Project, node: Path) -> None:
    """One line says why."""
    project.env["NODE"] = f"{node}/not/there"
    done = project.provio("run", "--", "cp", "in", "out")
    wrong = f"{node}/not/there/provio-{os.geteuid()}: No such file or directory"
    assert done.stderr.startswith(f"provio: capture_dir: {wrong}: what is recorded lies in the run folder (name ")
    assert project.data("out") == {"in"}


def test_a_mark_is_whole_or_not_there(tmp_path: Path) -> None:
    """Where there is no room for it, the next to come finds none, and leaves one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            node_local.mark(str(tmp_path), "run", "host", taken=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    node_local.mark(str(tmp_path), "run", "host", taken=True)
    assert ":captured true .\n" in (tmp_path / node_local.MARK).read_text()


@pytest.mark.slow
def test_of_a_group_each_captures_and_collects_their_own(project: Project, node: Path) -> None:
    """The notes are the group's; who asks is told nothing of what a colleague's provio is to collect."""
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
    """Nor a link in its place."""
    (tmp_path / f"provio-{os.geteuid()}").symlink_to("/")
    with pytest.raises(ValueError, match="belongs to another user"):
        node_local.place_of(str(tmp_path), "run")


def test_a_run_that_is_removed_takes_its_captured_files_along(project: Project, node: Path) -> None:
    """With the note that they are to be collected."""
    left = killed_with_its_node(project, node)
    collect.drop(Home(project.path / ".provio"), left.name)
    assert files_in(node) == []
    assert not collect.has_uncollected(Home(project.path / ".provio"), left.name)


@pytest.mark.parametrize("value", ["", None])
def test_the_environment_stays_as_it_was(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    """An empty `TMPDIR`, too, which counts as none."""
    monkeypatch.delenv("TMPDIR", raising=False) if value is None else monkeypatch.setenv("TMPDIR", value)
    assert node_local.folder_of("$TMPDIR/x") == "/tmp/x"
    assert os.environ.get("TMPDIR") == value


def test_what_is_no_folder_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder of one host would be another's where it is relative."""
    from provio.settings import load

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PROVIO_CAPTURE_DIR", "scratch")
    with pytest.raises(ConfigError, match=r"^PROVIO_CAPTURE_DIR: capture_dir: 'scratch' is not allowed"):
        load.load([])


@pytest.mark.slow
def test_doctor_looks_at_the_folder(project: Project, node: Path) -> None:
    """Whether it is there, and a node's own."""
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


def test_words_that_are_written_twice_agree() -> None:
    """What is loaded by every rank does not load the modules that have them."""
    assert vocab.NS == node_local.BASE + "ns#"
    assert vocab.RUN_BASE == node_local.BASE + "run/"
    assert ranks.plain(node_local.encoded("a;b%c")) == b"a;b%c"


def test_in_a_batch_job_the_collection_is_announced(project: Project, node: Path) -> None:
    """It is waited for, so one line says what goes on; elsewhere, and where nothing is to be said, none does."""
    said = [
        project.provio("run", *options, "--", "cp", "in", "out", env=project.env | more).stderr
        for options, more in (([], {"SLURM_JOB_ID": "1"}), (["--quiet"], {"SLURM_JOB_ID": "1"}), ([], {}))
    ]
    assert ["collecting the records in" in line for line in said] == [True, False, False]
    assert said[0].count("\n") == 2 and "pending in" in said[0]
    assert len({path.parent.parent for path in project.trace_files()}) == 3
