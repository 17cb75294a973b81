"""B5: h5py writes 2,000 chunked datasets and reads them again."""

from __future__ import annotations

import sys

from case import HERE, Case, Unit

CASES = [
    Case(
        "b5",
        "B5: h5py writes and reads 2,000 chunked datasets",
        "B5 h5py",
        lambda _: [sys.executable, HERE / "programs" / "datasets.py", "datasets.h5", "2000"],
        Unit.RATIO,
        {"op": 1.05},
    )
]
