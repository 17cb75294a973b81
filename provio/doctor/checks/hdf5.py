"""Checks which HDF5 layer would record accesses inside files, on this machine and in the command's program."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

from provio.doctor import Finding, Place, check, note, ok
from provio.settings import home as homes
from provio.settings import load
from provio.system import executable
from provio.system.elf import SYSTEM, hdf5_inside
from provio.system.executable import found_program

LAYERS = {
    "auto": "the layer in C records it where possible, otherwise the layer in Python",
    "h5py": "the layer in Python records h5py and nothing else",
    "off": "accesses inside files are not recorded (setting hdf5)",
}
PRINT_VERSIONS = "import h5py; print(h5py.__version__, h5py.version.hdf5_version)"
OLDEST = (1, 10)


@check("HDF5")
def check_hdf5(place: Place) -> Iterator[Finding]:
    """Yield which accesses inside HDF5 files would be recorded."""
    layer = load.load(homes.project_folders(), forgive=lambda _: None, shown=True).hdf5
    path = found_program(place.command[0]) if place.command else b""
    program = list(executable.chain(path))[-1] if path else b""
    if program and os.path.basename(program).startswith(b"python"):
        yield _python(program, layer)
    elif program and not program.startswith(SYSTEM) and hdf5_inside(program):
        yield note(
            f"{os.fsdecode(program)} contains HDF5: its files are recorded, but not their datasets",
            "link HDF5 as a shared library (h5cc -shlib), or see the connector in docs/hdf5.md",
        )
    else:
        yield note(LAYERS["off"]) if layer == "off" else ok(LAYERS[layer])


def _python(program: bytes, layer: str) -> Finding:
    done = subprocess.run([program, "-c", PRINT_VERSIONS], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        return ok(f"{os.fsdecode(program)} has no h5py; other uses of HDF5: {LAYERS[layer]}")
    h5py, version = done.stdout.split()[-2:]  # a sitecustomize may print first
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        return note(f"HDF5 {version} is older than 1.10: accesses inside files are not recorded", "update h5py")
    message = f"h5py {h5py} with HDF5 {version}: {LAYERS[layer]}"
    return note(message) if layer == "off" else ok(message)
