"""What a run's files are, in one hash: the content of each in; what tells that any changed, and since when, out."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

REALTIME_COARSE = 5  # time.h: the clock that files get their times from
Key = tuple[str, str]  # of a file: its host, its name


class Digests:
    """The digest of each file of a run, as it was when it was read, and when that began."""

    def __init__(self) -> None:
        self.moment = moment()
        self._known: dict[tuple[str, str], bytes] = {}

    def add(self, key: Key, data: bytes) -> None:
        """Add a file's content."""
        self._known[key] = hashlib.sha256(self._known.get(key, b"") + data).digest()

    def replace(self, key: Key, data: bytes) -> None:
        """Note what was written into one file since."""
        self._known[key] = hashlib.sha256(data).digest()

    def still(self, files: Iterable[tuple[Key, Path, Callable[[], bytes]]]) -> None:
        """Count as read now where nothing has changed since; `files` are all that are there: which, where, content."""
        now = moment()
        with contextlib.suppress(OSError):
            if all(os.stat(path).st_mtime_ns <= self.moment or self._holds(key, load()) for key, path, load in files):
                self.moment = now

    def _holds(self, key: Key, data: bytes) -> bool:
        """Compare a file that has the time of the tick in which the reading began, or a later one."""
        return self._known.get(key) == hashlib.sha256(data).digest()

    def hexdigest(self) -> str:
        """Return the hash of them all."""
        whole = hashlib.sha256()
        for (host, name), digest in sorted(self._known.items()):
            whole.update(os.fsencode(f"{host}/{name}\0") + digest)
        return whole.hexdigest()


def moment() -> int:
    """Return a time (ns since 1970) before that of whatever is written from now on: files have the time of the clock's
    last tick."""
    return time.clock_gettime_ns(REALTIME_COARSE) - 1
