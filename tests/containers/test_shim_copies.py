"""Copies of the shims in `.provio`: those of an older provio are removed, unless a run may use them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import Project, provio_command

from provio.containers import shim_copies
from provio.settings.home import Home

OWN, OTHER = f"{os.geteuid()}-0000000000000000", f"{os.geteuid() + 1}-0000000000000000"


def older(home: Home) -> Path:
    """Make a copy of an older provio's shims, one of another user, and return the folder of both."""
    folder = home.path / "shims"
    for name in (OWN, OTHER):
        (folder / name / "interceptors").mkdir(parents=True, exist_ok=True)
        (folder / name / "libprovio.so").touch()
    return folder


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


@pytest.mark.integration
def test_a_copy_of_an_older_provio_is_removed_with_the_last_run(project: Project, shim: Path) -> None:
    """Not the one of another user, and none while another run than the caller's is in progress."""
    home = Home(project.path / ".provio")
    os.mkfifo(project.path / "gate")
    command = [*provio_command(), "run", "--quiet", "--", "sh", "-c", "echo > begun; read word < gate"]
    run = subprocess.Popen(command, cwd=project.path, env=project.env)
    gate = os.open(project.path / "gate", os.O_RDWR)
    while not (project.path / "begun").exists():
        assert run.poll() is None
    (folder,) = home.runs.iterdir()
    kept = shim_copies.make_copies(home, shim, folder.name)
    assert names(older(home)) == {kept.name, OWN, OTHER}
    assert shim_copies.make_copies(home, shim, "another") == kept
    assert names(kept.parent) == {kept.name, OWN, OTHER}
    shim_copies.make_copies(home, shim, folder.name)  # the run in progress is the caller's
    assert names(kept.parent) == {kept.name, OTHER}
    older(home)
    os.write(gate, b"\n")
    assert run.wait(60) == 0
    os.close(gate)
    assert shim_copies.make_copies(home, shim, "another") == kept
    assert names(kept.parent) == {kept.name, OTHER}
    assert (kept / "libprovio.so").exists()
