"""Two NumPy files of one array (`.npy`): mapped into memory, compared piece by piece."""

from __future__ import annotations

from typing import Any

from provio.compare.parts import Parts
from provio.compare.readers import pieces


def compare(first: str, second: str, found: Parts) -> None:
    """Add the array of both files."""
    pieces.add(_array(first), _array(second), found.part(""))


def _array(path: str) -> Any:
    import numpy as np

    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError:
        found = np.load(path, allow_pickle=False)  # an empty array cannot be mapped
        if found.size:
            raise
        return found
