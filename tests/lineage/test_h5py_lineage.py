"""Lineage inside files, of a real program with h5py: the sources of each object, in its file and in others."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from conftest import Project

pytest.importorskip("h5py")
pytestmark = pytest.mark.integration

MAKE = """
import h5py
with h5py.File("in.h5", "w") as out:
    for name in "abc":
        out["g/" + name] = [1.0, 2.0, 3.0, 4.0]
    out["g/a"].attrs["units"] = "m"
"""
USE = """
import h5py
with h5py.File("in.h5") as source, h5py.File("out.h5", "w") as out:
    out["x"] = source["g/a"][:] * 2
    out["y"] = source["g/b"][()] + 1
    out["y"].attrs["u"] = source["g/a"].attrs["units"]
    source.copy("g/c", out, "copied")
    source.copy("g", out, "group")
    out["soft"] = h5py.SoftLink("/x")
    out["outside"] = h5py.ExternalLink("in.h5", "/g/c")
    layout = h5py.VirtualLayout(shape=(4,), dtype="f8")
    layout[:] = h5py.VirtualSource(source["g/b"])
    out.create_virtual_dataset("v", layout)
    out.create_group("deep/er")
    out["deep/er/z"] = source["g/c"][:2]
"""
UPDATE = """
import h5py
with h5py.File("out.h5", "r+") as out:
    out["x"][...] = float(open("t.txt").read())
    out["y"][3] = 5
    out.move("deep", "deeper")
    del out["copied"]
"""
LAST = """
import h5py
with h5py.File("out.h5") as data:
    for name in ("v", "outside", "soft", "deeper/er/z"):
        open(name.replace("/", "_") + ".txt", "w").write(str(data[name][:2]))
"""


SHOW = """
import h5py
with h5py.File("other.h5", "w") as out:
    out["d"] = [1.0, 2.0, 3.0, 4.0]
layout = h5py.VirtualLayout(shape=(2, 4), dtype="f8")
layout[0] = h5py.VirtualSource("in.h5", "g/a", shape=(4,))
layout[1] = h5py.VirtualSource("other.h5", "d", shape=(4,))
with h5py.File("both.h5", "w") as out:
    out.create_virtual_dataset("v", layout)
"""
PART = """
import h5py
with h5py.File("both.h5") as data, h5py.File("part.h5", "w") as out:
    out["first"] = data["v"][0]
"""


@pytest.fixture
def story(project: Project) -> Project:
    (project.path / "t.txt").write_text("3\n")
    for name, program in (("make", MAKE), ("use", USE), ("update", UPDATE), ("last", LAST)):
        (project.path / f"{name}.py").write_text(program)
        project.watch(sys.executable, f"{name}.py")
    return project


def found(project: Project, *asked: str) -> set[str]:
    """Return the sources of a file or object by data, except its own earlier content."""
    document: dict[str, Any] = project.lineage(*asked, "--via", "data")
    return {
        os.path.relpath(node["path"], project.path)
        for node in document["nodes"]
        if node["type"] in ("Dataset", "Attribute", "FileVersion") and node["iri"] != document["target"]
    }


@pytest.mark.slow
def test_the_sources_of_each_object(story: Project) -> None:
    """Objects that are read, copied, linked, mapped, moved, or not changed by an update."""
    assert found(story, "out.h5#/x") == {"t.txt"}
    assert found(story, "out.h5#/y") >= {"out.h5#/y", "in.h5#/g/b"}
    assert found(story, "out.h5#/y@u") == {"out.h5#/y@u", "in.h5#/g/a@units"}
    assert found(story, "out.h5#/group/a") == {"in.h5#/g/a"}
    assert found(story, "out.h5#/group/a@units") == {"in.h5#/g/a@units"}
    assert found(story, "out.h5#/soft") == {"t.txt"}
    assert found(story, "out.h5#/v") >= {"out.h5#/v", "in.h5#/g/b"}
    assert found(story, "out.h5#/deeper/er/z") == {"out.h5#/deep/er/z", "in.h5#/g/c"}
    level = "--level", "dataset"
    assert found(story, "v.txt", *level) >= {"out.h5#/v", "in.h5#/g/b"}
    assert found(story, "outside.txt", *level) == {"in.h5#/g/c"}
    assert found(story, "soft.txt", *level) == {"out.h5#/x", "t.txt"}
    assert found(story, "deeper_er_z.txt", *level) == {"out.h5#/deeper/er/z", "out.h5#/deep/er/z", "in.h5#/g/c"}
    assert found(story, "soft.txt") >= {"out.h5", "in.h5", "t.txt"}


def test_a_file_named_by_a_virtual_dataset_is_not_opened(project: Project) -> None:
    """Creating a virtual dataset opens no source file, nor does reading its data: there is no gap about that."""
    for program in (MAKE, SHOW, PART):
        project.watch(sys.executable, "-c", program)
    shown = project.lineage("both.h5#/v", "--depth", "1")
    assert [edge["predicate"].rsplit("#")[-1] for edge in shown["edges"]].count("mapsOnto") == 2
    assert shown["gaps"] == project.lineage("part.h5#/first")["gaps"] == project.lineage("part.h5")["gaps"] == []


COPIES = {
    "cp.h5": ["cp", "in.h5", "cp.h5"],
    "preserved.h5": ["cp", "-p", "in.h5", "preserved.h5"],
    "python.h5": [sys.executable, "-c", "import shutil; shutil.copy2('in.h5', 'python.h5')"],
    "hard.h5": ["ln", "in.h5", "hard.h5"],
    "cat.h5": ["sh", "-c", "cat in.h5 > cat.h5"],
    "moved.h5": ["sh", "-c", "cp in.h5 x.h5; mv x.h5 moved.h5"],
    "packed.h5": ["h5repack", "in.h5", "packed.h5"],
}


@pytest.mark.slow
def test_an_object_of_a_copied_file_comes_from_the_same_object(project: Project, needs: Any) -> None:
    """For a copy by any program, in a run of its own, and forward; under another name it is an object of the same
    file."""
    needs("h5repack")
    project.watch(sys.executable, "-c", MAKE)
    for command in COPIES.values():
        project.watch(*command)
    for name in COPIES:
        expected = set() if name == "hard.h5" else {"in.h5#/g/b"}
        assert {one for one in found(project, f"{name}#/g/b") if "in.h5" in one} == expected, name
    whole = project.lineage("--forward", "in.h5#/g/b", "--level", "dataset")
    later = {os.path.basename(node["path"]) for node in whole["nodes"] if node["type"] == "Dataset"}
    assert later >= {"b"} and any("packed.h5" in node.get("path", "") for node in whole["nodes"])


REWRITE = """
import h5py, sys
with h5py.File("in.h5") as source, h5py.File("w.h5", "a") as out:
    out.require_dataset("d", (4,), "f8")[...] = source["g/" + sys.argv[1]][...]
"""
RENAME = """
import h5py
with h5py.File("w.h5", "r+") as out:
    out["d"].attrs["u"] = "m"
with h5py.File("w.h5", "r+") as out:
    h5py.h5a.rename(out["d"].id, b"u", b"units")
"""


@pytest.mark.slow
def test_a_rewritten_dataset(project: Project) -> None:
    """The earlier content is no source after it was overwritten completely, or its file was deleted."""
    project.watch(sys.executable, "-c", MAKE)
    for name in "abc":
        project.watch(sys.executable, "-c", REWRITE, name)
        assert found(project, "w.h5#/d") == {f"in.h5#/g/{name}"}
    project.watch(sys.executable, "-c", RENAME)
    assert found(project, "w.h5#/d@units") <= {"w.h5#/d@u"}
    assert found(project, "w.h5#/d") == {"w.h5#/d", "in.h5#/g/c"}
    project.watch("rm", "w.h5")
    project.watch(sys.executable, "-c", REWRITE, "a")
    assert found(project, "w.h5#/d") == {"in.h5#/g/a"}
