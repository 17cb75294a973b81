"""The layers record the same: the C functions, the Python layer with the shim, and without it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Project, new_project
from h5py_trace import Act, Story, run
from posix_trace import Trace

PROGRAMS = sorted((Path(__file__).parent.parent / "h5py").glob("*.py"))
WORDS = (
    "created",
    "shape",
    "maxShape",
    "elementSize",
    "chunks",
    "filters",
    "datatype",
    "token",
    "target",
    "targetFile",
)


def story_of(root: Path, shim: Path, program: Path, way: str) -> Story:
    work = root / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    trace = Trace(root / f"trace {way}", shim)
    run(trace, program, work, way)
    return Story(trace.facts())


@pytest.mark.integration
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_each_layer_records_the_same(program: Path, built: Path, tmp_path: Path) -> None:
    """The same files, objects, elements read and written, events and failures, for each way of recording."""
    below, shim, alone = (story_of(tmp_path, built / "libprovio.so", program, way) for way in ("c", "h5py", "python"))
    assert shim.moved()
    for one, other in ((shim, alone), (below, shim)):
        assert one.events() == other.events()
        assert one.failures() == other.failures()
        assert written(one) == written(other)
    assert alone.objects(*WORDS) == shim.objects(*WORDS)
    assert (alone.moved(), alone.opened()) == (shim.moved(), shim.opened())
    if program.stem != "scales":  # HDF5's functions for scales read attributes, which only the layer below sees
        assert below.moved() == shim.moved()
        assert objects(below) == objects(shim)
    if program.stem != "left_open":  # HDF5 closes open objects at the end of the process: so is that
        assert below.opened() == shim.opened()


def objects(story: Story) -> set[tuple[str, ...]]:
    """All objects except groups: traversing one is no use of it, and the layers may differ in it."""
    return {one for one in story.objects(*WORDS) if one[0] != "Group"}


def written(story: Story) -> list[Act]:
    return [act for act in story.moved() if act.what == "write"]


MADE = """
import h5py, numpy as np
with h5py.File("one.h5", "w") as f:
    f["d"] = np.arange(5)
    f["d"].attrs["units"] = "m"
with h5py.File("two.h5", "w") as f:
    f["e"] = np.arange(5)
layout = h5py.VirtualLayout((2, 5), "i8")
layout[0], layout[1] = h5py.VirtualSource("one.h5", "d", (5,)), h5py.VirtualSource("two.h5", "e", (5,))
with h5py.File("both.h5", "w") as f:
    f.create_virtual_dataset("both", layout)
"""
USED = """
import h5py
with h5py.File("one.h5") as a, h5py.File("out.h5", "w") as o:
    o["x"] = a["d"][:] * 2
    o["x"].attrs["units"] = a["d"].attrs["units"]
with h5py.File("both.h5") as a, h5py.File("out.h5", "a") as o:
    o["y"] = a["both"][1]
    o.copy("x", "z")
    o.move("y", "moved")
"""
WAYS = {"auto": "python {}", "h5py": "python {}", "alone": "env -u LD_PRELOAD python {}"}


@pytest.mark.slow
def test_lineage_is_the_same_by_every_layer(tmp_path: Path, shim: Path) -> None:
    """The origins of each dataset and attribute, and their distances, do not depend on the recording layer."""
    found = {}
    for way, command in WAYS.items():
        project = new_project(tmp_path / way)
        project.env["PROVIO_HDF5"] = "auto" if way == "alone" else way
        for name, text in (("made.py", MADE), ("used.py", USED)):
            (project.path / name).write_text(text)
            project.run(command.format(name))
        targets = ("one.h5#/d", "out.h5#/x", "out.h5#/x@units", "out.h5#/moved", "out.h5#/z", "both.h5#/both")
        found[way] = {target: ancestors(project, target) for target in targets}
    assert found["auto"]["out.h5#/x"] == {("one.h5", "/d", "data")}
    assert ("two.h5", "/e", "data") in found["auto"]["out.h5#/moved"]
    assert found["h5py"] == found["auto"]
    for way in found:  # a copy of existing data is a read of the file only with the POSIX layer
        del found[way]["out.h5#/z"]
    assert found["alone"] == found["auto"]


def ancestors(project: Project, target: str) -> set[tuple[str, str, str]]:
    """The origins of a target among datasets and attributes: file, path in it, and route."""
    nodes = project.lineage(target)["nodes"]
    own = target.partition("#")
    names = {
        (Path(node["path"].partition("#")[0]).name, node["path"].partition("#")[2], node["via"])
        for node in nodes
        if node["type"] in ("Dataset", "Attribute")
    }
    return {name for name in names if name[:2] != (own[0], own[2])}
