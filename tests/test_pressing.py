"""What cannot wait for the merge of a run that is left pending: told from the bytes of real traces."""

from __future__ import annotations

import os

import pytest
from conftest import Project

from provio.pressing import presses

SCRIPTS = {
    "echo 1 > out": False,
    "cat in > /dev/null": False,
    "cat in | sort > out": True,  # bash opened it, and a child that got it by its fork closed it last
    "cat link > /dev/null": True,
    "cat ../project/in > /dev/null": True,
    "exec 3> out; echo 1 >&3; kill -9 $$": True,
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_presses(project: Project, script: str) -> None:
    """A file open for writing whose close nobody saw, a path through a link or `..`; nothing else does."""
    project.sh("echo 1 > in; ln -s in link")
    project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", script, code=None)
    (place,) = {file.parent for file in project.trace_files() if file.parent.name == os.uname().nodename}
    assert presses(str(place)) is SCRIPTS[script]
