"""Unmodified programs that use HDF5: the objects they made, the bytes they moved, the origins of each dataset."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Project
from hdf5_project import ancestors, held, moved, sources
from object_levels import disagreements

from provio.settings.home import Home

CLIENTS = Path(__file__).parent.parent / "clients"
Needs = Callable[..., None]

pytestmark = pytest.mark.integration

MADE = {"/raw": "Dataset", "/raw@units": "Attribute", "/other": "Dataset"}


@pytest.fixture(autouse=True)
def _levels(project: Project) -> Iterator[None]:
    """For all programs: each file reached from object to object is also reached from file to file."""
    yield
    assert disagreements(Home(project.path / ".provio")) == []


@pytest.fixture
def derived(project: Project, needs: Needs) -> Project:
    """`make` writes in.h5, `derive` makes out.h5 from it: C programs, with HDF5 as a shared library."""
    needs("h5cc")
    for name in ("make", "derive"):
        command = ["h5cc", "-shlib", "-o", f"../{name}", CLIENTS / f"{name}.c"]
        subprocess.run(command, cwd=project.path, check=True, capture_output=True)
    project.watch("../make", "in.h5")
    project.watch("../derive", "in.h5", "out.h5")
    return project


def test_a_program_in_c(derived: Project) -> None:
    """Its datasets and attributes, its bytes; each output comes from the inputs read for it, and from inputs read
    before."""
    assert held(derived, "in.h5") == MADE
    assert held(derived, "out.h5") == {"/scaled": "Dataset", "/few": "Dataset"}
    assert moved(derived, "in.h5", "Written") == [
        ("/other", "H5Dwrite", 1, 200),
        ("/raw", "H5Dwrite", 1, 800),
        ("/raw@units", "H5Awrite", 1, 8),
    ]
    assert moved(derived, "in.h5", "Read") == [
        ("/other", "H5Dread", 1, 40),
        ("/raw", "H5Dread", 1, 800),
        ("/raw@units", "H5Aread", 1, 8),
    ]
    assert moved(derived, "out.h5", "Written") == [("/few", "H5Dwrite", 1, 40), ("/scaled", "H5Dwrite", 1, 800)]
    raw = {"in.h5#/raw", "in.h5#/raw@units"}
    assert ancestors(derived, "out.h5#/scaled") == {"data": raw, "carried": set()}
    assert ancestors(derived, "out.h5#/few") == {"data": {"in.h5#/other"}, "carried": raw}
    assert derived.data("out.h5") == {"in.h5"}


@pytest.mark.parametrize(("compiler", "source"), [("h5c++", "plus.cpp"), ("h5fc", "formula.f90")])
def test_other_languages(project: Project, derived: Project, needs: Needs, compiler: str, source: str) -> None:
    """The libraries of C++ and Fortran call the functions of C."""
    needs(compiler, "g++" if compiler == "h5c++" else "gfortran")
    command = [compiler, "-shlib", "-o", "../program", CLIENTS / source]
    subprocess.run(command, cwd=project.path, check=True, capture_output=True)
    project.watch("../program", "in.h5", "made.h5")
    assert held(project, "made.h5") == {"/scaled": "Dataset"}
    assert moved(project, "made.h5", "Written") == [("/scaled", "H5Dwrite", 1, 800)]
    assert sources(project, "made.h5#/scaled") == {"in.h5#/raw"}


def test_h5copy_and_h5diff(derived: Project, needs: Needs) -> None:
    """A copied dataset comes only from its source; programs that only compare or print make nothing."""
    needs("h5copy", "h5diff", "h5dump")
    derived.watch("h5copy", "-i", "out.h5", "-o", "copy.h5", "-s", "/scaled", "-d", "/kept")
    derived.watch("h5diff", "out.h5", "copy.h5", "/scaled", "/kept")
    derived.run("h5dump -d /kept copy.h5 > dump.txt")
    assert held(derived, "copy.h5") == {"/kept": "Dataset"}
    assert sources(derived, "copy.h5#/kept") == {"out.h5#/scaled"}
    assert moved(derived, "copy.h5", "Read") == [("/kept", "H5Dread", 1, 800), ("/kept", "H5Dread", 1, 800)]
    assert sources(derived, "copy.h5") == {"out.h5"}
    assert "copy.h5#/kept" in ancestors(derived, "dump.txt", "--level", "dataset")["data"]


def test_h5repack(derived: Project, needs: Needs) -> None:
    """Each dataset of the new file comes only from the dataset of the same name, not from earlier reads."""
    needs("h5repack")
    derived.watch("h5repack", "-f", "GZIP=1", "in.h5", "packed.h5")
    assert held(derived, "packed.h5").items() >= MADE.items()
    assert sources(derived, "packed.h5#/raw") == {"in.h5#/raw"}
    assert sources(derived, "packed.h5#/other") == {"in.h5#/other"}
    assert ("/raw", "H5Dwrite", 1, 800) in moved(derived, "packed.h5", "Written")


@pytest.fixture
def netcdf(project: Project, needs: Needs) -> Project:
    """`ncgen` makes small.nc, a C program out.nc from it, `nccopy` copy.nc, all netCDF-4."""
    needs("ncgen", "nccopy", "ncdump", "nc-config")
    options = subprocess.run(["nc-config", "--cflags", "--libs"], capture_output=True, text=True, check=True).stdout
    subprocess.run(["cc", "-o", project.path.parent / "program", CLIENTS / "netcdf.c", *options.split()], check=True)
    shutil.copy(CLIENTS / "small.cdl", project.path)
    project.watch("ncgen", "-k", "nc4", "-o", "small.nc", "small.cdl")
    project.watch("../program", "small.nc", "out.nc")
    project.watch("nccopy", "-d", "1", "out.nc", "copy.nc")
    return project


def variables(found: dict[str, str]) -> set[str]:
    """The datasets among the objects of a file: netCDF keeps attributes of its own on each."""
    return {name for name, kind in found.items() if kind == "Dataset"}


def test_netcdf_4(netcdf: Project) -> None:
    """Variables and dimensions are datasets; each variable comes from the variables read for it, through program and
    tool."""
    assert variables(held(netcdf, "small.nc")) == {"/row", "/column", "/height", "/mask"}
    assert held(netcdf, "small.nc")["/height@units"] == "Attribute"
    assert variables(held(netcdf, "out.nc")) == variables(held(netcdf, "copy.nc")) == {"/column", "/mean", "/flag"}
    written = {one for one in moved(netcdf, "small.nc", "Written") if one[1] == "H5Dwrite"}
    assert written == {("/height", "H5Dwrite", 1, 96), ("/mask", "H5Dwrite", 1, 16)}
    assert {"small.nc#/height"} <= sources(netcdf, "out.nc#/mean")
    assert sources(netcdf, "out.nc#/flag") == {"small.nc#/mask"}
    assert sources(netcdf, "copy.nc#/mean") == {"out.nc#/mean"}
    assert "small.nc#/mask" not in ancestors(netcdf, "copy.nc#/mean", "--via", "data")["data"]
    assert "small.cdl" in ancestors(netcdf, "copy.nc#/flag")["data"]


def test_ncdump_reads(netcdf: Project) -> None:
    """The printed output comes from every variable that was read."""
    netcdf.run("ncdump copy.nc > dump.txt")
    found = ancestors(netcdf, "dump.txt", "--level", "dataset", "--depth", "3")["data"]
    assert {"copy.nc#/mean", "copy.nc#/flag"} <= found


@pytest.mark.slow
def test_several_libraries_in_one_process(project: Project) -> None:
    """h5py, netCDF4, PyTables and h5netcdf each bring an HDF5: every call reaches its own library, and is counted
    once."""
    for module in ("h5netcdf", "netCDF4", "tables"):
        pytest.importorskip(module)
    project.sh(f"{sys.executable} -c \"import h5py; h5py.File('h5py.h5', 'w')['values'] = [0.5] * 8\"")
    project.watch(sys.executable, str(CLIENTS / "together.py"), ".")
    datasets = {
        file: [one for one in moved(project, file, side) if one[1].startswith("H5D")]
        for file, side in (("h5py.h5", "Read"), ("netcdf.nc", "Written"), ("tables.h5", "Written"))
    }
    assert datasets == {
        "h5py.h5": [("/values", "H5Dread", 1, 64)],
        "netcdf.nc": [("/doubled", "H5Dwrite", 1, 64)],
        "tables.h5": [("/trebled", "H5Dwrite", 1, 64)],
    }
    assert ("/first", "H5Dwrite", 1, 32) in moved(project, "h5netcdf.nc", "Written")
    assert ("/trebled", "H5Dread", 1, 32) in moved(project, "tables.h5", "Read")
    assert sources(project, "netcdf.nc#/doubled") == {"h5py.h5#/values"}
    assert {"netcdf.nc#/doubled"} == {name for name in sources(project, "tables.h5#/trebled") if "@" not in name}
    assert {"tables.h5#/trebled"} == {name for name in sources(project, "h5netcdf.nc#/first") if "@" not in name}


def test_ranks_that_create_together_make_one_creation(project: Project, needs: Needs) -> None:
    """Of four ranks that call H5Dcreate, the two that wrote made the dataset; a dataset without writes is the lowest
    rank's."""
    needs("h5pcc", "mpirun")
    subprocess.run(["h5pcc", "-shlib", "-o", "../together", CLIENTS / "together.c"], cwd=project.path, check=True)
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    project.watch("mpirun", *root, "--oversubscribe", "-n", "4", "../together", "all.h5")
    pattern = "?object prov:wasGeneratedBy ?phase . ?phase provio:partOf+ ?process . ?process provio:rank ?rank"
    rows = project.rows(f'SELECT DISTINCT ?object ?rank {{ {pattern} FILTER (CONTAINS(STR(?object), "#/")) }}')
    made = sorted((row["object"].partition("#")[2], row["rank"]) for row in rows)
    lowest = ["/group", "/group/empty", "/group/written@units"]
    assert made == sorted([*((name, "0") for name in lowest), ("/group/written", "1"), ("/group/written", "2")])
    assert ancestors(project, "all.h5#/group/written")["data"] == {"all.h5#/group/written"}
