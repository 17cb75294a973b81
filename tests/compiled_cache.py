"""A cache, next to the environment of the tests, for files that take long to compile; it outlives a session.

An entry is made again if a byte of its sources or one of its other dependencies changed. If the environment is not
writable, each session makes its own.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from posix_trace import POSIX
from workers import held


def copy_made(
    name: str, folder: Path, words: Iterable[str], sources: Iterable[Path], make: Callable[[Path], None]
) -> None:
    """Fill a folder from the cache, or make its content."""
    beside = Path(sys.prefix) / "test-made"
    if not os.access(sys.prefix, os.W_OK):
        make(folder)
        return
    beside.mkdir(exist_ok=True)
    made, done, version = beside / name, beside / f"{name}.done", version_of(words, sources)
    with held(beside / f"{name}.lock", fcntl.LOCK_EX):
        if not done.exists() or done.read_text() != version:
            done.unlink(missing_ok=True)
            shutil.rmtree(made, ignore_errors=True)
            made.mkdir()
            make(made)
            done.write_text(version)
        shutil.copytree(made, folder, dirs_exist_ok=True)


def version_of(words: Iterable[str], sources: Iterable[Path]) -> str:
    """Return a digest of these words and the content of these files."""
    digest = hashlib.sha256(repr(list(words)).encode())
    for path in sorted(sources):
        content = path.read_bytes()
        digest.update(repr((str(path), len(content))).encode() + content)
    return digest.hexdigest()


def of_the_shim() -> list[Path]:
    """The files that a shim is made of, and how; other files of Python and texts change nothing in it."""
    files = [path for path in POSIX.parent.rglob("*") if path.suffix in (".c", ".h", ".def", "") and path.is_file()]
    return [*files, POSIX / "portable.py"]
