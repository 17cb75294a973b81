"""Ranks of a parallel program are one run: whether provio is behind its launcher or before it, or both."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, Project, new_project, provio_command

from provio import ranks
from provio.interceptors.python import surroundings
from provio.ranks import Contradiction

PROGRAM = r"""
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
int main(int count, char **words) {
    char name[16], line[16] = "";
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    FILE *file = fopen("input", "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL) return 1;
    fclose(file);
    snprintf(name, sizeof name, "part.%d", rank);
    file = fopen(name, "w");
    fprintf(file, "%d %s", rank, line);
    fclose(file);
    if (count > 1 && rank == 1 && strcmp(words[1], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    if (count > 1 && rank == 1 && strcmp(words[1], "kill") == 0) raise(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
"""
WAYS = {"openmpi": ["--oversubscribe"], "mpich": []}
SETTINGS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@pytest.fixture(scope="module", params=sorted(WAYS))
def mpi(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """How four ranks are started, and a program of that make."""
    name, folder = request.param, tmp_path_factory.mktemp(request.param)
    for tool in (f"mpirun.{name}", f"mpicc.{name}"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed (make test installs it where it may)")
    (folder / "ranks.c").write_text(PROGRAM)
    subprocess.run([f"mpicc.{name}", "-o", folder / "ranks", folder / "ranks.c"], check=True)
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


@pytest.mark.slow
@pytest.mark.parametrize("fate", ["abort", "kill"])
def test_a_rank_that_fails_ends_its_launcher_as_ever(project: Project, mpi: tuple[list[str], Path], fate: str) -> None:
    """The launcher's own exit code, and what each rank did until then."""
    launcher, program = mpi
    bare = carried_out(project, *launcher, program, fate)
    watched = carried_out(project, *launcher, *provio_command(), "run", "--quiet", "--", program, fate)
    assert watched.returncode == bare.returncode != 0
    runs, found = runs_and_ranks(project)
    assert runs == 1
    assert "1" in found
    assert project.lineage("part.1")["edges"]


def started(project: Project, script: str, **said: str) -> str:
    """What a shell script says that starts what it calls `provio`, under the name of a launcher."""
    env = project.env | said
    launcher = project.path.parent / "mpirun"
    if not launcher.exists():
        launcher.symlink_to(shutil.which("sh") or "/bin/sh")
    words = [launcher, "-c", f'provio="{provio_command()[0]}"; provio() {{ "$provio" "$@"; }}; {script}']
    (project.path / ".provio").mkdir(exist_ok=True)
    return subprocess.run(words, cwd=project.path, env=env, capture_output=True, text=True, timeout=60).stderr


def test_ranks_that_come_together_make_one_run(project: Project) -> None:
    """The first makes it, the others wait for that; other programs, options and environments join it as well."""
    script = 'for rank in 0 1 2 3 4 5; do PMI_RANK=$rank "$provio" run -- sh -c "echo $rank > out$rank" & done; wait; '
    script += 'PMI_RANK=6 "$provio" run --quiet -- cat out0 > /dev/null; '
    script += 'PMI_RANK=7 LD_PRELOAD=libm.so.6 "$provio" run -- cat out1'
    assert started(project, script, PMI_SIZE="8") == ""
    runs, found = runs_and_ranks(project)
    assert (runs, found) == (1, [str(rank) for rank in range(8)])


def test_what_a_variable_alone_says_joins_no_other_call(project: Project) -> None:
    """One that was left in the environment: calls that are unlike are runs of their own, each by its name."""
    project.env["PMI_RANK"] = "3"
    for name in ("one", "two"):
        project.provio("run", "--quiet", "--name", name, "--", "sh", "-c", f"echo > {name}")
    shown = project.provio("runs", "--as", "csv").stdout
    assert ",one," in shown and ",two," in shown


def test_the_ranks_of_two_launchers_are_two_runs(project: Project) -> None:
    """By the processes that started them; by a name, those that say it are one."""
    script = "provio run -- sh -c 'echo 1 > out'"
    for _ in range(2):
        assert started(project, script, PMI_RANK="0", PMI_SIZE="2") == ""
    assert project.count("?run a provio:Run") == 2
    for number in range(2):
        assert started(project, script, PMI_RANK=str(number), PMI_SIZE="2", PROVIO_RUN="night/1") == ""
    assert project.count("?run a provio:Run") == 3


def test_a_contradiction_is_said_and_is_no_rank(project: Project) -> None:
    """In one line; the command runs, in a run of its own."""
    said = started(project, "provio run -- sh -c 'echo 1 > out'", OMPI_COMM_WORLD_RANK="1", PMI_RANK="2")
    first, second = said.splitlines()
    assert first.startswith(
        "provio: OMPI_COMM_WORLD_RANK=1 and PMI_RANK=2 contradict each other: this is recorded as a"
    )
    assert "recorded in" in second
    assert runs_and_ranks(project) == (1, [])


def test_what_does_not_start_is_said_as_ever(project: Project) -> None:
    """127 and 126, whether the rank is the first or another."""
    for rank in "01":
        said = started(project, "provio run -- no-such; echo $? >&2; provio run -- /; echo $? >&2", PMI_RANK=rank)
        assert said.splitlines()[1::2] == ["127", "126"]


def test_nobody_waits_for_a_rank_that_is_recorded_by_itself(project: Project) -> None:
    """One that nothing can be recorded of goes on while the others start."""
    meets = "for i in $(seq 50); do test -e other && exit; sleep 0.1; done; echo alone >&2"
    script = "rm -rf .provio/runs; : > .provio/runs; "
    script += f"PMI_RANK=0 provio run --quiet -- sh -c '{meets}' & sleep 0.5; "
    script += "PMI_RANK=1 provio run --quiet -- touch other; wait"
    assert started(project, script, PMI_SIZE="2", PROVIO_RUN="one") == ""


def test_a_closed_output_stays_closed(project: Project) -> None:
    """Of the first rank and of another."""
    script = "for rank in 0 1; do PMI_RANK=$rank provio run -- sh -c 'test -e /proc/$$/fd/1 && echo open >&2' >&-; done"
    assert started(project, script) == ""


def test_ranks_make_one_run_in_the_place_of_one_that_is_gone(project: Project) -> None:
    """Whoever finds that it was removed makes another, for all."""
    script = "PMI_RANK=0 provio run -- true; rm -r .provio/runs/*; "
    script += 'for rank in 0 1 2 3; do PMI_RANK=$rank "$provio" run -- sh -c "echo $rank > out$rank" & done; wait'
    assert started(project, script, PROVIO_RUN="one") == ""
    assert runs_and_ranks(project) == (1, ["0", "1", "2", "3"])


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
def test_what_launchers_say(said: dict[str, str], rank: tuple[int, int, str] | None) -> None:
    found = ranks.of(said)
    assert (found and (found.number, found.size, found.launcher)) == rank


@pytest.mark.parametrize(
    "said", [{"PMI_RANK": "4", "PMI_SIZE": "4"}, {"PMIX_RANK": "x"}, {"PMIX_RANK": "1", "PALS_RANKID": "0"}]
)
def test_what_contradicts(said: dict[str, str]) -> None:
    with pytest.raises(Contradiction):
        ranks.of(said)


def test_the_run_is_pending_and_makes_no_mess(tmp_path: Path) -> None:
    """Beside the runs there is one small file for each program."""
    project = new_project(tmp_path)
    started(project, "provio run -- true", PMI_RANK="0")
    (left,) = os.listdir(project.path / ".provio" / "joined")
    assert left.startswith("rank.")
    assert project.count("?run a provio:Run") == 1


def test_all_tables_of_launchers_are_the_same() -> None:
    """In Python, in the shim, and in the layer that has no shim."""
    names = [name for _, name, _ in ranks.TABLE]
    text = (ROOT / "interceptors" / "posix" / "process.c").read_text(encoding="utf-8")
    (rows,) = re.findall(r"#define RANK_NAMES\(name\)((?:.*\\\n)+.*)", text)
    assert re.findall(r'name\("(\w+)"\)', rows) == [*names, "SLURM_STEP_NUM_TASKS"]
    assert list(surroundings.RANKS) == names
