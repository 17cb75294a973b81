"""Comparison of contents. In: a store, recorded versions, paths. Out: whether the content is the same.

The times of a file decide nothing: a version with another key (inode, times) may have the same content. `same` and
`changed` are certain. `unknown` means that the content was not compared; the reason states why. An answer must then
show the words of `NOT_COMPARED`, and neither "unchanged" nor "changed" without them.

    contents = Contents(reader)
    contents.load(versions, paths)            # few queries for all of them; without it, a query for each comparison
    contents.file(version, path).state        # a recorded version and the file that is there now
    contents.versions(old, new).state         # two recorded versions
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from provio.ask.target import current_version, domain_of
from provio.ask.walk import batches
from provio.lineage.identity import BASE
from provio.settings.moves import is_below
from provio.store import Reader
from provio.system.content import Unread, sha256
from provio.system.hash_limits import Limits

SAME, CHANGED, UNKNOWN, MISSING = "same", "changed", "unknown", "missing"
NOT_COMPARED = "not compared by content"
NOT_REGULAR = "is no regular file now"
KEPT = 10_000
_READ: dict[str, str] = {}  # the hashes of the files that this process read, by version
Progress = Callable[[bytes, int, int], None]


@dataclass(frozen=True)
class Compared:
    """The result of a comparison, and its reason. `unread`: `unknown` because the file cannot be read."""

    state: str
    reason: str = ""
    unread: bool = False


class Contents:
    """Compares contents. `limits` apply to the files that are read now: by default those of `hash = auto`."""

    def __init__(self, reader: Reader, limits: Limits | None = None, progress: Progress = lambda *_: None) -> None:
        self.reader = reader
        self.limits = limits or Limits()
        self.progress = progress
        self._ties: dict[str, set[str]] = {}  # to other keys of the same content
        self._hashes: dict[str, set[str]] = {}
        self._same: dict[str, set[str]] = {}  # keys of the same content: one set for all of them
        self._now: dict[bytes, str | None] = {}

    def load(self, versions: Iterable[str], paths: Iterable[bytes] = ()) -> None:
        """Read the ties and hashes of some versions and of the present versions at some paths."""
        found = {version.partition("#")[0] for version in versions}
        found |= {now for path in paths if (now := self.current(path))}
        frontier = self._new(found)
        while frontier:  # step by step: not every server follows a path from several versions
            self._ties |= {version: set() for version in frontier}
            self._hashes |= {version: set() for version in frontier}
            for batch in batches(sorted(frontier)):
                self._read(f"VALUES ?v {{ {' '.join(f'<{iri}>' for iri in batch)} }}")
            frontier = self._new(set().union(*(self._ties[version] for version in frontier)))

    def _new(self, versions: Iterable[str]) -> set[str]:
        """Return the versions that were not read yet; a difference of sets would visit all that were."""
        return {version for version in versions if version not in self._ties}

    def _read(self, values: str) -> None:
        ties = "prov:alternateOf | ^prov:alternateOf | provio:sameContentAs | ^provio:sameContentAs"
        for version, other in self.reader.table(f"SELECT DISTINCT ?v ?o {{ {values} ?v {ties} ?o }}"):
            self._ties[version].add(other)
        for version, digest in self.reader.table(f"SELECT DISTINCT ?v ?h {{ {values} ?v provio:sha256 ?h }}"):
            self._hashes[version].add(digest)

    def know(self, present: Mapping[bytes, str | None]) -> None:
        """Take over the versions that are at some paths now."""
        self._now.update(present)

    def current(self, path: bytes) -> str | None:
        """Return the version that is at a path now; None if there is no file."""
        if path not in self._now:
            self._now[path] = current_version(path)
        return self._now[path]

    def keys(self, version: str) -> set[str]:
        """Return a version with all recorded keys of the same content."""
        self.load([version])
        if version not in self._same:
            found, waiting = {version}, [version]
            while waiting:
                new = self._ties[waiting.pop()] - found
                found |= new
                waiting += new
            self._same |= dict.fromkeys(found, found)
        return self._same[version]

    def is_here(self, iri: str, path: bytes) -> bool:
        """Return whether a path is where a recorded version or File was: in its storage domain, or in the project,
        which may have been copied from another machine."""
        domain = iri.removeprefix("file://").removeprefix(f"{BASE}version/").partition("/")[0]
        now = self.current(path)
        present = now.split("/")[-2] if now else domain_of(path)
        return present == domain or any(is_below(path, place) for place in self.reader.places)

    def versions(self, old: str, new: str, paths: Sequence[bytes] = ()) -> Compared:
        """Compare two recorded versions. With their `paths`, a file that still is its version and that has no recorded
        hash is read now."""
        self.load([old, new])
        if decided := self._decide(old, new):
            return decided
        hashes = [self.digests(version) for version in (old, new)]
        if paths:
            files = zip(hashes, (old, new), paths, strict=True)
            hashes = [known or self._of_file(version, path) for known, version, path in files]
            if len(hashes[0]) == len(hashes[1]) == 1:
                return _by_hash(*hashes)
        return Compared(UNKNOWN, _without_hash(hashes[0] and hashes[1]))

    def _of_file(self, version: str, path: bytes) -> set[str]:
        """Return the hash of the file at a path, if it still is a version and may be read."""
        try:
            if self.current(path) == version and not self.limits.forbid(path):
                return {self._present(path, version, False)}
        except (Unread, OSError):
            pass
        return set()

    def file(self, version: str, path: bytes, *, read: bool = False) -> Compared:
        """Compare a recorded version with the file that is at a path now. Its content is read only if the sizes are
        equal, the record has one hash of the version, and the record alone does not decide (or `read`)."""
        now = self.current(path)
        if now is None or (now != version and not os.path.isfile(path)):
            return Compared(CHANGED, NOT_REGULAR) if now else Compared(MISSING, "no file is there")
        self.load([version, now])
        decided, recorded = self._decide(version, now), self.digests(version)
        reads = read and _size(now) != "0" and (recorded or now == version)
        if decided and not (reads and decided.state == SAME):
            return decided
        if len(recorded) != 1:
            return Compared(UNKNOWN, _without_hash(recorded))
        try:
            if forbidden := "" if read else self.limits.forbid(path):
                return Compared(UNKNOWN, forbidden)
            return _by_hash({self._present(path, now, read)}, recorded)
        except (Unread, OSError) as error:
            return Compared(UNKNOWN, str(error), unread=True)

    def _decide(self, old: str, new: str) -> Compared | None:
        """Return the result that the record alone gives; None if it gives none."""
        first, second = self.digests(old), self.digests(new)
        several = len(first) > 1 or len(second) > 1
        if old == new:
            return Compared(UNKNOWN, _without_hash(first)) if several else Compared(SAME, "same version")
        if _size(old) != _size(new):
            return Compared(CHANGED, "another size")
        if _size(old) == "0":
            return Compared(SAME, "both are empty")
        if several:
            return None
        if first and second:
            return _by_hash(first, second)
        return Compared(SAME, "only its times were set") if new in self.keys(old) else None

    def digests(self, version: str) -> set[str]:
        """Return the recorded hashes of a version: its own, or those of another key of the same content."""
        same = self.keys(version)
        return self._hashes[version] or set().union(*(self._hashes[one] for one in same))

    def _present(self, path: bytes, now: str, again: bool) -> str:
        """Return the hash of a present file; raises Unread."""
        if now in _READ and not again:
            return _READ[now]
        size = int(_size(now))
        with self.limits.spend(size):
            digest, facts = sha256(path, lambda done: self.progress(path, done, size))
        if ".".join(map(str, facts.key[1:])) != now.rpartition("/")[2]:
            raise Unread("changed while it was compared")
        if len(_READ) >= KEPT:
            _READ.clear()
        _READ[now] = digest
        return digest


def _by_hash(first: set[str], second: set[str]) -> Compared:
    return Compared(SAME, "same SHA-256") if first == second else Compared(CHANGED, "another SHA-256")


def _size(version: str) -> str:
    return version.partition("~")[0].rpartition(".")[2]


def _without_hash(digests: set[str]) -> str:
    return "it had several contents with the same times" if digests else "no SHA-256 is recorded"
