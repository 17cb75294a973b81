"""Ranks of a parallel program share a run: with `provio run` before its launcher, after it, or both."""

from __future__ import annotations

import contextlib
import csv
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import filesystems
import pytest
from concurrent_runs import start, wait_for
from conftest import ROOT, Project, new_project, provio_command

from provio.merge import job
from provio.merge.large import survey
from provio.merge.runs import merge
from provio.record import ranks as ranked
from provio.settings.home import Home
from provio.settings.lock import Lock
from provio.settings.schema import Config
from provio.system import node_local, ranks
from provio.system.ranks import Contradiction
from provio.trace import run_source
from provio.trace.facts import Access
from provio.trace.read import read_head, read_run

LAST = re.compile(rb":(lastRead|lastWrite|closed|closedNs)\s+\d+")

WAYS = {"openmpi": ["--oversubscribe"], "mpich": []}
SETTINGS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@pytest.fixture(scope="module", params=sorted(WAYS))
def mpi(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """The command that starts four ranks, and a program of that MPI implementation."""
    name, folder = request.param, tmp_path_factory.mktemp(request.param)
    for tool in (f"mpirun.{name}", f"mpicc.{name}"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed (make test installs it where it may)")
    source = ROOT / "tests" / "mpi" / "fails.c"  # not needed without an option
    subprocess.run([f"mpicc.{name}", "-o", folder / "ranks", source], check=True)
    return [f"mpirun.{name}", *WAYS[name], "-n", "4"], folder / "ranks"


def carried_out(project: Project, *command: str | Path) -> subprocess.CompletedProcess[str]:
    (project.path / "input").write_text("input\n")
    (project.path / ".provio").mkdir(exist_ok=True)
    return subprocess.run(
        command, cwd=project.path, env=project.env | SETTINGS, capture_output=True, text=True, timeout=120, check=False
    )


def runs_and_ranks(project: Project) -> tuple[int, list[str]]:
    rows = project.rows("SELECT ?run ?rank { ?p a provio:Process ; provio:partOf ?run ; provio:rank ?rank }")
    return project.count("?run a provio:Run"), sorted({row["rank"] for row in rows})


@pytest.mark.slow
@pytest.mark.parametrize("way", ["behind", "before", "both"])
def test_four_ranks_are_one_run(project: Project, mpi: tuple[list[str], Path], way: str) -> None:
    """One run, each rank once, and one lineage."""
    launcher, program = mpi
    watch = [*provio_command(), "run", "--quiet", "--"]
    before, behind = (watch if way != "behind" else []), (watch if way != "before" else [])
    done = carried_out(project, *before, *launcher, *behind, program)
    assert (done.returncode, done.stderr) == (0, "")
    assert runs_and_ranks(project) == (1, ["0", "1", "2", "3"])
    for number in range(4):
        nodes = project.lineage(f"part.{number}")["nodes"]
        assert str(project.path / "input") in {node.get("path") for node in nodes if node["type"] == "FileVersion"}
        assert way != "behind" or "Pipe" not in {node["type"] for node in nodes}
        assert f"rank {number} of 4" in [node["label"] for node in nodes if node["type"] == "Rank"]
    pattern = "?r a provio:Rank ; provio:launcher ?launcher ; prov:actedOnBehalfOf ?user . ?user provio:name ?name"
    assert len(project.rows(f"SELECT ?r ?launcher ?name {{ {pattern} }}")) == 4
    assert "ranks    4 of 4 (" in project.answer("show", "last")
    assert ends(project) == ["ended" if way == "behind" else "exit 0"]
    project.answer("validate")


@pytest.fixture(params=["nowhere", "full", "contradiction"])
def wrong(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[dict[str, str], str]]:
    """Variables that prevent the recording of ranks, and the expected message."""
    with ExitStack() as undo:
        if request.param == "contradiction":
            yield {"FLUX_TASK_RANK": "9"}, "contradict each other"
            return
        folder = Path("/proc/nowhere")
        if request.param == "full":
            folder = tmp_path / "disk"
            filesystems.mount(folder, "ext4", undo)
            with contextlib.suppress(OSError), open(folder / "filler", "wb", buffering=0) as filler:
                while True:
                    filler.write(bytes(1024))
        yield {"PROVIO_HOME": str(folder / ".provio")}, "not recording: cannot write"


# A launcher ends all ranks when one fails: none does before each of the four has done its work.
ALL_THERE = "cat input > made.$$; mv made.$$ part.$$; until set -- part.* && [ $# -eq 4 ]; do sleep 0.05; done; exit 3"


@pytest.mark.integration
def test_a_problem_is_reported_once(
    project: Project, mpi: tuple[list[str], Path], wrong: tuple[dict[str, str], str]
) -> None:
    """By the first rank of a host, in one line; the command is not affected."""
    project.env |= wrong[0]
    done = carried_out(project, *mpi[0], *provio_command(), "run", "--", "sh", "-c", ALL_THERE)
    lines = [line for line in done.stderr.splitlines() if line.startswith("provio: ")]
    assert len([line for line in lines if wrong[1] in line]) == 1, done.stderr
    ordinary = ("pending in", "recorded in")  # one of them: the first at the store merges
    assert [line for line in lines if wrong[1] not in line and not any(word in line for word in ordinary)] == []
    assert done.returncode == 3
    assert {path.read_text() for path in project.path.glob("part.*")} == {"input\n"}


UNLIKE = "contradict each other, so that ranks are unknown: unset the variables left by another launcher"


@pytest.mark.slow
@pytest.mark.parametrize("inside", [False, True])
def test_a_variable_of_another_launcher_is_a_gap(project: Project, mpi: tuple[list[str], Path], inside: bool) -> None:
    """One for all its ranks, and one line if `provio run` waits for them; they are not affected."""
    if inside:
        launcher = ["env", "FLUX_TASK_RANK=9", *mpi[0]]
    else:
        launcher, project.env["FLUX_TASK_RANK"] = mpi[0], "9"
    command = [*launcher, "sh", "-c", ALL_THERE]
    done = carried_out(project, *provio_command(), "run", "--", *command)
    assert done.returncode == 3
    assert {path.read_text() for path in project.path.glob("part.*")} == {"input\n"}
    assert done.stderr.count(UNLIKE) == inside, done.stderr
    rows = project.rows("SELECT ?about ?reason { ?gap a provio:Gap ; provio:about ?about ; provio:reason ?reason }")
    found = [row for row in rows if row["reason"].endswith(f" and FLUX_TASK_RANK {UNLIKE}")]
    assert len(found) == 1, rows
    assert project.count("<" + found[0]["about"] + "> a provio:Run") == 1
    assert runs_and_ranks(project) == (1, ["9"])  # the launcher is


@pytest.mark.parametrize(
    ("env", "reports"),
    [
        ({}, True),
        ({"PMI_RANK": "3"}, True),
        ({"PMI_RANK": "3", "MPI_LOCALRANKID": "1", "SLURM_LOCALID": "0"}, False),
        ({"SLURM_PROCID": "9", "SLURM_LOCALID": "0"}, True),
    ],
)
def test_which_rank_reports(env: dict[str, str], reports: bool) -> None:
    """The first rank of each host, if the launcher identifies it; else each."""
    assert ranks.reports_problems(env) is reports


def started(project: Project, script: str, **said: str) -> str:
    """Return the output of a shell script that calls `provio`, under the name of a launcher."""
    env = project.env | said
    launcher = project.path.parent / "mpirun"
    if not launcher.exists():
        launcher.symlink_to(shutil.which("sh") or "/bin/sh")
    words = [launcher, "-c", f'provio="{provio_command()[0]}"; provio() {{ "$provio" "$@"; }}; {script}']
    (project.path / ".provio").mkdir(exist_ok=True)
    return subprocess.run(words, cwd=project.path, env=env, capture_output=True, text=True, timeout=60).stderr


@pytest.mark.slow
def test_ranks_that_start_together_make_one_run(project: Project) -> None:
    """The first makes it, the others wait; other programs, options and environments join it as well."""
    script = 'for rank in 0 1 2 3 4 5; do PMI_RANK=$rank "$provio" run -- sh -c "echo $rank > out$rank" & done; wait; '
    script += 'PMI_RANK=6 "$provio" run --quiet -- cat out0 > /dev/null; '
    script += 'PMI_RANK=7 LD_PRELOAD=libm.so.6 "$provio" run -- cat out1'
    assert started(project, script, PMI_SIZE="8") == ""
    runs, found = runs_and_ranks(project)
    assert (runs, found) == (1, [str(rank) for rank in range(8)])


@pytest.mark.slow
def test_a_variable_alone_joins_only_equal_calls(project: Project) -> None:
    """A variable of an earlier launcher in the environment: different calls are separate runs, each with its name."""
    project.env["PMI_RANK"] = "3"
    for name in ("one", "two"):
        project.provio("run", "--quiet", "--name", name, "--", "sh", "-c", f"echo > {name}")
    shown = project.provio("runs", "--as", "csv").stdout
    assert ",one," in shown and ",two," in shown


@pytest.mark.slow
def test_the_ranks_of_two_launchers_are_two_runs(project: Project) -> None:
    """By the processes that started them; with a name, all of that name are one."""
    script = "provio run -- sh -c 'echo 1 > out'"
    for _ in range(2):
        assert started(project, script, PMI_RANK="0", PMI_SIZE="2") == ""
    assert project.count("?run a provio:Run") == 2
    for number in range(2):
        assert started(project, script, PMI_RANK=str(number), PMI_SIZE="2", PROVIO_RUN="night/1") == ""
    assert project.count("?run a provio:Run") == 3


@pytest.mark.slow
def test_two_launchers_in_one_run_have_separate_ranks(project: Project) -> None:
    """If neither names its program, and only their ranks are recorded: by the process that started them."""
    script = 'for rank in 0 1; do PMI_RANK=$rank PMI_SIZE=2 provio run --quiet -- sh -c "echo $rank > out"; done'
    for _ in range(2):
        assert started(project, script, PROVIO_RUN="night") == ""
    assert runs_and_ranks(project) == (1, ["0", "1"])
    assert project.count("?rank a provio:Rank ; provio:rank 0") == 2
    assert project.count("?rank a provio:Rank") == 4


@pytest.mark.slow
@pytest.mark.parametrize("order", ["0 1 2", "2 1 0"])
def test_the_rank_that_makes_the_run_reports_its_problems(project: Project, order: str) -> None:
    """It may not be the first of its host: a wrong setting, the capture folder, an unwatched program."""
    (project.path / "provio.toml").write_text('detail = "no-such"\n')
    program = project.path / "program.c"
    program.write_text("int main(void) { return 0; }")
    subprocess.run(["cc", "-static", "-o", project.path / "blind", program], check=True)
    script = f"for rank in {order}; do PMI_RANK=$rank MPI_LOCALRANKID=$rank provio run -- ./blind; done"
    said = started(project, script, PROVIO_CAPTURE_DIR=f"{project.path}/nowhere").splitlines()
    assert len(said) == 3, said
    for word in ("'no-such' is not allowed", "capture_dir: ", "is statically linked"):
        assert len([line for line in said if word in line]) == 1, word
    assert started(project, script.replace("provio run", "provio run --quiet"), PROVIO_RUN="quiet") == ""
    (project.path / "provio.toml").unlink()
    assert project.count("?run a provio:Run") == 2


@pytest.mark.integration
@pytest.mark.parametrize("left", [0, 1, 7])
def test_a_variable_of_another_launcher_is_reported_once_for_any_value(project: Project, left: int) -> None:
    """It may agree with the first rank, which otherwise reports for all."""
    command = f"PMI_RANK=$rank MPI_LOCALRANKID=$rank PMIX_RANK={left} provio run --no-merge -- touch out$rank"
    for order in ("0 1 2", "2 1 0"):
        said = started(project, f"for rank in {order}; do {command}; done")
        assert len([line for line in said.splitlines() if "contradict each other" in line]) == 1, said


@pytest.mark.integration
def test_refused_ranks_report_that_once(project: Project) -> None:
    """None of them is started."""
    script = (
        "for rank in 1 0 2; do PMI_RANK=$rank MPI_LOCALRANKID=$rank provio run --strict -- touch out; echo $? >&2; done"
    )
    said = started(project, script, PROVIO_HOME="/proc/nowhere").splitlines()
    assert [line for line in said if not line.startswith("provio: ")] == ["125"] * 3
    assert len(said) == 4
    assert not (project.path / "out").exists()


def test_a_launcher_that_a_variable_makes_a_rank_is_reported(project: Project) -> None:
    """The variable may come from another launcher: its ranks would contradict it, which only a gap states."""
    (project.path / "mpirun").write_text("#!/bin/sh\ntouch out\n")
    (project.path / "mpirun").chmod(0o755)
    said = "provio: PMI_RANK makes this a rank, and ./mpirun starts ranks: "
    said += "unset PMI_RANK if it comes from another launcher\n"
    assert started(project, "provio run -- ./mpirun", PMI_RANK="0", PROVIO_RUN="one") == said
    assert started(project, "provio run --quiet -- ./mpirun", PMI_RANK="0", PROVIO_RUN="two") == ""
    assert started(project, "provio run -- touch out", PMI_RANK="0", PROVIO_RUN="three") == ""


@pytest.mark.integration
def test_a_contradiction_is_reported_and_is_no_rank(project: Project) -> None:
    """In one line; the command runs, in a separate run."""
    said = started(project, "provio run -- sh -c 'echo 1 > out'", OMPI_COMM_WORLD_RANK="1", PMI_RANK="2")
    first, second = said.splitlines()
    assert first.startswith(
        "provio: OMPI_COMM_WORLD_RANK=1 and PMI_RANK=2 contradict each other: recorded as a separate run;"
    )
    assert "recorded in" in second
    assert runs_and_ranks(project) == (1, [])


def test_a_proc_that_hides_the_launcher_keeps_no_rank_from_its_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The rank's number on the host then decides whether it reports a contradiction."""
    monkeypatch.setenv("PROVIO_HOME", str(tmp_path / ".provio"))
    monkeypatch.setattr(ranks, "ABOVE", 1)
    monkeypatch.setattr(os, "getppid", lambda: 1 << 30)  # no process has that number
    for local, first in (("0", True), ("1", False)):
        monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_RANK", local)
        assert ranked._is_first_to_report() is first


@pytest.mark.integration
def test_a_command_that_cannot_start_is_reported(project: Project) -> None:
    """127 and 126, for the first rank and for another."""
    for rank in "01":
        said = started(project, "provio run -- no-such; echo $? >&2; provio run -- /; echo $? >&2", PMI_RANK=rank)
        assert said.splitlines()[1::2] == ["127", "126"]


@pytest.mark.integration
def test_a_command_that_cannot_start_is_a_gap(project: Project) -> None:
    """The first rank's run is that of the others: each rank that is not started leaves a gap."""
    for rank, command in enumerate(("no-such", "/")):
        started(project, f"provio run -- {command}", PMI_RANK=str(rank), PROVIO_RUN="one")
    reasons = [row["reason"] for row in project.rows("SELECT ?reason { ?gap a provio:Gap ; provio:reason ?reason }")]
    assert sorted(reasons) == [
        "the command was not started (/: is a folder, not a program)",
        "the command was not started (no-such: command not found)",
    ]
    assert ends(project) == ["ended"]


# Makes the n-th change of a file after the creation of the run folder fail, as on a full disk.
FAILS = """
import os, re, sys
left, begun = int(sys.argv.pop(1)), False
STEPS = {"os.rename", "os.mkdir", "os.chmod", "os.symlink", "os.utime", "os.truncate", "fcntl.flock", "os.fork"}
def hook(event, arguments):
    global left, begun
    begun |= event == "os.mkdir" and re.search(r"/runs/[0-9a-f-]{36}.new$", str(arguments[0])) is not None
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT
    if begun and (event in STEPS or writes):
        left -= 1
        if left == 0:
            os.write(2, b"failed here\\n")
            raise OSError(28, os.strerror(28))
sys.addaudithook(hook)
from provio.cli.main import main
sys.exit(main())
"""


def fails_at(project: Project, step: int) -> bool:
    """Make the first of three ranks fail at a step while the others wait; return whether it reached the step."""
    (project.path / "fails.py").write_text(FAILS)
    first = f'"{sys.executable}" -P fails.py {step} run -- sh -c "echo > out0.{step}"'
    before = len(Home(project.path / ".provio").run_folders())
    wait = f'until set -- .provio/runs/* && [ -e "$1" ] && [ $# -gt {before} ]; do sleep 0.02; done'
    script = f"PMI_RANK=0 {first} & {wait}; "
    script += f'for rank in 1 2; do PMI_RANK=$rank "$provio" run --quiet -- sh -c "echo > out$rank.{step}" & done; wait'
    return "failed here" in started(project, script, PROVIO_RUN=f"step {step}")


@pytest.mark.slow
@pytest.mark.parametrize("captured", [False, True])
def test_a_rank_that_cannot_make_the_run_leaves_none(project: Project, captured: bool) -> None:
    """At each step: another rank makes the run, the command is recorded, and no run is empty."""
    if captured:
        capture_on_node(project)
    steps = 1
    while fails_at(project, steps):
        steps += 1
    assert steps > 5
    wait_for_collected(project)
    runs = Home(project.path / ".provio").run_folders()
    assert [run.name for run in runs if not any(run.glob("*/[1-9]*"))] == []
    makers = makers_of_all(project)
    for step in range(1, steps):
        made = [run for rank in "012" for run in makers.get(f"{project.path}/out{rank}.{step}", [])]
        assert (len(made), len(set(made[1:]))) == (3, 1), (step, made)


# Kills itself instead of the n-th of these changes, up to the one that starts the run.
KILLED = FAILS.replace("failed here", "killed here").replace(
    "raise OSError(28, os.strerror(28))", "os.kill(os.getpid(), 9)"
)
KILLED = KILLED.replace("    writes =", '    begun &= event != "os.remove"\n    writes =')


@pytest.mark.slow
@pytest.mark.parametrize("captured", [False, True])
def test_a_rank_that_is_killed_while_it_makes_the_run_leaves_none(project: Project, captured: bool) -> None:
    """The run is not listed, nothing is damaged, and the next merge and `prune` remove its files."""
    if captured:
        capture_on_node(project)
    (project.path / "killed.py").write_text(KILLED)
    command, step, said = f'"{sys.executable}" -P killed.py', 0, "killed here"
    while "killed here" in said:
        step += 1
        said = started(project, f"{command} {step} run -- sh -c 'echo > out'", PMI_RANK="0", PROVIO_RUN=f"step {step}")
    assert step > 5
    wait_for_collectors(project)  # except those that were killed; their files stay until the next merge
    listed = project.provio("runs", "--as", "csv")
    made = {
        run.rpartition("/")[2] for run in makers_of_all(project)[f"{project.path}/out"]
    }  # the collector is killed separately
    assert (len(listed.stdout.splitlines()), listed.stderr) == (1 + len(made), "")
    runs = project.path / ".provio" / "runs"
    for new in runs.glob("*.new"):
        os.utime(new, (0, 0))
    project.provio("prune")
    assert {run.name for run in runs.iterdir()} == made


@pytest.mark.integration
def test_a_merged_run_of_a_killed_rank_has_a_gap(project: Project) -> None:
    """The store already has it: it stays, with a gap."""
    started(project, "provio run --no-merge -- touch out", PMI_RANK="0", PROVIO_RUN="one")
    (run,) = Home(project.path / ".provio").run_folders()
    project.provio("merge")
    (run / ranks.UNBEGUN).touch()
    (reason,) = [row["reason"] for row in project.rows("SELECT ?reason { ?gap a provio:Gap ; provio:reason ?reason }")]
    assert reason == "its command was not recorded in it: the rank that made it was killed before its command started"
    assert not (run / ranks.UNBEGUN).exists()


def makers_of_all(project: Project) -> dict[str, list[str]]:
    """Return the runs that made each file."""
    made = "prov:wasGeneratedBy/provio:partOf/provio:partOf ?run"
    makers: dict[str, list[str]] = {}
    for row in project.rows(
        f"SELECT DISTINCT ?path ?run {{ ?v prov:specializationOf [ provio:path ?path ] ; {made} }}"
    ):
        makers.setdefault(row["path"], []).append(row["run"])
    return makers


@pytest.mark.integration
def test_a_run_that_is_being_merged_is_not_removed(project: Project) -> None:
    """The merge may be reading it: it gets a gap that its rank could not start."""
    (project.path / ".provio").mkdir(exist_ok=True)
    (project.path / ".provio" / "hashing").touch()  # which cannot be a folder
    project.env |= {"PROVIO_HASH": "true", "PMI_RANK": "0", "PROVIO_RUN": "one"}
    home = Home(project.path / ".provio")
    with contextlib.closing(Lock(home, wait=True)):
        project.provio("run", "--quiet", "--", "touch", "out")
    assert len(home.run_folders()) == 2
    del project.env["PROVIO_HASH"]
    (project.path / ".provio" / "hashing").unlink()
    (reason,) = [row["reason"] for row in project.rows("SELECT ?reason { ?gap a provio:Gap ; provio:reason ?reason }")]
    assert reason.startswith("its command was not recorded in it: [Errno 17] File exists: ")
    project.provio("run", "--quiet", "--", "touch", "out")


@pytest.mark.integration
def test_no_rank_waits_for_one_that_is_recorded_separately(project: Project) -> None:
    """A rank that cannot be recorded continues while the others start."""
    meets = "for i in $(seq 300); do test -e other && exit; sleep 0.1; done; echo alone >&2"
    script = "rm -rf .provio/runs; : > .provio/runs; "
    script += f"PMI_RANK=0 provio run --quiet -- sh -c '{meets}' & sleep 0.5; "
    script += "PMI_RANK=1 provio run --quiet -- touch other; wait"
    assert started(project, script, PMI_SIZE="2", PROVIO_RUN="one") == ""


def test_a_closed_output_stays_closed(project: Project) -> None:
    """For the first rank and for another."""
    script = "for rank in 0 1; do PMI_RANK=$rank provio run -- sh -c 'test -e /proc/$$/fd/1 && echo open >&2' >&-; done"
    assert started(project, script) == ""


@pytest.mark.slow
def test_ranks_replace_a_removed_run_by_one(project: Project) -> None:
    """The rank that finds it removed makes another, for all."""
    script = "PMI_RANK=0 provio run -- true; rm -r .provio/runs/*; "
    script += 'for rank in 0 1 2 3; do PMI_RANK=$rank "$provio" run -- sh -c "echo $rank > out$rank" & done; wait'
    assert started(project, script, PROVIO_RUN="one") == ""
    assert runs_and_ranks(project) == (1, ["0", "1", "2", "3"])


def ends(project: Project) -> list[str]:
    """Return the ends of runs that `runs` shows."""
    return [row["end"] for row in csv.DictReader(project.answer("runs", "--as", "csv").splitlines())]


@pytest.mark.slow
def test_ranks_end_with_the_last_of_them(project: Project) -> None:
    """One was killed: the next query notes the end, and the run is archived."""
    script = "import time; print(1, file=open('part1', 'w'), flush=True); time.sleep(600)"
    rank = start(project, "python3", "-c", script, PMI_RANK="1")
    wait_for(project.path / "part1", b"1\n")
    try:
        assert ends(project) == ["in progress"]
    finally:
        rank.kill()
        rank.wait()
    assert ends(project) == ["ended"]
    row = project.rows(
        "SELECT ?end (MAX(?last) AS ?late) { ?run a provio:Run ; prov:endedAtTime ?end . "
        "?p a provio:Process ; prov:endedAtTime ?last } GROUP BY ?end"
    )[0]
    assert row["end"] == row["late"]
    assert run_source.pending(Home(project.path / ".provio"), Config().conclusions) == []
    assert "1 run packed" in project.provio("merge", "--pack").stderr
    assert ends(project) == ["ended"]


@pytest.mark.integration
def test_a_process_that_joins_an_ended_run_moves_its_end(project: Project) -> None:
    """The end is noted again."""
    found = []
    for rank in "01":
        assert started(project, f"provio run -- touch out{rank}", PMI_RANK=rank, PROVIO_RUN="one") == ""
        found += project.rows("SELECT ?run ?end { ?run a provio:Run ; prov:endedAtTime ?end }")
    assert found[0]["run"] == found[1]["run"]
    assert found[0]["end"] < found[1]["end"]


@pytest.mark.integration
def test_the_end_of_ranks_that_are_read_in_partitions(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is noted before the first partition, and another merge finds nothing new."""
    script = "for rank in 0 1; do PMI_RANK=$rank provio run --quiet -- touch out$rank; done"
    assert started(project, script) == ""
    monkeypatch.setattr(survey, "PARTITION_SIZE", 1)
    monkeypatch.setattr(job, "is_large", lambda _: True)
    home = Home(project.path / ".provio")
    assert len(merge(home).merged) == 1
    assert merge(home).merged == []
    assert ends(project) == ["ended"]


@pytest.mark.integration
def test_an_access_without_an_end_stays_the_same(project: Project) -> None:
    """If a rank's last read and its close are lost, it read until its last known activity, also after the first merge
    has noted the end of the run."""
    (project.path / "in").write_text("1\n")
    script = "for rank in 0 1; do PMI_RANK=$rank provio run --no-merge -- sort in -o out$rank; done"
    assert started(project, script) == ""
    [folder] = Home(project.path / ".provio").run_folders()
    for file in folder.glob("*/*.ttl"):
        file.write_bytes(LAST.sub(rb":\1 0", file.read_bytes()))
    lost = [access.last_read for access in _accesses(folder)]
    assert len(merge(Home(project.path / ".provio")).merged) == 1
    assert "endedNs" in read_head(folder)
    assert [access.last_read for access in _accesses(folder)] == lost


def _accesses(folder: Path) -> list[Access]:
    return [access for opening in read_run(folder).openings() for access in opening.accesses]


@pytest.mark.slow
def test_commands_of_one_name_are_one_run(project: Project) -> None:
    """Each becomes its command, ranks or not, before a merge or after; another name is another run."""
    project.env["PROVIO_RUN"] = "job/7"
    assert project.provio("run", "--", "sh", "-c", "echo 1 > a; exit 3", code=3).stderr == ""
    assert project.provio("run", "--name", "other", "--", "cp", "a", "b").stderr == ""
    assert project.data("b") == {"a"}
    assert project.provio("run", "--", "no-such", code=127).returncode == 127
    assert started(project, "provio run -- cp b c", PMI_RANK="0") == ""
    project.provio("run", "--", "sh", "-c", "kill -9 $$", code=-9)
    assert ends(project) == ["ended"]
    assert project.data("c") == {"a", "b"}
    project.env["PROVIO_RUN"] = "job/8"
    project.provio("run", "--", "touch", "d")
    assert ends(project) == ["ended", "ended"]


@pytest.mark.slow
def test_each_name_is_a_separate_run(project: Project) -> None:
    """For any length and any bytes."""
    names = ["x" * 300, "x" * 300 + "y", "€", " AC", "..", "../../joined", "a/b", "a\nb", "a%2Fb", "\udcff"]
    for name in names:
        project.env["PROVIO_RUN"] = name
        for _ in range(2):
            assert project.provio("run", "--", "true").stderr == ""
    assert len(ends(project)) == len(names)
    assert len(os.listdir(project.path / ".provio" / "joined")) == len(names)


@pytest.mark.slow
@pytest.mark.parametrize("captured", [False, True])
def test_a_host_may_have_any_name(project: Project, captured: bool) -> None:
    """A process that joins on it shares the run."""
    if captured:
        capture_on_node(project)
    (project.path / "a").write_text("1\n")
    script = 'for name in b c; do "$0" run -- cp a $name; mv $name a; done'
    for name in ("collector", "@collector", "a;b%43 é/"):
        assert on_host(project, name, script, PROVIO_RUN="one").stderr == ""
        wait_for_collected(project)
    assert len(ends(project)) == 1
    assert len(project.rows("SELECT DISTINCT ?host { ?p a provio:Process ; provio:host ?host }")) == 3


def on_host(project: Project, name: str, script: str, **said: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script, with provio as $0, on a host with a name."""
    unshared, env = ["unshare", "--uts"], project.env | said
    if subprocess.run([*unshared, "true"], capture_output=True).returncode:
        pytest.skip("needs the right to name a host")
    named = f'"{sys.executable}" -c "import socket, sys; socket.sethostname(sys.argv[1].encode())" "$1"; {script}'
    words = [*unshared, "sh", "-c", named, *provio_command(), name]
    return subprocess.run(words, cwd=project.path, env=env, capture_output=True, text=True, check=True, timeout=60)


@pytest.mark.parametrize("name", ["", ".", "..", "run.ttl", "run.new"])
@pytest.mark.integration
def test_a_host_name_that_is_no_folder_name_is_reported(project: Project, name: str) -> None:
    """With the remedy, by the process that would make or join a run; the command runs, and no file is left
    elsewhere."""
    home = project.path / ".provio"
    home.mkdir(exist_ok=True)
    script = '"$0" run -- touch out; "$0" run --strict -- true || echo $?'
    word = f"the name of this host, '{name}', cannot be a folder name: change it (hostname NAME)\n"
    done = on_host(project, name, script)
    assert (done.stdout, done.stderr) == ("125\n", f"provio: not recording: {word}provio: {word}")
    assert (project.path / "out").exists()
    assert list(home.glob("runs/*")) == []
    project.env["PROVIO_RUN"] = "one"
    assert project.provio("run", "--", "true").stderr == ""
    (run,) = os.listdir(home / "runs")
    before = sorted(os.listdir(home))
    done = on_host(project, name, script, PROVIO_RUN="one")
    assert (done.stdout, done.stderr) == ("125\n", f"provio: not recording: {word}provio: {word}")
    assert (os.listdir(home / "runs"), sorted(os.listdir(home))) == ([run], before)


def capture_on_node(project: Project) -> None:
    """Have live files written to a node-local folder."""
    (project.path / "node").mkdir()
    project.env["PROVIO_CAPTURE_DIR"] = f"{project.path}/node"


def wait_for_collected(project: Project) -> None:
    """Wait until no host has files there; a run that was not started may have left an empty folder."""
    until = time.monotonic() + 60
    while left := list((project.path / "node").glob("*/*/*")):
        assert time.monotonic() < until, left
        time.sleep(0.1)


def wait_for_collectors(project: Project) -> None:
    """Wait until there is no collector: a newly forked one has the command line of its `provio run`."""
    until = time.monotonic() + 60
    while left := [entry.name for entry in Path("/proc").glob("[0-9]*") if collects(entry, project)]:
        assert time.monotonic() < until, left
        time.sleep(0.1)


def collects(entry: Path, project: Project) -> bool:
    try:
        words = (entry / "cmdline").read_bytes().split(b"\0")
        left = b"killed.py" in words and os.readlink(entry / "cwd") == str(project.path)
    except OSError:
        return False
    return left or (node_local.COLLECT.encode() in words and any(os.fsencode(project.path) in word for word in words))


@pytest.mark.slow
def test_an_archived_run_takes_no_more_commands(project: Project) -> None:
    """A line reports that; the following commands share a new run."""
    project.env["PROVIO_RUN"] = "job"
    project.provio("run", "--", "touch", "a")
    assert "1 run packed" in project.provio("merge", "--pack").stderr
    said = project.provio("run", "--", "touch", "b").stderr
    assert said.count("\n") == 1
    assert "is already finished and packed: this becomes another run" in said
    assert project.provio("run", "--", "touch", "c").stderr == ""
    assert ends(project) == ["ended", "ended"]


@pytest.mark.slow
@pytest.mark.parametrize(("collected", "end"), [(False, "in progress"), (True, "ended")])
def test_ranks_of_other_hosts_end_when_all_files_are_collected(project: Project, collected: bool, end: str) -> None:
    """This host cannot see whether they are alive; until then the end is not written to the store."""
    assert started(project, "provio run -- touch out", PMI_RANK="0") == ""
    [run] = (project.path / ".provio" / "runs").iterdir()
    (run / "other").mkdir()
    node_local.mark(str(run / "other"), run.name, "other", taken=True)
    mark = run / "other" / node_local.MARK
    if collected:
        mark.write_text(mark.read_text().removesuffix(" .\n") + f"{node_local.COLLECTED}{time.time_ns()} .\n")
    assert ends(project) == [end]
    assert ends(project) == [end]
    assert run_source.pending(Home(project.path / ".provio"), Config().conclusions) == ([] if collected else [run])
    packed = project.provio("merge", "--pack").stderr
    assert ("1 run packed" in packed) is collected


@pytest.mark.parametrize(
    ("said", "rank"),
    [
        ({}, None),
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "3"}, (3, 4, "Open MPI")),
        ({"PMI_RANK": "0", "PMI_SIZE": "2", "SLURM_PROCID": "7", "SLURM_STEP_NUM_TASKS": "8"}, (0, 2, "PMI")),
        ({"PALS_RANKID": "5"}, (5, 0, "PALS")),
        ({"FLUX_TASK_RANK": "1", "FLUX_JOB_SIZE": "2"}, (1, 2, "Flux")),
        ({"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}, (1, 2, "Slurm")),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, None),  # the job's script
        ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, None),
    ],
)
def test_variables_of_launchers(said: dict[str, str], rank: tuple[int, int, str] | None) -> None:
    found = ranks.of(said)
    assert (found and (found.number, found.size, found.launcher)) == rank


@pytest.mark.parametrize(
    "said", [{"PMI_RANK": "4", "PMI_SIZE": "4"}, {"PMIX_RANK": "x"}, {"PMIX_RANK": "1", "PALS_RANKID": "0"}]
)
def test_contradictions(said: dict[str, str]) -> None:
    with pytest.raises(Contradiction):
        ranks.of(said)


def test_a_rank_loads_next_to_nothing(project: Project) -> None:
    """Neither click nor the store when it makes the run; when it becomes its command, except for its own modules only
    three small ones that a bare Python does not load (the last is loaded by `exec` itself)."""
    bare = subprocess.run([sys.executable, "-v", "-c", ""], env=project.env, capture_output=True, text=True, check=True)
    for rank in ("0", "1"):
        said = started(project, "provio run -- true", PMI_RANK=rank, PMI_SIZE="2", PROVIO_RUN="one", PYTHONVERBOSE="1")
        loaded = set(re.findall(r"^import '([\w.]+)'", said, re.MULTILINE))
        assert "provio.system.ranks" in loaded
        assert loaded & {"click", "pyoxigraph"} == set()
    more = loaded - set(re.findall(r"^import '([\w.]+)'", bare.stderr, re.MULTILINE))
    assert more == {
        "__future__",
        "fcntl",
        "warnings",
        "provio",
        "provio.cli",
        "provio.cli.main",
        "provio.interceptors",
        "provio.interceptors.python",
        "provio.interceptors.python.shared_tables",
        "provio.system",
        "provio.system.proc",
        "provio.system.ranks",
    }


@pytest.mark.integration
def test_the_run_is_pending_and_makes_no_mess(tmp_path: Path) -> None:
    """Next to the runs there is one small file for each program."""
    project = new_project(tmp_path)
    started(project, "provio run -- true", PMI_RANK="0")
    (left,) = os.listdir(project.path / ".provio" / "joined")
    assert left.startswith("rank.")
    assert project.count("?run a provio:Run") == 1


@pytest.mark.parametrize(("record", "mode"), [(0o2770, 0o2770), (0o700, 0o700)])
def test_the_shared_file_of_ranks_belongs_to_the_group_of_the_folder(project: Project, record: int, mode: int) -> None:
    """Otherwise the ranks of one user would prevent those of another from sharing a run."""
    (project.path / ".provio").mkdir(exist_ok=True)
    (project.path / ".provio").chmod(record)
    assert started(project, "provio run -- true", PMI_RANK="0") == ""
    assert (project.path / ".provio" / "joined").stat().st_mode & 0o7777 == mode
