"""The layers say the same: the C functions, the layer in Python through the shim, and the one without it."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import pytest
from h5py_trace import Story, run
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


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_without_the_shim_the_same_is_said(program: Path, built: Path, tmp_path: Path) -> None:
    """The same files, objects, elements read and written, events and failures, from the writer in Python."""
    shim, alone = (told(tmp_path, built / "libprovio.so", program, way) for way in ("h5py", "python"))
    assert alone.objects(*WORDS) == shim.objects(*WORDS)
    assert alone.moved() == shim.moved()
    assert alone.events() == shim.events()
    assert alone.failures() == shim.failures()
    assert alone.opened() == shim.opened()
    assert shim.moved()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_the_c_functions_say_the_same(program: Path, built: Path, tmp_path: Path) -> None:
    """The same objects are read and written, as often and with as many bytes; the same is moved, copied and deleted."""
    if not hasattr(ctypes.CDLL(str(built / "libprovio.so")), "provio_hdf5_calls"):
        pytest.skip("this shim has no C layer for HDF5")
    below, above = (told(tmp_path, built / "libprovio.so", program, way) for way in ("c", "h5py"))
    assert below.moved() == above.moved()
    assert below.events() == above.events()
    assert below.opened() == above.opened()
    kinds = {("Dataset",), ("Attribute",), ("NamedLink",), ("Datatype",)}
    assert {one for one in below.objects(*WORDS) if one[:1] in kinds} == {
        one for one in above.objects(*WORDS) if one[:1] in kinds
    }
