"""HDF5: the import of h5py, and B5 with the layer in Python, where the C layer would not be in front of it."""

from __future__ import annotations

import sys
from pathlib import Path

from case import HERE, Case, Unit

SITE = HERE.parent / "provio" / "interceptors" / "site"


def _in_python(program: str, *arguments: str) -> list[str | Path]:
    """The command of a Python in which the layer for h5py alone records."""
    variables = (f"PYTHONPATH={SITE}", "PROVIO_HDF5=h5py")
    return ["env", *variables, sys.executable, HERE / "programs" / program, *arguments]


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
CASES = [*IMPORTS, *DATASETS]
