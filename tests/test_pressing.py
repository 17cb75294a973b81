"""What cannot wait for the merge of a run that is left pending: told from the bytes of real traces."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import h5py
import pytest
from conftest import ROOT, Project

from provio.pressing import presses

SCRIPTS = {
    "echo 1 > out": False,
    "cat in > /dev/null": False,
    "cat in | sort > out": True,  # bash opened it, and a child that got it by its fork closed it last
    "cat link > /dev/null": True,
    "cat /proc/self/mounts > /dev/null; ls / /sys/class/block > /dev/null": False,
    "exec 3> /dev/shm/vader_segment.$$; rm /dev/shm/vader_segment.$$; echo 1 >&3; kill -9 $$": False,
    "exec 3> vader_segment.$$; rm vader_segment.$$; echo 1 >&3; kill -9 $$": True,
    "cat ../project/in > /dev/null": True,
    "exec 3> out; echo 1 >&3; kill -9 $$": True,
    "exec 3> $'\\xff'; echo 1 >&3; kill -9 $$": True,
    "echo 1 > $'\\xff'": False,
}


@pytest.fixture(scope="module")
def waiters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that tells by its exit code what the waiter says of a folder."""
    folder = tmp_path_factory.mktemp("pressing")
    waiter = ROOT / "interceptors" / "waiter"
    text = '#include "waiter.h"\nint main(int count, char **words) { return count == 2 && presses(words[1]); }'
    command = ["cc", "-D_GNU_SOURCE", "-I", waiter, "-o", folder / "presses", waiter / "pressing.c", "-x", "c", "-"]
    subprocess.run(command, input=text, text=True, check=True)
    return folder / "presses"


def both(waiters: Path, place: Path) -> bool:
    """What Python says, and the waiter as well."""
    said = presses(str(place))
    assert subprocess.run([waiters, place], check=False).returncode == said
    return said


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_presses(project: Project, waiters: Path, script: str) -> None:
    """A file open for writing whose close nobody saw, a path through a link or `..`; nothing else does."""
    project.sh("echo 1 > in; ln -s in link")
    project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", script, code=None)
    (place,) = {file.parent for file in project.trace_files() if file.parent.name == os.uname().nodename}
    assert both(waiters, place) is SCRIPTS[script]


def test_a_name_inside_a_file_is_no_path(project: Project, waiters: Path, needs: Callable[..., None]) -> None:
    """A dataset may be called as what leads through a link is: of a file it would press."""
    needs("h5copy")
    project.sh("ln -s . link")
    with h5py.File(project.path / "a.h5", "w") as file:
        file["x"] = 1
    copy = ["h5copy", "-p", "-i", "a.h5", "-o", "b.h5", "-s", "/x", "-d", str(project.path / "link" / "x")]
    project.provio("run", "--quiet", "--no-merge", "--", *copy)
    (place,) = {file.parent for file in project.trace_files() if b"/link/x" in file.read_bytes()}
    assert both(waiters, place) is False
    project.provio("run", "--quiet", "--no-merge", "--", "cat", "link/a.h5")
    (place,) = {file.parent for file in project.trace_files() if b"/link/a.h5" in file.read_bytes()}
    assert both(waiters, place) is True


def test_what_is_not_as_it_was_written_presses(project: Project, waiters: Path) -> None:
    """The command may have written there, or deleted it: it ends as it would have, and the run is looked at."""
    spoil = "d=$(dirname $(readlink -f .provio/runs/*/*/*.ttl | head -1)); "
    spoil += "echo '<o1> a :FileVersion ; :path \"/x\" ; :flags x .'"
    project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", spoil + " > $d/1.1.0.1.ttl; exit 7", code=7)
    (place,) = {file.parent for file in project.trace_files() if file.name == "1.1.0.1.ttl"}
    assert both(waiters, place)
    assert both(waiters, place / "gone")
