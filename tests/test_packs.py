"""Packs: a run in one compressed file gives the same as its folder; a damaged one is named and costs only itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Project

from provio import runfiles
from provio.trace import content_hash, read_head, read_run


def quads(project: Project) -> set[str]:
    return set(project.provio("export", "--as", "nquads").stdout.splitlines())


def run_folder(project: Project) -> Path:
    """The folder of the one run there is, packed or not."""
    (found,) = {entry.name.removesuffix(runfiles.ENDING) for entry in (project.path / ".provio" / "runs").iterdir()}
    return project.path / ".provio" / "runs" / found


def pack_by_hand(folder: Path) -> Path:
    """What `tar` makes of a run folder: `run.ttl` first, then by name."""
    (host,) = (entry for entry in folder.iterdir() if entry.is_dir())
    names = [f"{folder.name}/run.ttl", *sorted(f"{folder.name}/{host.name}/{name}" for name in os.listdir(host))]
    packed = runfiles.pack_of(folder)
    subprocess.run(["tar", "-cJf", packed, "-C", folder.parent, *names], check=True)
    shutil.rmtree(folder)
    return packed


def test_a_pack_that_tar_made_gives_what_its_folder_gave(project: Project) -> None:
    """The content hash, the store made of it, and the answer are the same; gaps are kept."""
    project.sh("echo 1 > a")
    project.run("cat a > b; sort b > c")
    folder = run_folder(project)
    image = next(folder.glob("*/*.0.ttl")).name.rsplit(".", 2)[0]
    next(folder.glob("*/")).joinpath(f"{image}.1.gap").symlink_to("no room for its trace")
    project.provio("merge")
    before, was = quads(project), content_hash(folder, read_head(folder))
    assert any("no room for its trace" in quad for quad in before)
    pack_by_hand(folder)
    assert content_hash(folder, read_head(folder)) == read_run(folder).content_hash == was
    for name in ("store", "snapshots"):
        shutil.rmtree(project.path / ".provio" / name)
    assert quads(project) == before
    assert project.data("c") == {"a", "b"}


CUTS = {"nothing": 0.0, "its beginning": 0.01, "its first half": 0.5, "all but its end": 0.98}


@pytest.mark.parametrize("left", sorted(CUTS))
@pytest.mark.unvalidated
def test_a_pack_that_was_cut_is_named_and_costs_only_itself(project: Project, left: str) -> None:
    """Whatever is left of a pack: it is damaged, exit code 1, and the other run answers."""
    project.sh("echo 1 > a")
    project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", "cat a > b; sort b > c")
    packed = pack_by_hand(run_folder(project))
    packed.write_bytes(packed.read_bytes()[: int(packed.stat().st_size * CUTS[left])])
    project.provio("run", "--quiet", "--no-merge", "--", "cp", "a", "d")
    done = project.provio("merge", code=1)
    assert f"damaged: {packed}" in done.stderr
    assert "Traceback" not in done.stderr
    assert project.data("d") == {"a"}
