"""Which paths lie in a folder: paths in, those below one of them out, without a look at the others."""

from __future__ import annotations

import os
from collections.abc import Iterator


def folders(path: bytes) -> Iterator[bytes]:
    """Yield what a path lies in, the nearest first: all that ends before one of its slashes."""
    place = path.rfind(b"/")
    while place >= 0:
        yield path[:place]
        place = path.rfind(b"/", 0, place)


def normal(path: bytes) -> bytes:
    """Return what `normpath` does, sooner for a path that is normal, as nearly all are."""
    odd = b"//" in path or b"/." in path or path[-1:] in (b"/", b"") or path[:1] != b"/"
    return os.path.normpath(path) if odd else path


class Tree:
    """Some paths, by the folders that they lie in."""

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
        """Take all that lies in a folder out of it, folders too; return that."""
        found = list(self.inside.pop(folder, ()))
        for path in found:  # which grows meanwhile
            found += self.inside.pop(path, ())
        return found
