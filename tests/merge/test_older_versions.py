"""An older provio and this one on one record, in turns and at the same time: nothing is lost, and a store that the
older one does not know stays as it is. The older ones are commits of this repository."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from compiled_cache import copy_made
from conftest import ROOT, Project, quads

from provio.settings.home import Home
from provio.store.embedded.snapshots import VERSION

pytestmark = [pytest.mark.slow, pytest.mark.integration]

STORE_1 = "0f6abf6fd696ff3be8c68b3ac0d91a9538ac630c"  # the last with the first version of the store
RULES_14 = "9cc3659e71d9d69567a3a32bf12b7b9f4b5f84a8"  # this version of the store, older rules of lineage
STARTS = {
    STORE_1: "from provio.cli import main; main()",
    RULES_14: "from provio.cli.main import main; main()",
}
TOGETHER = 4
Older = Callable[[str], Callable[..., tuple[int, str]]]  # a commit to a function that calls its provio


def unpacked(commit: str, folder: Path) -> Path:
    """Return the sources of a commit with its compiled shim and waiter; skip the test without the commit."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        pytest.skip("the repository does not have the older commit")

    def make(made: Path) -> None:
        subprocess.run(["tar", "x"], cwd=made, input=archive.stdout, check=True)
        for part, target in (("posix", "libprovio.so"), ("waiter", "waiter")):
            subprocess.run([f"interceptors/{part}/build", made / "provio" / target], cwd=made, check=True)

    copy_made(f"older-{commit[:8]}", folder, [commit], [], make)
    return folder


@pytest.fixture
def older(
    tmp_path: Path, project: Project, needs: Callable[..., None]
) -> Callable[..., Callable[..., tuple[int, str]]]:
    """A function that returns a function which calls the provio of a commit in the project."""
    needs("git", "cc")

    def of(commit: str) -> Callable[..., tuple[int, str]]:
        unknown = "PROVIO_MERGE", "PROVIO_RECORD_METADATA", "PROVIO_RECORD_PACKAGES"
        env = {name: value for name, value in project.env.items() if name not in unknown}
        env |= {"PYTHONPATH": str(unpacked(commit, tmp_path / "older")), "PYTHONDONTWRITEBYTECODE": "1"}

        def call(*words: str) -> tuple[int, str]:
            command = [sys.executable, "-c", STARTS[commit], *words]
            done = subprocess.run(command, cwd=project.path, env=env, capture_output=True, text=True, timeout=120)
            return done.returncode, done.stderr

        return call

    return of


def assert_as_rebuilt(project: Project) -> None:
    """Check that this provio's graph equals that of a rebuild."""
    home = Home(project.path / ".provio")
    project.provio("merge")
    found = quads(home)
    project.provio("merge", "--rebuild")
    assert quads(home) == found


def test_an_older_version_of_the_store(project: Project, older: Older) -> None:
    """It is replaced. The older provio then refuses to query, merge and remove, in one line, and records."""
    old, store = older(STORE_1), project.path / ".provio" / "store.version"
    project.sh("echo 1 > a")
    assert old("run", "--quiet", "--", "cp", "a", "b")[0] == 0
    assert old("runs")[0] == 0
    assert store.read_text() == "1\n"
    project.watch("cp", "b", "c")
    assert project.data("c") == {"a", "b"}
    assert store.read_text() == f"{VERSION}\n"
    before = quads(Home(project.path / ".provio"))
    for words in (["runs"], ["lineage", "c"], ["merge"], ["merge", "--rebuild"], ["rm", "--yes", "last"]):
        code, said = old(*words)
        assert (code, said.count("\n")) == (1, 1), said
        assert said.endswith(f"has version '{VERSION}', this provio knows 1: update provio\n")
    assert quads(Home(project.path / ".provio")) == before
    assert old("run", "--quiet", "--", "cp", "c", "d")[0] == 0
    assert project.data("d") == {"a", "b", "c"}
    assert_as_rebuilt(project)


@pytest.mark.parametrize("commit", [STORE_1, RULES_14], ids=["store 1", "older rules"])
def test_at_the_same_time(project: Project, older: Older, commit: str) -> None:
    """Both record, merge and query: this one knows all runs afterwards, as if it had been the only one."""
    old = older(commit)
    project.watch("true")

    def chain(number: int) -> None:
        (project.path / f"in.{number}").write_text(f"{number}\n")
        project.watch("cp", f"in.{number}", f"middle.{number}")
        assert old("run", "--quiet", "--", "cp", f"middle.{number}", f"out.{number}")[0] == 0
        assert old("merge", "--quiet")[0] == (1 if commit == STORE_1 else 0)

    with ThreadPoolExecutor(TOGETHER) as together:
        list(together.map(chain, range(TOGETHER)))
    for number in range(TOGETHER):
        assert project.data(f"out.{number}") == {f"in.{number}", f"middle.{number}"}
    assert project.count("?run a provio:Run") == 1 + 2 * TOGETHER
    assert_as_rebuilt(project)
