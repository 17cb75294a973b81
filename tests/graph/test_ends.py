"""How processes ended, in the merged graph of real commands."""

from __future__ import annotations

import sys

import pytest
from conftest import Project

from provio.base.text import seconds
from provio.settings.home import Home
from provio.store.embedded.reader import StoreReader

pytestmark = pytest.mark.integration
FORKS = """import os
for code in range(3):
    if not (child := os.fork()):
        open(f'made{code}', 'w').close()
        os._exit(code)
    os.waitpid(child, 0)
"""


def ends(project: Project) -> list[tuple[str, str]]:
    """Return the command line and the exit code or signal of each process whose end its parent observed."""
    query = "SELECT ?argv ?end { ?p a provio:Process ; provio:argv ?argv ; provio:exitCode|provio:signal ?end }"
    return sorted((argv, end) for argv, end in StoreReader(Home(project.path / ".provio")).table(query))


def test_the_end_of_a_program_is_recorded_if_its_shell_waits_before_the_program_is_loaded(project: Project) -> None:
    """The wait of a shell for a command in the foreground starts while the command still executes."""
    (project.path / "steps").write_text("mkdir a; mkdir a/b/c; wc steps; sh -c 'read x < steps; kill -9 $$'; true")
    project.watch("sh", "steps")
    assert ends(project) == [
        ("mkdir a", "0"), ("mkdir a/b/c", "1"),
        ("sh -c read%20x%20<%20steps;%20kill%20-9%20$$", "9"), ("wc steps", "0")
    ]  # fmt: skip


def test_each_forked_process_has_its_own_end(project: Project) -> None:
    """A fork that executes no program has the command line of its parent."""
    (project.path / "forks.py").write_text(FORKS)
    project.watch(sys.executable, "forks.py")
    assert [end for _, end in ends(project)] == ["0", "1", "2"]


def test_a_process_ends_when_its_parent_sees_it_and_the_command_ends_with_the_run(project: Project) -> None:
    """Their last recorded calls are earlier."""
    project.watch("sh", "-c", "sh -c 'echo 1 > a; sleep 0.4'; echo 1 > b; sleep 0.4")
    query = """SELECT ?argv ?start ?end ?ended { ?p a provio:Process ; provio:argv ?argv ; provio:partOf ?run ;
        prov:startedAtTime ?start ; prov:endedAtTime ?end . ?run prov:endedAtTime ?ended } ORDER BY ?start"""
    rows = list(StoreReader(Home(project.path / ".provio")).table(query))
    command, inner = (next(row for row in rows if row[0].startswith(text)) for text in ("sh -c sh", "sh -c echo"))
    assert command[2] == command[3]
    assert seconds(inner[1], inner[2]) >= 0.4 <= seconds(inner[2], command[2])
