"""A run as it is read twice: its files in, the same files as they were once, in any order and however often, out.

What was packed, or is written still, lies compressed in one temporary file without a name, which goes with the process;
in memory are the names, and what lies where.
"""

from __future__ import annotations

import os
import tempfile
import zlib
from array import array
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from provio.plain import plain
from provio.runfiles.files import RunFile, RunFiles

if TYPE_CHECKING:
    from provio.statx import Record

LEVEL = 1  # of zlib: what fills files up takes no room


@plain(frozen=True, slots=True)
class _Kept:
    """What is known of a file: which of the parts that were written are its own, and why it could not be read."""

    host: str
    name: str
    place: Path
    last: str  # of its path, which is not its name where it does not belong in a pack
    gap: str | None
    first: int
    end: int
    error: OSError | None


class Held:
    """The files of a run; raises OSError where there is no room for them in the folder `beside`."""

    fixed = True

    def __init__(self, source: RunFiles, record: Record, beside: Path) -> None:
        self.folder, self.place, self._source = source.folder, source.place, source
        self._text = tempfile.TemporaryFile(dir=beside)  # noqa: SIM115 (it is read until nobody has it any more)
        self._ends = array("q", [0])  # of each part
        self._known: dict[tuple[str, str], _Kept] = {}
        places: dict[str, tuple[str, Path]] = {}
        for file in chain([source.head()], source.files(record)):
            text, place = places.setdefault(str(file.path.parent), (str(file.path.parent), file.path.parent))
            self._known[text, file.name] = self._keep(file, place)
        self._text.flush()

    def head(self) -> RunFile:
        """Return `run.ttl`."""
        return self._file(next(iter(self._known.values())))

    def files(self, record: Record) -> Iterator[RunFile]:  # noqa: ARG002 (all of it is here)
        """Yield the thread files and gaps of each host, by name."""
        files = iter(self._known.values())
        next(files)
        return map(self._file, files)

    def named(self, place: Path, name: str) -> RunFile:
        """Return the file of a name in a folder of the run."""
        return self._file(self._known[str(place), name])

    def calls(self, record: Record) -> Iterator[RunFile]:
        """Yield the files of single calls, which are not held."""
        return self._source.calls(record)

    def changed(self) -> int:
        """Return when that was last changed of which this is held."""
        return self._source.changed()

    def extent(self) -> tuple[int, int]:
        """Return what that takes on the disk, and in how many files."""
        return self._source.extent()

    def _keep(self, file: RunFile, place: Path) -> _Kept:
        first, error = len(self._ends) - 1, None
        for part in _parts(file) if file.gap is None else ():
            if isinstance(part, OSError):
                error = part
                break
            self._ends.append(self._ends[-1] + self._text.write(zlib.compress(part, LEVEL)))
        last = file.name if file.path.name == file.name else file.path.name
        return _Kept(file.host, file.name, place, last, file.gap, first, len(self._ends) - 1, error)

    def _file(self, kept: _Kept) -> RunFile:
        load, parts = partial(self._load, kept), partial(self._in_parts, kept)
        return RunFile(kept.host, kept.name, kept.place / kept.last, load, kept.gap, parts)

    def _load(self, kept: _Kept) -> bytes:
        if kept.error:
            raise kept.error
        return b"".join(self._read(kept))

    def _in_parts(self, kept: _Kept) -> Iterator[bytes] | None:
        """The parts of what came in several."""
        return self._read(kept) if kept.end - kept.first > 1 and not kept.error else None

    def _read(self, kept: _Kept) -> Iterator[bytes]:
        for number in range(kept.first, kept.end):
            start = self._ends[number]
            yield zlib.decompress(os.pread(self._text.fileno(), self._ends[number + 1] - start, start))


def _parts(file: RunFile) -> Iterator[bytes | OSError]:
    """The bytes of a file; lastly why there are no more."""
    try:
        parts = file.parts()
        yield from [file.load()] if parts is None else parts
    except OSError as error:
        yield error
