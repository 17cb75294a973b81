"""HDF5: one element written from C; the import of h5py; B5 with only the layer in Python."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from case import HERE, Case, Unit

SITE = HERE.parent / "provio" / "interceptors" / "site"


COUNT = 1_000_000


def _in_python(program: str, *arguments: str) -> list[str | Path]:
    """Return the command of a Python in which only the layer for h5py records."""
    variables = (f"PYTHONPATH={SITE}", "PROVIO_HDF5=h5py")
    return ["env", *variables, sys.executable, HERE / "programs" / program, *arguments]


def _kept(folder: Path, level: str) -> str:
    """Return the number of counted writes in a trace; raise if some are missing."""
    blocks = (path.read_bytes() for path in folder.glob("*.ttl") if not path.name.endswith(".calls.ttl"))
    counts = (re.search(rb':writeApi "H5Dwrite" +; :writes +(\d+)', block) for block in blocks)
    total = sum(int(found[1]) for found in counts if found)
    if level != "file" and total < COUNT:
        raise AssertionError(f"{total} of {COUNT} calls are counted in {folder}")
    return f"{total:,} calls counted" if level != "file" else "first write noted"


WRITES = [
    Case(
        "h5-write-one",
        f"`H5Dwrite` of one element into an open dataset, {COUNT:,} times",
        "H5Dwrite of one element",
        lambda place: [place.program("write_one", "h5cc", "-shlib"), "one.h5", str(COUNT)],
        Unit.NS,
        {"file": 150, "op": 150},
        check=_kept,
    )
]
IMPORTS = [
    Case(
        "h5py-import",
        "import of h5py",
        "import h5py",
        lambda _: [sys.executable, HERE / "programs" / "import_h5py.py"],
        Unit.MS,
        {"op": 3},
    ),
    Case(
        "h5py-import-python",
        "import of h5py, with the layer in Python",
        "import h5py, in Python",
        lambda _: _in_python("import_h5py.py"),
        Unit.MS,
    ),
]
DATASETS = [
    Case(
        "b5-python",
        "B5: h5py writes and reads 2,000 chunked datasets, with the layer in Python",
        "B5 in Python",
        lambda _: _in_python("datasets.py", "datasets.h5", "2000"),
        Unit.RATIO,
    ),
]
CASES = [*(WRITES if shutil.which("h5cc") else []), *IMPORTS, *DATASETS]
