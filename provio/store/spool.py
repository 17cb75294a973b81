"""A graph on its way: N-Triples in a file without a name, which one process wrote, in; parts of it to load out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

# Bytes: 70,000 triples or so. RocksDB rewrites all that it has of a graph for every second piece; a piece takes five
# times its size in memory.
PIECE = 16_000_000


class Spool:
    """The N-Triples of a graph."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.size = os.fstat(file.fileno()).st_size

    def __iter__(self) -> Iterator[str]:
        """Yield it as text, in parts that end with a line."""
        return (part.read().decode() for part in self.parts())

    def parts(self) -> Iterator[Part]:
        """Yield parts that end with a line; each is to be read before the next."""
        self.file.seek(0)
        while self.file.tell() < self.size:
            yield Part(self.file, PIECE)


class Part:
    """Some of a file, to be read until its end, which is the end of a line."""

    def __init__(self, file: BinaryIO, left: int) -> None:
        self.file, self.left = file, left

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, about as many as asked for."""
        if self.left <= 0:
            return b""
        found = self.file.read(self.left if size < 0 else min(size, self.left))
        self.left -= len(found)
        return found + self.file.readline() if self.left <= 0 and not found.endswith(b"\n") else found
