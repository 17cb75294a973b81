"""The table of HDF5's calls is the only list: it contains each function of every installed HDF5."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import hdf5_calls
import pytest

ROOT = Path(__file__).parent.parent.parent
TABLE = {row.name: row for row in hdf5_calls.rows()}
# Public functions of the modules with recorded objects; two joined words are internal to the library (H5FDopen).
PUBLIC = re.compile(r"H5[FGDATLO][a-z]\w*")


def libraries() -> list[Path]:
    """Every HDF5 that is installed here: the system's, and those of wheels."""
    system = [
        path for path in Path("/usr/lib").glob("*/libhdf5_*.so") if path.stem in ("libhdf5_serial", "libhdf5_openmpi")
    ]
    wheels = [find_spec(name) for name in ("h5py", "netCDF4", "tables")]
    folders = [
        Path(spec.origin).parent.parent / f"{name}.libs"
        for spec in wheels
        if spec and spec.origin
        for name in (spec.name, spec.name.lower())
    ]
    return system + sorted({path for folder in folders for path in folder.glob("libhdf5-*")})


@cache
def exported(library: Path) -> set[str]:
    lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {name for line in lines.splitlines() if PUBLIC.fullmatch(name := line.split()[-1].split("@")[0])}


@pytest.mark.parametrize("library", libraries(), ids=lambda path: path.name)
def test_each_public_function_is_wrapped_or_skipped_with_a_reason(library: Path) -> None:
    """A new function of HDF5 fails this test until it has a row."""
    assert exported(library) - TABLE.keys() == set()


def test_rows_are_unique_and_skipped_ones_have_a_reason() -> None:
    names = [row.name for row in hdf5_calls.rows()]
    assert len(names) == len(set(names))
    assert [row.name for row in TABLE.values() if row.kind == "SKIP" and len(row.columns) < 5] == []


def test_a_call_and_its_asynchronous_form_are_recorded_alike() -> None:
    """`X_async` has the class and the subject of X, or of its version X2 or X3."""
    for name in TABLE:
        if name.endswith("_async"):
            plain = name.removesuffix("_async")
            newest = max(TABLE.keys() & {plain, f"{plain}2", f"{plain}3"})
            assert (TABLE[name].term, TABLE[name].subject) == (TABLE[newest].term, TABLE[newest].subject), name


def test_the_page_of_the_table_is_fresh() -> None:
    """docs/calls-hdf5.md is up to date."""
    assert (ROOT / "docs" / "calls-hdf5.md").read_text() == hdf5_calls.document(), "run `make calls`"


HEADER = "#include <hdf5.h>\n"


@pytest.mark.parametrize("compiler", ["h5cc", "h5pcc"])
def test_every_row_has_as_many_parameters_as_the_headers_declare(compiler: str, tmp_path: Path) -> None:
    """A wrapper passes on all arguments: it has as many parameters as the installed headers declare."""
    if shutil.which(compiler) is None:
        pytest.skip(f"not installed: {compiler} (make test installs it where it may)")
    command = [compiler, "-show", "-c", "x.c"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout.split()
    (tmp_path / "x.c").write_text(HEADER)
    flags = [word for word in shown if word.startswith(("-I", "-D"))]
    text = subprocess.run(
        [shown[0], "-E", "-P", *flags, "x.c"], check=True, capture_output=True, text=True, cwd=tmp_path
    ).stdout
    declared = {name: parameters(rest) for name, rest in re.findall(r"\b(H5\w+)\s*\(([^;{]*)\)\s*;", text)}
    ours = {
        name: parameters(row.columns.partition("(")[2].partition(")")[0])
        for name, row in TABLE.items()
        if row.kind != "SKIP"
    }
    assert len(declared.keys() & ours.keys()) > 90
    assert {name: (count, ours[name]) for name, count in declared.items() if ours.get(name, count) != count} == {}


def parameters(text: str) -> int:
    """The number of parameters of a declaration."""
    flat = re.sub(r"\([^()]*\)", "", text).strip()
    return 0 if flat in ("", "void") else flat.count(",") + 1
