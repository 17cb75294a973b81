"""Coordinates several test processes (pytest-xdist): data made once for all workers, and tests that run alone.

A test marked `alone` starts when the tests of all other workers have ended, and none starts before it has ended.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

LONGEST_SOCKET = 107  # bytes in the name of a Unix socket


def keep_sockets_short(env: MutableMapping[str, str], folder: str) -> None:
    """If the path of the folder for temporary files is long, use /tmp for others than those of the tests: Chromium and
    multiprocessing create sockets there, and their names would be too long."""
    if len(os.fsencode(folder)) + 40 > LONGEST_SOCKET:
        env.setdefault("PYTEST_DEBUG_TEMPROOT", folder)
        env["TMPDIR"] = "/tmp"
        tempfile.tempdir = None


def common_folder(factory: pytest.TempPathFactory) -> Path:
    """Return the temporary folder that all workers of this session have in common."""
    folder = factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@contextmanager
def held(path: Path, how: int) -> Iterator[None]:
    """Hold a lock, `fcntl.LOCK_SH` or `LOCK_EX`; given back even where a child still has a copy of the descriptor."""
    with path.open("a") as file:
        fcntl.flock(file, how)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that the first worker fills while the others wait; if that fails, the next one fills it."""
    common = common_folder(factory)
    folder, done = common / name, common / f"{name}.done"
    with held(common / f"{name}.lock", fcntl.LOCK_EX):
        if not done.exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            done.touch()
    return folder


@contextmanager
def turn(common: Path, alone: bool) -> Iterator[None]:
    """Wait for a test's turn and keep it. The door lets in a test that must be alone: it stays shut while that test
    waits, because otherwise the next tests of other workers would continue to start."""
    how = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    with ExitStack() as inside:
        with held(common / "door", how):
            inside.enter_context(held(common / "turn", how))
        yield
