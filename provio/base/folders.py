"""Path prefixes: the folders of a path, and an index of paths that finds those below a folder without a full scan."""

from __future__ import annotations

import os
from collections.abc import Iterator


def folders(path: bytes) -> Iterator[bytes]:
    """Yield the folders that contain a path, nearest first: every prefix that ends before a slash."""
    place = path.rfind(b"/")
    while place >= 0:
        yield path[:place]
        place = path.rfind(b"/", 0, place)


def normal(path: bytes) -> bytes:
    """Return `os.path.normpath(path)`; faster for a path that is already normal, as nearly all are."""
    odd = b"//" in path or b"/." in path or path[-1:] in (b"/", b"") or path[:1] != b"/"
    return os.path.normpath(path) if odd else path


class Tree:
    """A set of paths, indexed by the folders that contain them."""

    def __init__(self) -> None:
        self.inside: dict[bytes, dict[bytes, None]] = {}

    def add(self, path: bytes) -> None:
        """Add a path."""
        for folder in folders(path):
            known = self.inside.setdefault(folder, {})
            if path in known:
                return
            known[path] = None
            path = folder

    def take(self, folder: bytes) -> list[bytes]:
        """Remove all paths below a folder, folders included, and return them."""
        found = list(self.inside.pop(folder, ()))
        for path in found:  # `found` grows in the loop
            found += self.inside.pop(path, ())
        return found
