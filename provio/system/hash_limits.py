"""The limits of hashing without a request of the user. In: a path, its size, the device. Out: a reason not to read it.

Never read are a file with fewer blocks than its size (it may be released to tape, and reading would call it back) and
a file on a network file system.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from provio.base.records import plain
from provio.system import statx

OUTPUT, INPUT = 64 << 20, 16 << 20  # bytes of a file that a run wrote, that it only read
FILES = 2_000  # of a run: more would make the graph of a run with many small files larger and slower to merge
BYTES, SECONDS = 1 << 30, 2.0  # of all files of a run, or of a query; seconds of CPU time
NETWORK = statx.SHARED | frozenset("afs dvs gfs2 ocfs2 wekafs vboxsf fuse".split())


@plain()
class Limits:
    """The rest that may be read: bytes, files, seconds of CPU time. `everything`: no limits."""

    everything: bool = False
    volume: int = BYTES
    files: int = FILES
    seconds: float = SECONDS

    def forbid(self, path: bytes, largest: int = OUTPUT) -> str:
        """Return the reason why a file must not be read; empty if it may be. Raises OSError as `stat` does."""
        if self.everything:
            return ""
        found = os.stat(path)
        if found.st_size > largest:
            return f"larger than {largest >> 20} MB"
        if found.st_blocks * 512 < found.st_size:
            return "it has fewer blocks than its size"
        if _is_network(f"{os.major(found.st_dev)}:{os.minor(found.st_dev)}"):
            return "on a network file system"
        return "too much to read" if self.are_reached or found.st_size > self.volume else ""

    @property
    def are_reached(self) -> bool:
        """Whether no file may be read any more."""
        return not self.everything and (self.files <= 0 or self.seconds <= 0)

    @contextmanager
    def spend(self, size: int) -> Iterator[None]:
        """Subtract a file with its size, and the CPU time of the block that reads it."""
        start = time.thread_time()
        try:
            yield
        finally:
            self.volume -= size
            self.files -= 1
            self.seconds -= time.thread_time() - start


@cache
def _is_network(device: str) -> bool:
    kinds = [mount.file_system for mount in statx.mounts({device})]
    return any(kind in NETWORK or kind.startswith("fuse.") for kind in kinds)
