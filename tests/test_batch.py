"""Batch jobs: what a system says of one is recorded, a script records what it runs, a real Slurm's are seen."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Project
from slurm import slurm as slurm

from provio import batch, jobs

JOBS = {
    "slurm": {
        "SLURM_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "3", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_PARTITION": "long",
        "SLURM_JOB_ACCOUNT": "das", "SLURM_JOB_NUM_NODES": "2", "SLURM_NTASKS": "8",
    },
    "pbs": {
        "PBS_JOBID": "7", "PBS_ARRAY_INDEX": "3", "PBS_QUEUE": "long", "PBS_ACCOUNT": "das", "PBS_NUM_NODES": "2",
        "PBS_NP": "8",
    },
    "lsf": {
        "LSB_JOBID": "7", "LSB_JOBINDEX": "3", "LSB_HOSTS": "n[1-2]", "LSB_QUEUE": "long", "LSB_PROJECT_NAME": "das",
        "LSB_DJOB_NUMPROC": "8",
    },
    "flux": {"FLUX_JOB_ID": "7", "FLUX_JOB_NNODES": "2", "FLUX_JOB_SIZE": "8"},
}  # fmt: skip


@pytest.mark.parametrize("system", JOBS)
def test_a_job_s_facts_have_one_name_whichever_system_says_them(system: str, tmp_path: Path) -> None:
    said = dict(JOBS[system])
    if system == "pbs":
        (tmp_path / "nodes").write_text("n1\nn1\nn2\n")
        said["PBS_NODEFILE"] = str(tmp_path / "nodes")
    resources = {"lsf": "tasks=8"}.get(system, "nodes=2 tasks=8")
    expected = {"jobId": "7", "jobArrayIndex": "3", "jobNodes": "n1,n2" if system == "pbs" else "n[1-2]",
                "jobPartition": "long", "jobAccount": "das", "jobResources": resources}  # fmt: skip
    if system == "flux":
        expected = {name: expected[name] for name in ("jobId", "jobResources")}
    assert jobs.facts(said) == expected


def test_what_is_not_said_is_left_out(tmp_path: Path) -> None:
    assert jobs.facts({"SLURM_PROCID": "1"}) == {}
    assert jobs.facts({"LSB_JOBID": "7", "LSB_JOBINDEX": "0"}) == {"jobId": "7"}
    assert jobs.facts({"PBS_JOBID": "7", "PBS_NODEFILE": str(tmp_path)}) == {"jobId": "7"}


def test_a_job_s_facts_are_asked_for_with_the_run(project: Project) -> None:
    project.env |= JOBS["slurm"]
    project.watch("true")
    rows = project.provio("query", "environment-of-run", "-p", "run=last", "--as", "json").stdout
    found = json.loads(rows)["results"]["bindings"]
    facts = {row["name"]["value"]: row["value"]["value"] for row in found}
    assert (facts["jobArrayIndex"], facts["jobNodes"], facts["jobPartition"]) == ("3", "n[1-2]", "long")
    assert (facts["jobAccount"], facts["jobResources"]) == ("das", "nodes=2 tasks=8")


@pytest.mark.parametrize("system", batch.SYSTEMS)
def test_a_script_runs_its_command_and_ends_as_it_does(project: Project, system: str) -> None:
    """By itself, as a batch system runs it: one run under the script's name, and its exit code."""
    words = ["bash", "-c", "cp in 'my out'; exit 7"]
    text = project.provio("batch", system, "--name", "the job", "--", *words).stdout
    (project.path / "in").write_text("1")
    done = subprocess.run(
        ["bash", "-c", text], cwd=project.path, env=project.env | {"PBS_O_WORKDIR": str(project.path)}
    )
    assert done.returncode == 7
    assert project.ancestors("my out")["data"] == {"in"}
    assert [run["name"] for run in runs(project)] == ["the job"]


def test_a_script_that_is_told_to_end_hands_that_on(project: Project) -> None:
    program = (
        "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(9)); print(1, flush=True); time.sleep(60)"
    )
    text = project.provio("batch", "slurm", "--", sys.executable, "-c", program).stdout
    job = subprocess.Popen(["bash", "-c", text], cwd=project.path, env=project.env, stdout=subprocess.PIPE)
    assert job.stdout is not None
    assert job.stdout.readline() == b"1\n"
    job.send_signal(signal.SIGTERM)
    assert job.wait(60) == 9


def test_what_is_asked_for_is_one_line(project: Project) -> None:
    done = project.provio("batch", "slurm", "--account", "a\n#SBATCH --x", "--", "true", code=2)
    assert done.stderr.strip().splitlines()[-1] == "provio: --account is one line (see provio batch --help)"


def runs(project: Project) -> list[dict[str, str]]:
    return json.loads(project.provio("runs", "--as", "json").stdout)  # type: ignore[no-any-return]


def submit(project: Project, slurm: dict[str, str], text: str, *options: str) -> str:
    """Submit a script and wait for its end; what it printed."""
    (project.path / "job.sh").write_text(text)
    command = ["sbatch", "--wait", "--output=job-%a.log", *options, "job.sh"]
    done = subprocess.run(
        command, cwd=project.path, env=project.env | slurm, capture_output=True, text=True, timeout=120
    )
    assert "Submitted" in done.stdout, done.stderr
    return "".join(path.read_text() for path in sorted(project.path.glob("job-*.log")))


@pytest.mark.slow
def test_two_steps_of_a_real_job(project: Project, slurm: dict[str, str]) -> None:
    (project.path / "in").write_text("1")
    said = submit(project, slurm, "#!/bin/bash\nprovio run -- cp in a\nprovio run -- cp a b\n")
    assert said.count("pending in") == 2
    assert project.ancestors("b")["data"] == {"a", "in"}
    rows = project.provio(
        "query", "SELECT ?p ?n { ?r provio:jobPartition ?p ; provio:jobNodes ?n }", "--as", "csv"
    ).stdout
    assert rows.splitlines()[1:] == [f"tests,{os.uname().nodename.partition('.')[0]}"] * 2


@pytest.mark.slow
def test_an_array_of_ten(project: Project, slurm: dict[str, str]) -> None:
    (project.path / "in").write_text("1")
    text = project.provio(
        "batch", "slurm", "--array", "1-10", "--campaign", "ten", "--", "bash", "-c", "cp in out$SLURM_ARRAY_TASK_ID"
    ).stdout
    submit(project, slurm, text)
    rows = project.provio(
        "query", "SELECT ?i { ?r provio:jobArrayIndex ?i ; provio:campaign 'ten' }", "--as", "csv"
    ).stdout
    assert sorted(rows.split()[1:], key=int) == [str(number) for number in range(1, 11)]
    assert all(project.ancestors(f"out{number}")["data"] == {"in"} for number in range(1, 11))


@pytest.mark.slow
def test_a_job_that_is_only_submitted_is_joined(project: Project, slurm: dict[str, str]) -> None:
    """The run of `sbatch` has ended long before its job begins: what the job does is in it nevertheless."""
    (project.path / "in").write_text("1")
    (project.path / "job.sh").write_text("#!/bin/bash\nwhile [ ! -e go ]; do sleep 0.1; done\ncp in out\ntouch done\n")
    project.env |= slurm
    project.watch("sbatch", "job.sh")
    assert "out" not in project.provio("query", "SELECT ?p { ?f provio:path ?p }", "--as", "tsv").stdout
    (project.path / "go").touch()
    for _ in range(300):
        if (project.path / "done").exists():
            break
        time.sleep(0.1)
    assert project.ancestors("out")["data"] == {"in"}
    assert len(runs(project)) == 1


@pytest.mark.slow
def test_a_job_that_is_cancelled(project: Project, slurm: dict[str, str]) -> None:
    """Told to end, and killed where it does not: what it did until then is in the record."""
    (project.path / "in").write_text("1")
    (project.path / "job.sh").write_text(
        "#!/bin/bash\nprovio run -- bash -c 'trap \"\" TERM; cp in out; touch there; sleep 100; sleep 100'\n"
    )
    environment = project.env | slurm
    done = subprocess.run(
        ["sbatch", "--parsable", "job.sh"],
        cwd=project.path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    for _ in range(300):
        if (project.path / "there").exists():
            break
        time.sleep(0.1)
    subprocess.run(["scancel", done.stdout.strip()], env=environment, check=True)
    for _ in range(300):
        if not subprocess.run(["squeue", "--noheader"], env=environment, capture_output=True, text=True).stdout.strip():
            break
        time.sleep(0.1)
    assert project.ancestors("out")["data"] == {"in"}


@pytest.mark.slow
def test_four_tasks_of_srun(project: Project, slurm: dict[str, str]) -> None:
    """The launcher is watched: what its tasks do, which another process started, is in its run."""
    for rank in range(4):
        (project.path / f"in{rank}").write_text("1")
    project.env |= slurm
    project.watch("srun", "--overcommit", "--ntasks=4", "bash", "-c", "cp in$SLURM_PROCID out$SLURM_PROCID")
    assert [project.ancestors(f"out{rank}")["data"] for rank in range(4)] == [{f"in{rank}"} for rank in range(4)]
    assert len(runs(project)) == 1
