"""Programs of PyPI that the tests call, each in an environment of its own, which `make test` makes where it may."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

VERSIONS = {"dvc": "3.67.1", "noworkflow": "2.1.3", "runcrate": "0.6.2"}  # as in .ci/programs


def path_with(program: str) -> str:
    """Return the search path on which a program comes first; skip the test if it is not installed."""
    folder = Path(sys.prefix) / f"{program}-{VERSIONS[program]}"
    if not (folder / "complete").exists():
        pytest.skip(f"{program} {VERSIONS[program]} is not installed (make test installs it where it may)")
    return f"{folder / 'bin'}:{os.environ.get('PATH', os.defpath)}"
