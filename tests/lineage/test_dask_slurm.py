"""A cluster of Dask whose workers are jobs of a real Slurm (dask-jobqueue): one `provio run` records them all."""

from __future__ import annotations

import subprocess

import pytest
from conftest import Project
from dask_environments import python_with_dask
from slurm import slurm as slurm

PROGRAM = """
import sys
from dask.distributed import Client
from dask_jobqueue import SLURMCluster

def load(number):
    with open(f"in{number}.txt") as file:
        text = file.read()
    with open(f"out{number}.txt", "w") as file:
        file.write(text)
    return text

def save(texts):
    with open("all.txt", "w") as file:
        file.write("".join(texts))

if __name__ == "__main__":
    with SLURMCluster(cores=2, processes=2, memory="8GB", queue="tests", interface="lo", walltime="00:09:00",
                      death_timeout=60, job_directives_skip=["--mem"],
                      worker_extra_args=["--memory-limit", "0"]) as cluster:
        cluster.scale(jobs=1)
        with Client(cluster) as client:
            client.wait_for_workers(2, timeout="150s")
            loads = [client.submit(load, number) for number in range(4)]
            client.submit(save, loads[:2]).result()
            open("mine.txt", "w").write(loads[3].result())
"""


@pytest.mark.slow
def test_workers_that_are_jobs(project: Project, slurm: dict[str, str]) -> None:
    """Their tasks are recorded in the run of the program, with exact inputs."""
    python = python_with_dask()
    if subprocess.run([python, "-c", "import dask_jobqueue"], capture_output=True, check=False).returncode:
        pytest.skip("dask-jobqueue is not installed (make test installs it where it may)")
    (project.path / "main.py").write_text(PROGRAM)
    for number in range(4):
        (project.path / f"in{number}.txt").write_text(f"{number}\n")
    project.env |= slurm
    project.provio("run", "--quiet", "--", python, "main.py", timeout=300)
    inputs = {f"in{number}.txt" for number in range(4)}
    found = {name: project.data(name) & inputs for name in ("all.txt", "mine.txt", "out2.txt")}
    assert found == {"all.txt": {"in0.txt", "in1.txt"}, "mine.txt": {"in3.txt"}, "out2.txt": {"in2.txt"}}
    assert project.count('?t provio:kind "dask"') == 5
