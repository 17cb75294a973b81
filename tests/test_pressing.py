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
    "exec 3> $'\\xff'; echo 1 >&3; kill -9 $$": True,
    "echo 1 > $'\\xff'": False,
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_presses(project: Project, script: str) -> None:
    """A file open for writing whose close nobody saw, a path through a link or `..`; nothing else does."""
    project.sh("echo 1 > in; ln -s in link")
    project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", script, code=None)
    (place,) = {file.parent for file in project.trace_files() if file.parent.name == os.uname().nodename}
    assert presses(str(place)) is SCRIPTS[script]


def test_what_is_not_as_it_was_written_presses(project: Project) -> None:
    """The command may have written there, or deleted it: it ends as it would have, and the run is looked at."""
    spoil = "d=$(dirname $(readlink -f .provio/runs/*/*/*.ttl | head -1)); "
    spoil += "echo '<o1> a :FileVersion ; :path \"/x\" ; :flags x .'"
    project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", spoil + " > $d/1.1.0.1.ttl; exit 7", code=7)
    (place,) = {file.parent for file in project.trace_files() if file.name == "1.1.0.1.ttl"}
    assert presses(str(place))
    assert presses(str(place / "gone"))
