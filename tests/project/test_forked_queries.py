"""The tests run queries in forks of a Python that has loaded provio: with the results of the installed command."""

from __future__ import annotations

import os
import subprocess

import pytest
from conftest import Project, provio_command
from forked_queries import LEFT_OUT, VERBS, asked, usual

pytestmark = pytest.mark.integration


@pytest.fixture
def used(project: Project) -> Project:
    project.run("echo a > 'a b'; cat 'a b' > é")
    return project


def test_the_environment_of_a_project_is_usual(used: Project) -> None:
    """Otherwise each query of the tests would start Python, which takes several times as long."""
    if any(name.startswith(LEFT_OUT[:2]) for name in os.environ):
        pytest.skip("variables of provio are set")
    assert usual(used.env)
    assert not usual(used.env | {"PROVIO_HOME": "elsewhere"})


@pytest.mark.parametrize(
    "arguments",
    [
        ("lineage", "é"),
        ("lineage", "é", "--as", "csv"),
        ("find", "nothing"),
        ("why", os.fsencode("é")),
        ("show", "--wrong"),
        ("runs", "--as", "json"),
    ],
    ids=str,
)
def test_the_result_is_that_of_the_command(used: Project, arguments: tuple[str | bytes, ...]) -> None:
    """Output, messages and exit code."""
    assert arguments[0] in VERBS
    used.provio("merge", "--quiet")
    forked = asked(arguments, used.path, used.env)
    started = subprocess.run(
        [*provio_command(), *arguments], cwd=used.path, env=used.env, capture_output=True, timeout=120
    )
    assert forked.returncode == started.returncode
    assert (forked.stdout.encode(), forked.stderr.encode()) == (started.stdout, started.stderr)
