"""Lineage that is true: a table of cases (cases/*.toml), each with the exact sets of what files come from and lead to.

Of a case, `before` is a bash script nobody watches, `files` are files to write first, `needs` programs without which
the case is left out. Each of `steps` is a bash script run under provio; `run: …` a command line run under provio
without a shell between; `unwatched: …` a bash script that provio does not see. `back` says of a file what it comes
from, `into` what it leads to, each as three exact sets of names (`data`, `carried`, `control`; one that is not named is
empty), with no file but those, system files aside; a name that ends in `/` is one or more files in that folder. `gaps`
are those in `back` whose lineage shows a Gap; no other may. `fails` names the exit code of steps that do not end with
0. `mount` names a folder (`.` is the project's own) and the kind of file system (filesystems.py) to mount there;
without the right to mount, the case is left out. What is not `everyday` is left to the run of all tests.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import filesystems
import pytest
from agreement import assert_agreement
from conftest import Project

WAYS = ("data", "carried", "control")
TABLE = [
    pytest.param(case, id=case["name"], marks=[] if case.get("everyday") else [pytest.mark.slow])
    for path in sorted((Path(__file__).parent / "cases").glob("*.toml"))
    for case in tomllib.loads(path.read_text())["case"]
]
KEYS = {"name", "needs", "before", "files", "steps", "back", "into", "gaps", "fails", "everyday", "mount"}


def take_step(project: Project, step: str, code: int | None) -> None:
    """Do what one line of `steps` says."""
    how, _, what = step.partition(": ")
    if how == "run":
        project.watch(*shlex.split(what), code=code)
    elif how == "unwatched":
        project.sh(what)
    else:
        project.run(step, code=code)


def expected(sets: dict[str, list[str]]) -> dict[str, set[str]]:
    assert set(sets) <= set(WAYS), sets
    return {way: set(sets.get(way, ())) for way in WAYS}


def folded(found: dict[str, set[str]], sets: dict[str, list[str]]) -> dict[str, set[str]]:
    """What was found, with the folders that are expected in place of the files in them."""
    folders = {name for way in sets.values() for name in way if name.endswith("/")}
    return {
        way: {next((folder for folder in folders if name.startswith(folder)), name) for name in names}
        for way, names in found.items()
    }


@pytest.fixture
def undo() -> Iterator[ExitStack]:
    """What is to be undone when the test ends, however it ends."""
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("case", TABLE)
def test_exact_sets(project: Project, needs: Callable[..., None], undo: ExitStack, case: dict[str, Any]) -> None:
    """Each file named comes from, and leads to, exactly the files the table says, by exactly those ways."""
    assert set(case) <= KEYS, set(case) - KEYS
    needs(*case.get("needs", ()))
    for folder, kind in case.get("mount", {}).items():
        filesystems.mount(project.path / folder, kind, undo)
    (project.path / ".provio").mkdir(exist_ok=True)
    for name, text in case.get("files", {}).items():
        (project.path / name).write_text(text)
    project.sh(case.get("before", ":"))
    for step in case["steps"]:
        take_step(project, step, case.get("fails", 0))
    asked = {name: project.lineage(name, "--via", "control") for name in case.get("back", {})}
    back = {name: folded(project.files(document), case["back"][name]) for name, document in asked.items()}
    assert back == {name: expected(sets) for name, sets in case.get("back", {}).items()}
    assert {name for name, document in asked.items() if document["gaps"]} == set(case.get("gaps", ()))
    into = {name: project.descendants(name) for name in case.get("into", {})}
    assert into == {name: expected(sets) for name, sets in case.get("into", {}).items()}
    assert_agreement(project, back, into)
