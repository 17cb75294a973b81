"""The version of DVC that the tests use, in an environment of its own, which `make test` makes where it may."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

VERSION = "3.67.1"


def path_with_dvc() -> str:
    """Return the search path for programs on which DVC comes first; skip the test if it is not installed."""
    folder = Path(sys.prefix) / f"dvc-{VERSION}"
    if not (folder / "complete").exists():
        pytest.skip(f"DVC {VERSION} is not installed (make test installs it where it may)")
    return f"{folder / 'bin'}:{os.environ.get('PATH', os.defpath)}"
