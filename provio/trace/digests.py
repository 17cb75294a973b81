"""What a run's files are, in one hash: the content of each in; what tells that any changed, and since when, out."""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from importlib import import_module
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provio.trace import run_source

if TYPE_CHECKING:
    from provio.system.statx import Record
    from provio.trace.run_source import RunFile, RunFiles

REALTIME_COARSE = 5  # time.h: the clock that files get their times from
FEW = 64  # files, for which to load OpenSSL's SHA-256 takes longer than to do without
Key = tuple[str, str]  # of a file: its host, its name
_asked = count()


class Changed(Exception):
    """The files of a run are not what they were when they were read before."""


class Digests:
    """The digest of each file of a run, as it was when it was read, and when that began."""

    def __init__(self) -> None:
        self.moment = moment()
        self._known: dict[Key, bytes] = {}
        self._hashed: tuple[Key, bytes] = ("", ""), b""

    def add(self, key: Key, data: bytes) -> None:
        """Add a file's content."""
        self._known[key] = _sha256(self._known.get(key, b"") + data)

    def hashed(self, key: Key, parts: Iterable[bytes]) -> Iterator[bytes]:
        """Compute the digest of a file as its parts are taken; it is added once the file is `read`."""
        digest = _openssl()(self._known.get(key, b""))
        for part in parts:
            digest.update(part)
            yield part
        self._hashed = key, digest.digest()

    def add_hashed(self) -> None:
        """Add the file whose parts were all taken last."""
        key, digest = self._hashed
        self._known[key] = digest

    def replace(self, key: Key, data: bytes) -> None:
        """Note what was written into one file since."""
        self._known[key] = _sha256(data)

    def refresh(self, files: Iterable[tuple[Key, Path, Callable[[], bytes]]]) -> None:
        """Count as read now where nothing has changed since; `files` are all that are there: which, where, content."""
        now = moment()
        with contextlib.suppress(OSError):
            if all(os.stat(path).st_mtime_ns <= self.moment or self._holds(key, load()) for key, path, load in files):
                self.moment = now

    def _holds(self, key: Key, data: bytes) -> bool:
        """Compare a file that has the time of the tick in which the reading began, or a later one."""
        return self._known.get(key) == _sha256(data)

    def equal(self, other: Digests, keys: Iterable[Key]) -> bool:
        """Tell whether some files are here what they are there."""
        return all(self._known.get(key) == other._known.get(key) for key in keys)

    def hexdigest(self) -> str:
        """Return the hash of them all."""
        known = sorted(self._known.items())
        return _sha256(b"".join(os.fsencode(f"{host}/{name}\0") + digest for (host, name), digest in known)).hex()


def moment() -> int:
    """Return a time (ns since 1970) before that of whatever is written from now on: files have the time of the clock's
    last tick."""
    return time.clock_gettime_ns(REALTIME_COARSE) - 1


def _sha256(data: bytes) -> bytes:
    """The SHA-256 of bytes: OpenSSL's is five times as fast, where there is enough to do."""
    digest: bytes = (_builtin() if next(_asked) < FEW and len(data) < 1 << 17 else _openssl())(data).digest()
    return digest


@cache
def _builtin() -> Callable[[bytes], Any]:
    for name in ("_sha256", "_sha2"):  # of Python 3.11, of later ones
        with contextlib.suppress(ImportError):
            found: Callable[[bytes], Any] = import_module(name).sha256
            return found
    return _openssl()


@cache
def _openssl() -> Callable[[bytes], Any]:
    import hashlib

    return hashlib.sha256


# The files of a run folder in, the hash that tells whether any changed out.


def content_hash(folder: Path, record: Record, source: RunFiles | None = None) -> str:
    """Return the hash of the run of a folder as it is now, without parsing anything; `source` is where to read."""
    digests = Digests()
    for file in all_of(source or run_source.of(folder), record):  # a pack is read as it is asked
        with contextlib.suppress(OSError):
            key, parts = (file.host, file.name), file.parts()
            if parts is None:
                digests.add(key, content(file))
            else:
                deque(digests.hashed(key, parts), maxlen=0)
                digests.add_hashed()
    return digests.hexdigest()


def unchanged_since(folder: Path, record: Record, digests: Digests) -> int:
    """Return the moment (ns since 1970) of which the digests of a run tell: now, where no file has changed since."""
    files = all_of(run_source.of(folder), record)
    digests.refresh(((file.host, file.name), file.path, partial(content, file)) for file in files)
    return digests.moment


def all_of(source: RunFiles, record: Record) -> Iterable[RunFile]:
    """Return the files of a run that are read."""
    return chain([source.head()], source.files(record))


def content(file: RunFile) -> bytes:
    """Return what a file holds, or the reason of a gap."""
    return file.load() if file.gap is None else os.fsencode(file.gap)
