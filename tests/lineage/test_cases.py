"""Lineage that is true: a table of cases (cases/*.toml), each with the exact sets of what files come from and lead to.

Of a case, `before` is a bash script nobody watches, `files` are files to write first, `needs` programs without which
the case is left out. Each of `steps` is a bash script run under provio; `run: …` a command line run under provio
without a shell between; `unwatched: …` a bash script that provio does not see. `back` says of a file what it comes
from, `into` what it leads to, each as three exact sets of names (`data`, `carried`, `control`; one that is not named is
empty), with no file but those, system files aside; a name that ends in `/` is one or more files in that folder. `gaps`
are those in `back` whose lineage shows a Gap; no other may. `fails` names the exit code of steps that do not end with
0. `late` is the exit code of steps that did not fall into the one second of the clock that they are about: they are
taken in another project then. `mount` names a folder (`.` is the project's own) and the kind of file system
(filesystems.py) to mount there; without the right to mount, the case is left out. What is not `everyday` is left to the
run of all tests.
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
from conftest import Project, assert_valid, new_project
from query_agreement import assert_agreement

WAYS = ("data", "carried", "control")
MOST = 20  # times that steps are taken which may be late
TABLE = [
    pytest.param(case, id=case["name"], marks=[] if case.get("everyday") else [pytest.mark.slow])
    for path in sorted((Path(__file__).parent.parent / "cases").glob("*.toml"))
    for case in tomllib.loads(path.read_text())["case"]
]
KEYS = {"name", "needs", "before", "files", "steps", "back", "into", "gaps", "fails", "everyday", "mount", "late"}


def take_step(project: Project, step: str, case: dict[str, Any]) -> bool:
    """Do what one line of `steps` says; return whether it was late."""
    how, _, what = step.partition(": ")
    if how == "unwatched":
        project.sh(what)
        return False
    words = shlex.split(what) if how == "run" else ["bash", "-c", step]
    done = project.provio("run", "--quiet", "--", *words, code=None)
    assert done.returncode in (case.get("fails", 0), case.get("late")), done.stdout + done.stderr
    return done.returncode == case.get("late")


def prepare(project: Project, undo: ExitStack, case: dict[str, Any]) -> None:
    """Make what is there before the first step."""
    for folder, kind in case.get("mount", {}).items():
        filesystems.mount(project.path / folder, kind, undo)
    (project.path / ".provio").mkdir(exist_ok=True)
    for name, text in case.get("files", {}).items():
        (project.path / name).write_text(text)
    project.sh(case.get("before", ":"))


def taken(project: Project, undo: ExitStack, case: dict[str, Any]) -> Project:
    """Take the steps; return the project in which they were not late."""
    for attempt in range(MOST):
        place = new_project(project.path.parent / f"again {attempt}") if attempt else project
        prepare(place, undo, case)
        if not any(take_step(place, step, case) for step in case["steps"]):
            return place
    raise AssertionError(f"{MOST} times over, the steps did not fall into one second")


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
    own, project = project, taken(project, undo, case)
    asked = {name: project.lineage(name, "--via", "control") for name in case.get("back", {})}
    back = {name: folded(project.files(document), case["back"][name]) for name, document in asked.items()}
    assert back == {name: expected(sets) for name, sets in case.get("back", {}).items()}
    assert {name for name, document in asked.items() if document["gaps"]} == set(case.get("gaps", ()))
    into = {name: project.descendants(name) for name in case.get("into", {})}
    assert into == {name: expected(sets) for name, sets in case.get("into", {}).items()}
    assert_agreement(project, back, into)
    if project is not own:  # which is looked at whatever the test
        assert_valid(project.path / ".provio")
