"""The parallel HDF5 example: four ranks under provio do what they do without it, and every call of each is counted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Project, assert_valid, new_project, provio_command
from workers import made_once

EXAMPLE = Path(__file__).parent.parent / "examples" / "h5bench"
RANKS = 4
PATTERNS = {"write": [], "read": [], "overwrite": ["--collective"], "append": ["--collective"]}
MPIRUN = ["mpirun", "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "-n", str(RANKS)]

pytestmark = pytest.mark.slow

Account = dict[tuple[int, str], tuple[int, int, int]]  # (rank, function) → calls, bytes, nanoseconds


def account(text: str) -> Account:
    """What the ranks printed of their calls."""
    lines = re.findall(r"^rank (\d+) (\w+) calls (\d+) bytes (\d+) ns (\d+)$", text, re.MULTILINE)
    return {(int(rank), name): (int(calls), int(moved), int(time)) for rank, name, calls, moved, time in lines}


def four_patterns(folder: Path) -> None:
    """Run the four patterns one after the other, with and without provio; what is printed is kept beside them."""
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


def test_the_ranks_do_what_they_do_without_provio(project: Project) -> None:
    """The same calls, and files of the same bytes, after collective and independent writes."""
    for pattern in PATTERNS:
        printed = [account((project.path.parent / f"{pattern}.{name}").read_text()) for name in ("bare", "watched")]
        bare, watched = ({key: values[:2] for key, values in one.items()} for one in printed)
        assert bare == watched
        assert {rank for rank, _ in bare} == set(range(RANKS))
    assert (project.path / "bare.h5").read_bytes() == (project.path / "watched.h5").read_bytes()


def test_every_rank_is_a_process(project: Project) -> None:
    """Each run has one process a rank, which says which; what else mpirun starts has none."""
    ranks = project.rows("SELECT ?run ?rank { ?p a provio:Process ; provio:rank ?rank ; provio:partOf ?run }")
    assert sorted(row["rank"] for row in ranks) == sorted(str(rank) for rank in range(RANKS) for _ in PATTERNS)
    assert len({row["run"] for row in ranks}) == len(PATTERNS)
    assert_valid(project.path / ".provio")
