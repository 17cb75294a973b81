"""The MPI libraries of PyPI, each in an environment of its own, called by mpi4py: other launchers, private
libraries."""

from __future__ import annotations

import pytest
from conftest import Project
from mpi_implementations import WHEELS, Make, of_wheel

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


@pytest.fixture(params=WHEELS)
def wheel(request: pytest.FixtureRequest, project: Project, tmp_path_factory: pytest.TempPathFactory) -> Make:
    """An MPI of PyPI, in the project's environment."""
    make = of_wheel(request.param, tmp_path_factory, project.env["PATH"])
    project.env |= make.env
    return make


@pytest.mark.slow
def test_four_ranks_of_python_write_one_file(project: Project, wheel: Make) -> None:
    """All reads and writes of all ranks together are the lineage of the file, in one run; no rank hangs or gets an
    error."""
    (project.path / "program.py").write_text(PROGRAM)
    for rank in range(4):
        (project.path / f"in{rank}").write_text(str(rank))
    project.watch(*wheel.ranks(4), *wheel.program, "program.py")
    assert (project.path / "out").read_text() == "0123"
    assert project.ancestors("out")["data"] >= {"in0", "in1", "in2", "in3"}
    assert len(project.rows("SELECT DISTINCT ?r { ?p provio:rank ?r }")) == 4
    assert "\nMPI-IO," in project.answer("stats", "--by", "layer", "--as", "csv")
