"""The parallel HDF5 example: four ranks do the same with and without provio, and every call of each is counted."""

from __future__ import annotations

import csv
import os
import pwd
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Project, assert_valid, new_project, provio_command
from hdf5_project import ancestors
from workers import made_once

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "h5bench"
RANKS = 4
PATTERNS = {"write": [], "read": [], "overwrite": ["--collective"], "append": ["--collective"]}
MPIRUN = ["mpirun", "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "-n", str(RANKS)]

pytestmark = pytest.mark.integration

Account = dict[tuple[int, str], tuple[int, int, int]]  # (rank, function) → calls, bytes, nanoseconds


def account(text: str) -> Account:
    """The calls that the ranks printed."""
    lines = re.findall(r"^rank (\d+) (\w+) calls (\d+) bytes (\d+) ns (\d+)$", text, re.MULTILINE)
    return {(int(rank), name): (int(calls), int(moved), int(time)) for rank, name, calls, moved, time in lines}


def four_patterns(folder: Path) -> None:
    """Run the four patterns one after the other, with and without provio; keep the output next to them."""
    project = new_project(folder)
    subprocess.run(["make", "-s", "-f", EXAMPLE / "Makefile"], cwd=project.path, check=True)
    for pattern, options in PATTERNS.items():
        for name, watch in (("bare", []), ("watched", [*provio_command(), "run", "--quiet", "--name", pattern, "--"])):
            command = [*watch, *MPIRUN, "./kernel", pattern, f"{name}.h5", *options]
            done = subprocess.run(
                command, cwd=project.path, env=project.env, capture_output=True, text=True, check=True, timeout=120
            )
            (folder / f"{pattern}.{name}").write_text(done.stdout)
            assert done.stderr == ""


@pytest.fixture(scope="module")
def bench(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    missing = [program for program in ("h5pcc", "mpirun") if shutil.which(program) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (make test installs it where it may)")
    return made_once(tmp_path_factory, "h5bench", four_patterns)


@pytest.fixture
def project(bench: Path) -> Project:
    return new_project(bench)


@pytest.mark.slow
def test_the_ranks_run_as_without_provio(project: Project) -> None:
    """The same calls, and files of the same bytes, after collective and independent writes."""
    for pattern in PATTERNS:
        printed = [account((project.path.parent / f"{pattern}.{name}").read_text()) for name in ("bare", "watched")]
        bare, watched = ({key: values[:2] for key, values in one.items()} for one in printed)
        assert bare == watched
        assert {rank for rank, _ in bare} == set(range(RANKS))
    assert (project.path / "bare.h5").read_bytes() == (project.path / "watched.h5").read_bytes()


def test_every_rank_is_a_process(project: Project) -> None:
    """Each run has one process for each rank, with its number; other processes of mpirun have none."""
    ranks = project.rows("SELECT ?run ?rank { ?p a provio:Process ; provio:rank ?rank ; provio:partOf ?run }")
    assert sorted(row["rank"] for row in ranks) == sorted(str(rank) for rank in range(RANKS) for _ in PATTERNS)
    assert len({row["run"] for row in ranks}) == len(PATTERNS)
    assert_valid(project.path / ".provio")


def answered(project: Project, *question: str) -> list[list[str]]:
    """The rows of a named question."""
    lines = project.answer("query", *question, "--as", "csv").splitlines()
    return [line.split(",") for line in lines[1:]]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_calls_and_bytes_are_those_that_the_ranks_print(project: Project, pattern: str) -> None:
    """By rank, user and function: exactly the numbers that the kernel printed, and times within its own."""
    printed = account((project.path.parent / f"{pattern}.watched").read_text())
    rows = answered(project, "io-by-rank", "--name", pattern)
    found = {(int(rank), api): tuple(map(int, numbers)) for rank, _, api, *numbers in rows if api.startswith("H5")}
    assert {key: values[:2] for key, values in found.items()} == {key: values[:2] for key, values in printed.items()}
    assert all(0 < found[key][2] < printed[key][2] * 1.01 for key in printed)
    assert {user for _, user, *_ in rows} == {pwd.getpwuid(os.geteuid()).pw_name}


def test_the_sums_over_all_ranks(project: Project) -> None:
    """By function, and by file: the sums of the numbers that all ranks printed, over the four patterns."""
    printed: dict[str, list[int]] = {}
    for pattern in PATTERNS:
        for (_, api), (calls, moved, _) in account((project.path.parent / f"{pattern}.watched").read_text()).items():
            total = printed.setdefault(api, [0, 0])
            total[0], total[1] = total[0] + calls, total[1] + moved
    by_api = {api: [int(calls), int(moved)] for api, calls, moved, _ in answered(project, "io-by-api")}
    assert {api: by_api[api] for api in printed} == printed
    ranks = answered(project, "io-by-rank", "-p", "api=H5Dwrite")
    writes, moved = printed["H5Dwrite"]
    assert [row[3:5] for row in ranks] == [[str(writes // RANKS), str(moved // RANKS)]] * RANKS
    rows = answered(project, "io-by-file", "-p", f"path={project.path / 'watched.h5'}")
    by_file = {api: [int(calls), int(moved)] for _, api, calls, moved, _ in rows}
    moving = {"H5Dread", "H5Dwrite", "H5Dcreate2", "H5Dopen2", "H5Dset_extent", "H5Gcreate2", "H5Gopen2"}
    assert {api: by_file.get(api) for api in moving} == {api: printed[api] for api in moving}


def test_the_same_by_provio_stats(project: Project) -> None:
    """By function, rank and user: the calls and bytes that each rank printed, and the time from the named question."""
    shown = project.answer("stats", "--name", "append", *"--by api --by rank --by user --as csv".split())
    rows = [row for row in csv.DictReader(shown.splitlines()) if row["layer"] == "HDF5" and row["rank"]]
    printed = account((project.path.parent / "append.watched").read_text())
    moved = {
        (int(row["rank"]), row["api"]): (int(row["calls"]), int(row["bytes_read"]) + int(row["bytes_written"]))
        for row in rows
    }
    assert {key: moved[key] for key in printed} == {key: values[:2] for key, values in printed.items()}
    answers = answered(project, "io-by-rank", "--name", "append")
    times = {(rank, user, api): time for rank, user, api, _, _, time in answers}
    assert {(row["rank"], row["user"], row["api"]): row["nanoseconds"] for row in rows}.items() <= times.items()


def test_each_dataset_is_every_ranks_work(project: Project) -> None:
    """A dataset that four ranks wrote has four contributions, and the append keeps the contributions of the
    overwrite."""
    pattern = "?dataset prov:wasGeneratedBy ?phase . ?phase provio:partOf+ ?process . ?process provio:rank ?rank"
    own = 'FILTER (CONTAINS(STR(?dataset), "#/Timestep_0/x"))'
    processes = project.rows(f"SELECT DISTINCT ?rank {{ {pattern} {own} }}")
    assert {row["rank"] for row in processes} == {str(rank) for rank in range(RANKS)}
    before = ancestors(project, "watched.h5#/Timestep_0/x", "--via", "data")["data"]
    assert "watched.h5#/Timestep_0/x" in before


def test_output_of_a_launcher_is_no_data(project: Project) -> None:
    """A file that the ranks wrote does not come from itself; messages between ranks are a gap."""
    document = project.lineage("watched.h5")
    assert {node["type"] for node in document["nodes"]} == {"FileVersion", "Phase", "Program", "Rank"}
    assert {node["path"] for node in document["nodes"] if node["type"] == "FileVersion"} == {
        str(project.path / "watched.h5")
    }
    assert {gap["reason"] for gap in document["gaps"]} == {"what the other ranks sent it is not followed"}


@pytest.mark.slow
def test_output_of_ranks_is_data(tmp_path: Path, bench: Path) -> None:
    """Through terminals: the output comes from the data that a rank read before it last sent a message."""
    project = new_project(tmp_path)
    source = Path(__file__).parent.parent / "clients" / "tell.c"
    subprocess.run(["mpicc", "-o", tmp_path / "tell", source], check=True)
    project.sh("echo told > in")
    project.run(f"{' '.join(MPIRUN)} ../tell in > printed")
    assert (project.path / "printed").read_text() == "told\n"
    assert "in" in project.data("printed")
    assert_valid(project.path / ".provio")
