"""MPI-IO: each call is counted in the rank that makes it, and each rank that writes a file is one of its writers."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import mpiio_calls
import pytest
from conftest import Project
from posix_trace import Facts, Trace, of_class

ROOT = Path(__file__).parent.parent.parent
SOURCES = Path(__file__).parent.parent / "mpi"
TABLE = {row.name: row for row in mpiio_calls.rows()}
RANKS = ["--allow-run-as-root", "--oversubscribe", "-n", "4"]


def compiled(name: str, folder: Path, compiler: str = "mpicc") -> Path:
    if shutil.which(compiler) is None:
        pytest.skip(f"not installed: {compiler} (make test installs it where it may)")
    program = folder / Path(name).stem
    subprocess.run([compiler, "-w", "-o", program, SOURCES / name], check=True, cwd=folder)
    return program


@pytest.mark.parametrize("compiler", ["mpicc.openmpi", "mpicc.mpich"])
def test_each_public_function_is_wrapped_or_skipped_with_a_reason(compiler: str, tmp_path: Path) -> None:
    """A new function of MPI fails this test until it has a row; a function with a row has its parameters."""
    if shutil.which(compiler) is None:
        pytest.skip(f"not installed: {compiler} (make test installs it where it may)")
    (tmp_path / "x.c").write_text("#include <mpi.h>\n")
    done = subprocess.run([compiler, "-E", "-P", "x.c"], cwd=tmp_path, check=True, capture_output=True, text=True)
    declared = dict(re.findall(r"\b(MPI_File_\w+)\s*\(([^;{]*)\)(?:\s*__attribute__[^;]*)?\s*;", done.stdout))
    declared = {name: text for name, text in declared.items() if not name.endswith("_fn")}
    assert len(declared) > 60
    assert declared.keys() - TABLE.keys() == set()
    ours = {name: row.columns.count(",") for name, row in TABLE.items() if row.term}
    assert {name: text for name, text in declared.items() if name in ours and text.count(",") != ours[name]} == {}


def test_rows_are_unique_and_skipped_ones_have_a_reason() -> None:
    names = [row.name for row in mpiio_calls.rows()]
    assert len(names) == len(set(names)) > 80
    assert [row.name for row in TABLE.values() if not row.term and len(row.columns) < 5] == []


def test_the_page_of_the_table_is_fresh() -> None:
    """docs/calls-mpiio.md is up to date."""
    assert (ROOT / "docs" / "calls-mpiio.md").read_text() == mpiio_calls.document(), "run `make calls`"


@pytest.mark.integration
@pytest.mark.parametrize("way", ["openmpi", "mpich"])
def test_each_call_is_counted_in_the_rank_that_makes_it(trace: Trace, tmp_path: Path, way: str) -> None:
    """Four ranks make each call of the table; ranks that passed no data to the last one did not write."""
    program = compiled("all.c", tmp_path, f"mpicc.{way}")
    options = RANKS if way == "openmpi" else ["-n", "4"]
    done = trace.run(f"mpirun.{way}", *options, program, tmp_path / "out", cwd=tmp_path, timeout=100)
    assert done.returncode == 0, done.stderr
    expected: dict[str, list[int]] = {}
    for line in done.stdout.decode().splitlines():
        name, calls, size = line.split()
        sums = expected.setdefault(name, [0, 0])
        sums[0] += int(calls)
        sums[1] += int(size)
    counted = {
        row.name for row in TABLE.values() if row.term and "_begin" not in row.name and not row.name.endswith("_c")
    }
    assert expected.keys() == counted - {"MPI_File_open"}
    facts = trace.facts()
    processes = {
        record["rank"]: iri
        for iri, record in of_class(facts, "Process").items()
        if record["argv"].startswith(str(program))
    }
    assert sorted(processes) == ["0", "1", "2", "3"]
    for rank, process in processes.items():
        found = counts(facts, process)
        last = found["MPI_File_write_at_all"]
        assert last == ([3, 1200] if rank == "1" else [3, 800])
        last[:] = expected["MPI_File_write_at_all"]
        assert found == expected, rank
    failures = [record["api"] for record in of_class(facts, "Failure").values()]
    assert failures.count("MPI_File_open") == 4


def counts(facts: dict[str, Facts], process: str) -> dict[str, list[int]]:
    """The calls and bytes of each function of MPI-IO in a process."""
    found: dict[str, list[int]] = {}
    for iri, record in of_class(facts, "Access").items():
        for api, calls, size in (
            ("readApi", "reads", "readBytes"),
            ("writeApi", "writes", "writeBytes"),
            ("api", "count", "bytes"),
        ):
            if iri.startswith(process) and record.get(api, "").startswith("MPI_"):
                sums = found.setdefault(record[api], [0, 0])
                sums[0] += int(record[calls])
                sums[1] += int(record[size])
    return found


@pytest.mark.integration
@pytest.mark.parametrize("way", ["openmpi", "mpich"])
@pytest.mark.parametrize("module", ["modern", "older"])
def test_fortran_is_seen_once(trace: Trace, tmp_path: Path, way: str, module: str) -> None:
    """Its bindings call the C functions by other names, or those of others: each call is counted once."""
    program = compiled(f"{module}.f90", tmp_path, f"mpif90.{way}")
    done = trace.run(
        f"mpirun.{way}", *(RANKS[:2] if way == "openmpi" else []), "-n", "2", program, cwd=tmp_path, timeout=60
    )
    assert done.returncode == 0, done.stderr
    facts = trace.facts()
    for process, record in of_class(facts, "Process").items():
        if record["argv"] == str(program):
            assert counts(facts, process) == {"MPI_File_write_at_all": [1, 40], "MPI_File_close": [1, 0]}


@pytest.mark.slow
def test_ranks_that_write_one_file_are_one_chain_of_versions(project: Project, needs: Callable[..., None]) -> None:
    """Each rank reads its own input and all write one file together, of one version: every input is an ancestor, except
    that of a rank that passed no data."""
    needs("mpirun")
    program = compiled("gather.c", project.path)
    for rank in range(4):
        (project.path / f"in{rank}").write_bytes(bytes(400))
    project.watch("mpirun", *RANKS, str(program), "out")
    assert project.ancestors("out")["data"] >= {"in0", "in1", "in2"}
    assert "in3" not in project.ancestors("out")["data"]
    layers = {
        line.split("\t")[0] for line in project.provio("stats", "--by", "layer", "--as", "tsv").stdout.splitlines()
    }
    assert {"POSIX", "MPI-IO"} <= layers
    rows = project.provio("stats", "--by", "api", "--as", "tsv").stdout.splitlines()
    (row,) = [
        dict(zip(rows[0].split("\t"), line.split("\t"), strict=True)) for line in rows if "MPI_File_write_all" in line
    ]
    assert (row["layer"], row["writes"], row["bytes_written"]) == ("MPI-IO", "4", "1200")
