"""The hash of a run's files: shows whether any of them has changed, and since when it is known not to have."""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provio.trace import run_source

if TYPE_CHECKING:
    from provio.system.statx import Record
    from provio.trace.run_source import RunFile, RunFiles

REALTIME_COARSE = 5  # time.h: the clock that files get their times from
FEW = 64  # files for which loading OpenSSL's SHA-256 takes longer than it saves
Key = tuple[str, str]  # of a file: its host, its name
_hashed = count()


class Changed(Exception):
    """The files of a run have changed since they were read."""


class Digests:
    """The digest of each file of a run as it was read, and the moment before the first read."""

    def __init__(self) -> None:
        self.moment = moment()
        self._known: dict[Key, bytes] = {}
        self._hashed: tuple[Key, bytes] = ("", ""), b""

    def add(self, key: Key, data: bytes) -> None:
        """Add the content of a file."""
        self._known[key] = _sha256(self._known.get(key, b"") + data)

    def hashed(self, key: Key, parts: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the parts of a file, and compute its digest; add it with `add_hashed`."""
        digest = _openssl()(self._known.get(key, b""))
        for part in parts:
            digest.update(part)
            yield part
        self._hashed = key, digest.digest()

    def add_hashed(self) -> None:
        """Add the file that `hashed` has yielded completely."""
        key, digest = self._hashed
        self._known[key] = digest

    def replace(self, key: Key, data: bytes) -> None:
        """Replace the content of a file that the caller has written."""
        self._known[key] = _sha256(data)

    def refresh(self, files: Iterable[RunFile]) -> None:
        """Set the moment to now if none of the files, which are all files, has changed."""
        now = moment()
        with contextlib.suppress(OSError):
            if all(os.stat(file.path).st_mtime_ns <= self.moment or self._holds(file) for file in files):
                self.moment = now

    def _holds(self, file: RunFile) -> bool:
        """Return whether the content of a file is the one that was read."""
        present, key = Digests(), (file.host, file.name)
        present.add_content(file)
        return self._known.get(key) == present._known[key]

    def add_content(self, file: RunFile) -> None:
        """Add the present content of a file, or the reason of a gap; raises OSError."""
        key, parts = (file.host, file.name), file.parts()
        if parts is None:
            self.add(key, file.load() if file.gap is None else os.fsencode(file.gap))
        else:
            deque(self.hashed(key, parts), maxlen=0)
            self.add_hashed()

    def equal(self, other: Digests, keys: Iterable[Key]) -> bool:
        """Return whether the given files have equal digests in both."""
        return all(self._known.get(key) == other._known.get(key) for key in keys)

    def hexdigest(self) -> str:
        """Return the hash of them all."""
        known = sorted(self._known.items())
        return _sha256(b"".join(os.fsencode(f"{host}/{name}\0") + digest for (host, name), digest in known)).hex()


def moment() -> int:
    """Return a time (ns since 1970) before that of any later write: files have the time of the clock's last tick."""
    return time.clock_gettime_ns(REALTIME_COARSE) - 1


def _sha256(data: bytes) -> bytes:
    """Return the SHA-256 of bytes; OpenSSL's is five times as fast on large files, but slow to load."""
    digest: bytes = (_builtin() if next(_hashed) < FEW and len(data) < 1 << 17 else _openssl())(data).digest()
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


def content_hash(folder: Path, record: Record, source: RunFiles | None = None) -> str:
    """Return the present hash of a run, without parsing its files; `source` is their source, if not the default one."""
    digests = Digests()
    for file in all_of(source or run_source.of(folder), record):  # an archive is read in this order
        with contextlib.suppress(OSError):
            digests.add_content(file)
    return digests.hexdigest()


def unchanged_since(folder: Path, record: Record, digests: Digests) -> int:
    """Return the last moment (ns since 1970) at which a run's files are known to have had these digests."""
    digests.refresh(all_of(run_source.of(folder), record))
    return digests.moment


def all_of(source: RunFiles, record: Record) -> Iterable[RunFile]:
    """Return the files of a run that are part of its hash."""
    return chain([source.head()], source.files(record), source.events(record))
