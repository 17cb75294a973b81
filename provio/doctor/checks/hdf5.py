"""HDF5: who would say what is done inside files, here and in the command's program."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

from provio.doctor import Finding, Place, note, ok
from provio.settings import home as homes
from provio.settings import load
from provio.system import executable
from provio.system.elf import SYSTEM, hdf5_inside
from provio.system.executable import found_program

ABOUT = "HDF5"
LAYERS = {
    "auto": "the layer in C records it, where it can (else the one in Python)",
    "h5py": "the layer in Python records h5py, and nothing else is",
    "off": "nobody records what is done inside files (setting hdf5)",
}
ASK = "import h5py; print(h5py.__version__, h5py.version.hdf5_version)"
OLDEST = (1, 10)


def look(place: Place) -> Iterator[Finding]:
    """Yield what would be recorded of HDF5 files."""
    layer = load.load(homes.project_folders(), forgive=lambda _: None, shown=True).hdf5
    path = found_program(place.command[0]) if place.command else b""
    program = list(executable.chain(path))[-1] if path else b""
    if program and os.path.basename(program).startswith(b"python"):
        yield _python(program, layer)
    elif program and not program.startswith(SYSTEM) and hdf5_inside(program):
        yield note(
            f"HDF5 is inside {os.fsdecode(program)}: its datasets are not seen, its files are",
            "link HDF5 as a shared library (h5cc -shlib), or see the connector in docs/hdf5.md",
        )
    else:
        yield note(LAYERS["off"]) if layer == "off" else ok(LAYERS[layer])


def _python(program: bytes, layer: str) -> Finding:
    done = subprocess.run([program, "-c", ASK], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        return ok(f"{os.fsdecode(program)} has no h5py; of any other HDF5, {LAYERS[layer]}")
    h5py, version = done.stdout.split()[-2:]  # a sitecustomize may say something first
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        return note(f"HDF5 {version} is older than 1.10: what is done inside files is not recorded", "update h5py")
    says = f"h5py {h5py} with HDF5 {version}: {LAYERS[layer]}"
    return note(says) if layer == "off" else ok(says)
