"""`provio checkpoint verify` and `best` with typical trainings: renamed folders, links, equal and odd values."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import Project, new_project

TRAINING = """
import os, provio

def saved(folder, said, size):
    provio.configuration({"size": size, "deep": {"rate": 1e-3, "layers": [1, 2], "none": None}}, name="args")
    for part in ("a", "parts/b"):
        path = os.path.join(folder, part)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(f"{part} {size}")
    provio.checkpoint(said, step=size)

saved("tmp-1", "tmp-1", 1)  # declared before it is renamed
os.rename("tmp-1", "ck-1")
saved("ck-2", "ck-2", 2)
os.symlink("ck-2", "latest")
provio.checkpoint("latest", step=2)
saved("ck-3", "ck-3", 3)
os.remove("latest")
os.symlink("ck-3", "latest")  # the target of "latest" at its declaration does not exist any more
saved("ck-4", "ck-4", 4)
saved("ck-5", "ck-5", 5)
os.rename("ck-4", "ck-6")
os.rename("ck-5", "ck-4")  # put where another was saved
saved("ck-7", "ck-7", 7)
saved("ck-8", "ck-8", 8)
os.remove("ck-8/a")
os.symlink("ck-7", "link")
"""
VALUES = """
import provio
for number, value in enumerate((0.5, 0.5, float("nan"), float("inf"), 10, 9, "high", -float("inf"), True, None, [1])):
    with provio.activity("try"):
        provio.configuration({"number": number}, name="args")
        provio.metric("reward", value)
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Project:
    """A training that saves folders, and one of which only the numbers of the configurations are tested."""
    project = new_project(tmp_path_factory.mktemp("trained"))
    for name, program in (("train.py", TRAINING), ("values.py", VALUES)):
        (project.path / name).write_text(program)
        project.provio("run", "--quiet", "--", sys.executable, "-W", "ignore", name)
    return project


def differing(project: Project, path: str, *arguments: str, **settings: object) -> tuple[list[str], str]:
    """Return the keys in which a checkpoint differs from such a file, and the note about it."""
    (project.path / "own.json").write_text(json.dumps(settings))
    done = project.provio("checkpoint", "verify", path, "own.json", "--as", "json", *arguments, code=None)
    rows = json.loads(done.stdout)
    assert done.returncode == (1 if rows else 0)
    return [row["key"] for row in rows], done.stderr


@pytest.mark.integration
@pytest.mark.parametrize(
    ("path", "size"), [("ck-1", 1), ("ck-1/parts", 1), ("ck-1/a", 1), ("ck-2", 2), ("latest", 3), ("latest/a", 3),
                       ("ck-6", 4), ("ck-4", 5), ("ck-4/parts/b", 5), ("link", 7), ("ck-5", 5)],
)  # fmt: skip
def test_a_folder_is_what_it_holds_now(trained: Project, path: str, size: int) -> None:
    """A checkpoint moved into place after its declaration, over another, or saved through a link is found; a missing
    one counts as it was saved."""
    keys, said = differing(trained, path, "--partial", size=size)
    assert keys == [] and "is not" not in said and "not all" not in said
    assert differing(trained, path, "--partial", size=size + 1)[0] == ["size"]


@pytest.mark.integration
def test_a_folder_that_is_no_longer_whole(trained: Project) -> None:
    """A note reports it; a folder of many checkpoints is not itself a checkpoint."""
    keys, said = differing(trained, "ck-8", "--partial", size=8)
    assert keys == [] and "ck-8: not all that was saved there is there as it was" in said
    assert "no checkpoint is recorded" in trained.provio("checkpoint", "verify", ".", "own.json", code=3).stderr


@pytest.mark.integration
@pytest.mark.parametrize(
    ("deep", "keys"),
    [({"rate": "1.0E-3", "layers": ["1", 2.0], "none": None}, []),
     ({"rate": "0.0010", "layers": [2, 1], "none": "None"}, ["deep.layers.0", "deep.layers.1"]),
     ({"rate": True, "layers": "1", "none": 0},
      ["deep.layers", "deep.layers.0", "deep.layers.1", "deep.none", "deep.rate"]),
     ({"rate": {"rate": 1e-3}, "layers": [1], "none": None}, ["deep.layers.1", "deep.rate", "deep.rate.rate"]),
     ({}, ["deep", "deep.layers.0", "deep.layers.1", "deep.none", "deep.rate"])],
)  # fmt: skip
def test_nested_missing_and_other_types(trained: Project, deep: object, keys: list[str]) -> None:
    """Numbers are equal in any type and at any depth; a key that is now a section, or is missing, differs."""
    assert differing(trained, "ck-7", size="7.0", deep=deep)[0] == keys


@pytest.mark.integration
@pytest.mark.parametrize(
    ("way", "numbers"), [("--max", [3, 4, 5, 8, 0, 1, 7, 2]), ("--min", [7, 0, 1, 8, 5, 4, 3, 2])]
)  # fmt: skip
def test_equal_infinite_and_no_values(trained: Project, way: str, numbers: list[int]) -> None:
    """Equal values by time; 10 is more than 9; NaN comes last both ways; values that are no numbers are omitted."""
    found = json.loads(trained.provio("best", "reward", way, "--as", "json").stdout)
    assert [row["settings"]["number"] for row in found] == numbers
    assert found[-1]["value"] == "NaN"
