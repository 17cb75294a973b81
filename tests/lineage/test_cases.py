"""Correct lineage: a table of cases (cases/*.toml), each with the exact sets of a file's sources and products.

In a case, `before` is an unrecorded bash script, `files` are files to write first, and `needs` names the programs
without which the case is skipped. Each of `steps` is a bash script run under provio; `run: …` a command line run under
provio without a shell; `unwatched: …` a bash script that is not recorded. `back` gives the sources of files, `into`
their products, as three exact sets of names each (`data`, `carried`, `control`; a missing one is empty), without system
files; a name that ends in `/` stands for one or more files in that folder. `gaps` lists the files in `back` that show a
Gap in their lineage; no other may show one. `fails` is the exit code of steps that do not end with 0. `late` is the
exit code of steps that missed the clock second that they test: they are repeated in another project. `mount` maps a
folder (`.` is the project) to the kind of file system (filesystems.py) to mount there; without the right to mount, the
case is skipped. So are a case with `attributes` on a file system without extended attributes, and one with `root`,
which starts programs as another user, if the tests are not run by root. Cases without `everyday` run only with all
tests.
"""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import filesystems
import pytest
from conftest import Project, assert_valid, new_project
from query_agreement import assert_agreement

WAYS = ("data", "carried", "control")
MOST = 20  # the most repetitions of steps that may be late
TABLE = [
    pytest.param(case, id=case["name"], marks=[] if case.get("everyday") else [pytest.mark.integration])
    for path in sorted((Path(__file__).parent.parent / "cases").glob("*.toml"))
    for case in tomllib.loads(path.read_text())["case"]
]
KEYS = set("name needs before files steps back into gaps fails everyday mount late attributes root".split())


def take_step(project: Project, step: str, case: dict[str, Any]) -> bool:
    """Execute one of `steps`; return whether it was late."""
    how, _, what = step.partition(": ")
    if how == "unwatched":
        project.sh(what)
        return False
    words = shlex.split(what) if how == "run" else ["bash", "-c", step]
    done = project.provio("run", "--quiet", "--", *words, code=None)
    assert done.returncode in (case.get("fails", 0), case.get("late")), done.stdout + done.stderr
    return done.returncode == case.get("late")


def prepare(project: Project, undo: ExitStack, case: dict[str, Any]) -> None:
    """Create the state before the first step."""
    for folder, kind in case.get("mount", {}).items():
        filesystems.mount(project.path / folder, kind, undo)
    (project.path / ".provio").mkdir(exist_ok=True)
    for name, text in case.get("files", {}).items():
        (project.path / name).write_text(text)
    project.sh(case.get("before", ":"))


def taken(project: Project, undo: ExitStack, case: dict[str, Any]) -> Project:
    """Execute the steps; return the project in which they were not late."""
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
    """Return the found names, with the expected folders in place of the files in them."""
    folders = {name for way in sets.values() for name in way if name.endswith("/")}
    return {
        way: {next((folder for folder in folders if name.startswith(folder)), name) for name in names}
        for way, names in found.items()
    }


@pytest.fixture
def undo() -> Iterator[ExitStack]:
    """Actions to undo at the end of the test."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture(autouse=True)
def record_in_memory(project: Project, undo: ExitStack) -> Iterator[None]:
    """Keep the record in memory, if root may mount a file system: a store syncs its files after each step. The files of
    the case stay on the disk."""
    record = project.path / ".provio"
    if os.geteuid() == 0:
        with suppress(pytest.skip.Exception):
            filesystems.mount(record, "tmpfs", undo)
            record.chmod(0o700)
    yield
    if record.is_mount():  # it is unmounted before the fixture `project` validates
        assert_valid(record)


@pytest.mark.parametrize("case", TABLE)
def test_exact_sets(project: Project, needs: Callable[..., None], undo: ExitStack, case: dict[str, Any]) -> None:
    """Each file has exactly the sources and products in the table, of exactly these kinds."""
    assert set(case) <= KEYS, set(case) - KEYS
    needs(*case.get("needs", ()))
    if case.get("root") and os.geteuid():
        pytest.skip("only root may start programs as another user")
    if case.get("attributes"):
        filesystems.need_attributes(project.path)
    own, project = project, taken(project, undo, case)
    asked = {name: project.lineage(name, "--via", "control") for name in case.get("back", {})}
    back = {name: folded(project.files(document), case["back"][name]) for name, document in asked.items()}
    assert back == {name: expected(sets) for name, sets in case.get("back", {}).items()}
    assert {name for name, document in asked.items() if document["gaps"]} == set(case.get("gaps", ()))
    into = {name: project.descendants(name) for name in case.get("into", {})}
    assert into == {name: expected(sets) for name, sets in case.get("into", {}).items()}
    assert_agreement(project, back, into)
    if project is not own:  # the own project is validated in any case
        assert_valid(project.path / ".provio")
