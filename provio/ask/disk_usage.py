"""Disk usage of a record: a `.provio` in; the bytes of runs, store, snapshots and other files out.

A file with several names counts once, at its first occurrence: a snapshot counts only the files that the store does
not share.
"""

from __future__ import annotations

import os
from collections.abc import Set
from typing import NamedTuple

from provio.base.text import plural, size
from provio.merge import kept as contents
from provio.settings.home import Home

LITTLE = 0.01  # fraction of the total: other files below it are not worth a mention


class Taken(NamedTuple):
    """Bytes on the disk, folders included."""

    runs: int
    store: int
    snapshots: int
    others: int

    def line(self) -> str:
        """Return the total and its parts as a line of text."""
        named = [f"{name} {size(count)}" for name, count in zip(self._fields, self, strict=True)]
        if self.others < LITTLE * sum(self):
            named.pop()
        return f"record: {size(sum(self))} on disk ({', '.join(named)})"


def taken(home: Home) -> Taken:
    """Return the disk usage of a record; files that are deleted during the count may be missing."""
    seen: set[tuple[int, int]] = set()
    lists = home.path / "statements"
    runs, store, listed, snapshots = (_bytes(str(one), seen) for one in (home.runs, home.store, lists, home.snapshots))
    named = {home.runs.name, home.store.name, lists.name, home.snapshots.name}
    return Taken(runs, store + listed, snapshots, _bytes(str(home.path), seen, named))


def kept(home: Home) -> str:
    """Return the number and the size of the kept contents as text; empty if there are none."""
    found = contents.usage(home)
    full = f", full: further inputs are not kept (limit {size(contents.MOST)}; provio rm RUN makes room)" * found.full
    return f"{plural(found.files, 'input')}, {size(found.bytes)}{full}" if found.files or found.full else ""


def _bytes(folder: str, seen: set[tuple[int, int]], without: Set[str] = frozenset()) -> int:
    """Return the bytes of a folder and everything below it, except the entries in `without` and files in `seen`."""
    try:
        total, entries = os.lstat(folder).st_blocks * 512, list(os.scandir(folder))
    except OSError:
        return 0
    for entry in entries:
        if entry.name in without:
            continue
        if entry.is_dir(follow_symlinks=False):
            total += _bytes(entry.path, seen)
            continue
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if found.st_nlink == 1 or (found.st_dev, found.st_ino) not in seen:
            seen.add((found.st_dev, found.st_ino))
            total += found.st_blocks * 512
    return total
