"""A pytest plugin: the test programs are not compiled again where only the shim has changed."""

from __future__ import annotations

import sys


def pytest_collection_finish() -> None:
    """Remove the shim's sources from the dependencies of the programs."""
    sys.modules["conftest"].of_the_shim = list  # type: ignore[attr-defined]
