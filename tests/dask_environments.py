"""The environments with the versions of Dask that the tests use: `make test` makes them where it may."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

NEWEST = "2026.8.0"
VERSIONS = ("2024.10.0", "2025.5.1", NEWEST)


def python_with_dask(version: str = NEWEST) -> str:
    """Return the interpreter of the environment with a version of Dask; skip the test if there is none."""
    folder = Path(sys.prefix) / f"dask-{version}"
    if not (folder / "complete").exists():
        pytest.skip(f"Dask {version} is not installed (make test installs it where it may)")
    return str(folder / "bin" / "python")
