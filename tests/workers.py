"""Several processes that run the tests side by side (pytest-xdist): what is made once for all, and who runs alone.

A test marked `alone` begins when the tests of all other workers have ended, and none begins before it has ended.
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
    """Where the folder of temporary files has a long path, put them into /tmp and leave there only the tests' own:
    Chromium and multiprocessing make sockets among them, whose names would be too long."""
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
    """Return a folder that the first worker who asks for it fills, while the others wait; who asks next fills it again
    where that failed."""
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
    """Wait for a test's turn and keep it. The door is what lets one who would be alone in: it stays shut while they
    wait, or the others' next tests would go on slipping in."""
    how = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    with ExitStack() as inside:
        with held(common / "door", how):
            inside.enter_context(held(common / "turn", how))
        yield
