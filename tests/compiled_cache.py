"""What is dear to compile and outlives a session, beside the environment that the tests run in: what it is made of in,
a copy out.

It is made again where a byte of its sources is another, or a word of what else it depends on. Where the environment is
not the caller's to write, each session makes its own.
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
    """Fill a folder with what an earlier session made of these sources, or make it."""
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
    """What tells these words and the content of these files from any other."""
    digest = hashlib.sha256(repr(list(words)).encode())
    for path in sorted(sources):
        content = path.read_bytes()
        digest.update(repr((str(path), len(content))).encode() + content)
    return digest.hexdigest()


def of_the_shim() -> list[Path]:
    """The files that a shim is made of, and how."""
    return [path for path in POSIX.parent.rglob("*") if path.is_file() and path.suffix != ".pyc"]
