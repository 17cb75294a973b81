"""Sorts more lines than fit into memory.

In: lines, written as to a binary file. Out: each line once, in the order of its bytes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from heapq import merge
from typing import IO

PIECE = 8 << 20  # bytes that are sorted at once; in memory they take about three times as much
MOST = 64  # files that are open at once


class SortedLines:
    """A context manager, and a binary file to which lines are written; temporary files are removed at its end.

    `more` returns lines to add for some complete lines.
    """

    def __init__(self, more: Callable[[bytes], Iterable[bytes]] = lambda _: (), piece: int = PIECE) -> None:
        self._more, self._piece, self._size = more, piece, 0
        self._blocks: list[bytes] = []
        self._files: list[IO[bytes]] = []
        self._stack = ExitStack()

    def __enter__(self) -> SortedLines:
        """Return the object itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the temporary files."""
        self._stack.close()

    def write(self, data: bytes) -> int:
        """Add bytes; a line may continue in the next call."""
        self._blocks.append(data)
        self._size += len(data)
        if self._size >= self._piece:
            self._spill()
        return len(data)

    def flush(self) -> None:
        """Do nothing: the lines are sorted when there are enough of them."""

    def _sorted(self) -> list[bytes]:
        """Return the complete lines in memory, sorted, and keep the start of the next one."""
        whole, end, rest = b"".join(self._blocks).rpartition(b"\n")
        self._blocks, self._size = [rest], len(rest)
        lines = (whole + end).splitlines(True)  # N-Triples contains no other end of a line than "\\n"
        lines += self._more(whole + end)
        lines.sort()
        return lines

    def _spill(self) -> None:
        self._keep(self._sorted())
        if len(self._files) == MOST:
            files, self._files = self._files, []
            self._keep(merge(*files))
            for file in files:
                file.close()

    def _keep(self, lines: Iterable[bytes]) -> None:
        file = self._stack.enter_context(tempfile.TemporaryFile(buffering=1 << 18, prefix="provio-"))  # noqa: SIM115
        file.writelines(lines)
        file.seek(0)
        self._files.append(file)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines in order, each once."""
        last = self._sorted()
        lines = merge(*self._files, last) if self._files else iter(last)
        before = b""
        for line in lines:
            if line != before:
                before = line
                yield line
