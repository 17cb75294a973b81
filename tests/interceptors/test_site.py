"""A Python that cannot load the shim: the folder on its PYTHONPATH loads recognisers and the observation of h5py."""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
from pathlib import Path

import pytest
from conftest import Project

LOADER = rb"/lib[0-9a-z/_-]*/ld-linux[0-9a-z._-]*\0"
PROGRAM = """
import argparse, sys
import h5py
parser = argparse.ArgumentParser("train")
parser.add_argument("--rate", type=float)
parser.add_argument("--layers", type=int, default=2)
given = parser.parse_args()
with h5py.File("out.h5", "w") as file:
    file["group/data"] = [given.rate] * given.layers
assert "libprovio" not in open("/proc/self/maps").read()
assert not any("interceptors" in entry for entry in sys.path)
"""


def c_library() -> str:
    """The file from which this process has its C library."""
    with open("/proc/self/maps") as maps:
        return next(found[0] for line in maps if (found := re.search(r"/\S+/libc(\.so\.6|-2\.\d+\.so)$", line)))


@pytest.fixture
def python(project: Project) -> Path:
    """This Python with a loader and a C library under the names of another C library: they are the same files."""
    content = Path(os.path.realpath(sys.executable)).read_bytes()
    found = re.search(LOADER, content)
    if found is None:
        pytest.skip("this Python has no loader of glibc")
    (project.path / "ld-uClibc.so").symlink_to(found[0].rstrip(b"\0").decode())
    name = b"ld-uClibc.so".ljust(len(found[0]), b"\0")
    (project.path / "libc.so.0").symlink_to(c_library())
    other = project.path / "python3"
    other.write_bytes(content.replace(found[0], name, 1).replace(b"\0libc.so.6\0", b"\0libc.so.0\0"))
    shutil.copymode(os.path.realpath(sys.executable), other)
    return other


@pytest.mark.integration
def test_parsed_values_and_written_data_are_recorded(project: Project, python: Path) -> None:
    """argparse's values with their types, and the dataset, from a program that is declared as not observed."""
    pytest.importorskip("h5py")
    (project.path / "train.py").write_text(PROGRAM)
    packages = os.pathsep.join(dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib")))
    libraries = str(sysconfig.get_config_var("LIBDIR"))
    own = {"LD_LIBRARY_PATH": f"{libraries}:{project.path}", "PYTHONHOME": sys.base_prefix, "PYTHONPATH": packages}
    done = project.provio("run", "--", "./python3", "train.py", "--rate", "0.5", env={**project.env, **own})
    assert "has another C library" in done.stderr
    settings = "?c a provio:Configuration ; prov:hadMember [ provio:name ?name ; provio:value ?value ]"
    found = {(row["name"], float(row["value"])) for row in project.rows(f"SELECT ?name ?value {{ {settings} }}")}
    assert found == {("rate", 0.5), ("layers", 2.0)}
    made = "?made a provio:Dataset ; provio:path ?path ; prov:wasGeneratedBy ?by"
    assert {row["path"] for row in project.rows(f"SELECT DISTINCT ?path {{ {made} }}")} == {"/group/data"}
