"""HDF5 in other programs: nccopy copies 200 variables of netCDF-4; four MPI ranks write like h5bench."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from case import HERE, Case, Place, Unit

VARIABLES, VALUES = 200, 5_000
KERNEL = HERE.parent / "examples" / "h5bench" / "Makefile"
AS_ROOT = ["--allow-run-as-root"] if os.geteuid() == 0 else []


def _netcdf(place: Place) -> None:
    """Write a netCDF-4 file of many variables, each of its own values."""
    target = place.data / "variables.nc"
    if target.exists():
        return
    names = [f"v{i}" for i in range(VARIABLES)]
    declared = "".join(f"  double {name}(x) ;\n" for name in names)
    values = "".join(
        f"  {name} = {', '.join(str(i * VALUES + j) for j in range(VALUES))} ;\n" for i, name in enumerate(names)
    )
    text = f"netcdf v {{\ndimensions:\n  x = {VALUES} ;\nvariables:\n{declared}data:\n{values}}}\n"
    subprocess.run(["ncgen", "-k", "nc4", "-o", target, "-"], input=text, text=True, check=True)


def _kernel(place: Place) -> None:
    """Compile the kernel of examples/h5bench."""
    if not (place.built / "kernel").exists():
        subprocess.run(["make", "-s", "-f", KERNEL, f"BUILD={place.built}"], check=True)


def _ranks(place: Place) -> list[str | Path]:
    target = place.data / "particles.h5"
    ranks = ["mpirun", "--oversubscribe", *AS_ROOT, "-n", "4"]
    return [*ranks, place.built / "kernel", "write", target, "--steps", "8", "--particles", "65536"]


CASES = [
    Case(
        "nccopy",
        f"nccopy copies {VARIABLES} variables of netCDF-4",
        "nccopy",
        lambda place: ["nccopy", place.data / "variables.nc", place.data / "copied.nc"],
        Unit.RATIO,
        prepare=_netcdf,
    ),
    Case(
        "ranks",
        "four MPI ranks write 64 datasets of one HDF5 file",
        "4 ranks, HDF5",
        _ranks,
        Unit.RATIO,
        prepare=_kernel,
    ),
]
