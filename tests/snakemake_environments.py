"""The versions of Snakemake that the tests use: that of the system, and a newer one in an environment of its own, which
`make test` makes where it may. It runs each job of a rule as a process of its own."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

NEWEST = "9.27.1"
VERSIONS = ("system", NEWEST)


def path_with_snakemake(version: str) -> str:
    """Return the search path for programs on which a version comes first; skip the test if it is not installed."""
    path = os.environ.get("PATH", os.defpath)
    folder = Path(sys.prefix) / f"snakemake-{version}"
    if version != "system" and (folder / "complete").exists():
        return f"{folder / 'bin'}:{path}"
    if version != "system" or not shutil.which("snakemake"):
        pytest.skip(f"Snakemake ({version}) is not installed (make test installs it where it may)")
    return path
