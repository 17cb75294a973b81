"""Declarations of programs are the same in the store after repeated merges, in any order, for a growing run, and
after a rebuild."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest
from conftest import assert_valid
from synthetic_traces import File, Process, Run

from provio.merge.removal import remove
from provio.merge.runs import merge
from provio.settings import schema
from provio.settings.home import Home
from provio.store import open_reader


def made(folder: Path, name: str) -> Home:
    home = Home(folder / name / ".provio")
    home.path.mkdir(parents=True, mode=0o700)
    return home


def train(process: Process, rate: float, model: File) -> None:
    """Record a training with all kinds of declarations, alternating with reads and writes."""
    process.configure("args", "Hyperparameter", lr=rate, epochs=2)
    table = process.entity("patients", "Table", "db/patients", rows=7)
    process.used(table)
    for epoch in range(2):
        process.begin("epoch")
        process.plain(File(f"/data/{rate}-{epoch}")).read().close()
        process.metric("loss", rate / (epoch + 1), epoch, "Loss")
        process.plain(model, "w").write().close()
        process.checkpoint(model.path, epoch, accuracy=0.5)
        process.finish()
    process.used(process.entity("patients", "Table", "db/patients"), made=True)
    process.configure("args", "Hyperparameter", lr=rate / 2, epochs=2)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the folders of three runs of a training by id; the second uses other values."""
    home, model, runs = made(tmp_path_factory.mktemp("told"), "project"), File("/data/model.pt"), {}
    for number, rate in enumerate((0.1, 0.2, 0.1)):
        run = Run(home, number, "train.py")
        train(run.process("train.py"), rate, model)
        run.write()
        runs[run.id] = run.folder
    return runs


def put(home: Home, folder: Path) -> None:
    """Put a run into a home in place of its earlier state, and merge."""
    shutil.rmtree(home.runs / folder.name, ignore_errors=True)
    shutil.copytree(folder, home.runs / folder.name)
    assert merge(home).damages == []


def quads(home: Home) -> set[str]:
    return {str(quad) for quad in open_reader(home).quads()}


@pytest.fixture(scope="module")
def expected(recorded: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the quads after one merge of all runs."""
    home = made(tmp_path_factory.mktemp("expected"), "project")
    for folder in recorded.values():
        shutil.copytree(folder, home.runs / folder.name)
    assert merge(home).damages == []
    assert_valid(home.path)
    return quads(home)


@pytest.mark.integration
@pytest.mark.parametrize("order", [*itertools.permutations(range(3))][1:])
def test_in_any_order_and_again(
    recorded: dict[str, Path], expected: set[str], tmp_path: Path, order: tuple[int, ...]
) -> None:
    home, folders = made(tmp_path, "project"), list(recorded.values())
    for number in (*order, order[0]):
        put(home, folders[number])
    assert quads(home) == expected


@pytest.mark.integration
@pytest.mark.parametrize("last", range(3))
def test_of_a_run_that_grew(recorded: dict[str, Path], expected: set[str], tmp_path: Path, last: int) -> None:
    """The run is merged after every sixth statement, before and after other complete runs."""
    home, folders = made(tmp_path, "project"), list(recorded.values())
    growing = shutil.copytree(folders[last], tmp_path / folders[last].name)
    (trace,) = growing.glob("*/*.ttl")
    lines = trace.read_text().splitlines(keepends=True)
    head = growing / "run.ttl"
    head.write_text(head.read_text().partition(" ; :endedNs")[0] + " .\n")
    for number, folder in enumerate(folders):
        if number != last:
            put(home, folder)
        for count in range(3 + 18 * number, min(3 + 18 * (number + 1), len(lines)), 6):
            trace.write_text("".join(lines[:count]))
            put(home, growing)
    assert quads(home) != expected
    put(home, folders[last])
    assert quads(home) == expected


@pytest.mark.integration
def test_after_a_removal_a_return_and_a_rebuild(recorded: dict[str, Path], expected: set[str], tmp_path: Path) -> None:
    home, fewer = made(tmp_path, "project"), made(tmp_path, "fewer")
    first, second, third = recorded.values()
    for folder in (first, second, third):
        put(home, folder)
    for folder in (first, third):
        put(fewer, folder)
    remove(home, [second.name], schema.Config())
    assert quads(home) == quads(fewer)
    put(home, second)
    assert quads(home) == expected
    assert merge(home, rebuild=True).damages == []
    assert quads(home) == expected
