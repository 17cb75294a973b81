"""The layers say the same: the C functions, the layer in Python through the shim, and the one without it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from h5py_trace import Act, Story, run
from posix_trace import Trace

PROGRAMS = sorted((Path(__file__).parent / "h5py").glob("*.py"))
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


def told(root: Path, shim: Path, program: Path, way: str) -> Story:
    work = root / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    trace = Trace(root / f"trace {way}", shim)
    run(trace, program, work, way)
    return Story(trace.facts())


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_each_layer_says_the_same(program: Path, built: Path, tmp_path: Path) -> None:
    """The same files, objects, elements read and written, events and failures, by whichever way they are recorded."""
    below, shim, alone = (told(tmp_path, built / "libprovio.so", program, way) for way in ("c", "h5py", "python"))
    assert shim.moved()
    for one, other in ((shim, alone), (below, shim)):
        assert one.events() == other.events()
        assert one.failures() == other.failures()
        assert written(one) == written(other)
    assert alone.objects(*WORDS) == shim.objects(*WORDS)
    assert (alone.moved(), alone.opened()) == (shim.moved(), shim.opened())
    if program.stem != "scales":  # HDF5's functions for scales read attributes, which is seen from below alone
        assert below.moved() == shim.moved()
        assert objects(below) == objects(shim)
    if program.stem != "left_open":  # HDF5 closes at the end of the process what is open: so is that
        assert below.opened() == shim.opened()


def objects(story: Story) -> set[tuple[str, ...]]:
    """All objects but groups: a way through one is no use of it, and either layer may know it or not."""
    return {one for one in story.objects(*WORDS) if one[0] != "Group"}


def written(story: Story) -> list[Act]:
    return [act for act in story.moved() if act.what == "write"]
