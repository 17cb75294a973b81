"""Code that a program loads so that no preload comes before it: it is loaded as usual, and a Gap names it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Project
from posix_trace import Trace, of_class

PROGRAM = Path(__file__).parent.parent / "programs" / "load_library.c"
DEEP = "is loaded with RTLD_DEEPBIND, past every preload"
NAMESPACE = "is loaded into a name space of its own, past every preload"

BOUND = f"""import sys

sys.setdlopenflags({os.RTLD_NOW | os.RTLD_DEEPBIND})
import h5py

with h5py.File("in.h5", "w") as file:
    file["x"] = file["unread"] = [1.5]
with h5py.File("in.h5") as source, h5py.File("out.h5", "w") as file:
    file["stack"] = source["x"][:]
open("done.txt", "w").write("done")
"""


@pytest.fixture
def loads(work: Path) -> Path:
    """A program that finds `libinner.so` only in a folder of its RUNPATH, and that library."""
    inner = work / "inner"
    inner.mkdir()
    (work / "inner.c").write_text("int inner(void) { return 1; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", inner / "libinner.so", work / "inner.c"], check=True)
    looking = f"-Wl,--enable-new-dtags,-rpath,{inner}"
    subprocess.run(["cc", "-Wall", "-o", work / "load_library", PROGRAM, looking, "-ldl"], check=True)
    return work / "load_library"


@pytest.mark.parametrize(("how", "reasons"), [("plain", []), ("deep", [DEEP]), ("namespace", [NAMESPACE])])
def test_code_is_loaded_from_where_its_caller_looks(
    trace: Trace, work: Path, loads: Path, how: str, reasons: list[str]
) -> None:
    """The loader takes the program for the caller, not the shim; a Gap names code that no preload comes before."""
    done = trace.run(loads, how, "libinner.so", cwd=work)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    gaps = of_class(trace.facts(), "Gap").values()
    assert [(gap["executable"], gap["reason"]) for gap in gaps] == [("libinner.so", reason) for reason in reasons]


@pytest.mark.integration
def test_h5py_bound_to_its_own_library_is_followed_in_python(project: Project) -> None:
    """Its calls bypass every preload, also those of the C library: a Gap names it, and the Python layer records its
    HDF5 files."""
    pytest.importorskip("h5py")
    (project.path / "bound.py").write_text(BOUND)
    project.watch(sys.executable, "bound.py")
    (gap,) = project.lineage("done.txt")["gaps"]
    assert gap["reason"].endswith(f".so {DEEP}: its reads and writes are not recorded")
    found = project.lineage("out.h5#/stack", "--level", "dataset", "--depth", "1")
    nodes = {(Path(node.get("path", "")).name, node["type"]) for node in found["nodes"]}
    assert ("x", "Dataset") in nodes, nodes
    assert ("unread", "Dataset") not in nodes, nodes
