"""Temporary folders of 20 different lengths, if PROVIO_PATH_LENGTHS is set.

A name, a table or a socket that is right only with the length of the usual path fails then. The length depends on the
test's id, so each run is the same.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest

LENGTHS = range(1, 101, 5)  # characters that are added


def lengthened(folder: Path) -> Path:
    """Return a new folder in this one; without the variable, this one."""
    if not os.environ.get("PROVIO_PATH_LENGTHS"):
        return folder
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]  # without "(setup)"
    longer = folder / ("p" * LENGTHS[zlib.crc32(test.encode()) % len(LENGTHS)])
    longer.mkdir()
    folder.chmod(0o711)  # tests let other users enter the new one
    return longer


def lengthen(factory: pytest.TempPathFactory) -> None:
    """Let the folders of a factory, which are also those of `tmp_path`, have the lengths."""
    make = factory.mktemp
    factory.mktemp = lambda *given, **named: lengthened(make(*given, **named))  # type: ignore[method-assign]
