"""A copy of a run's files as they are at one moment, which can be read twice, in any order."""

from __future__ import annotations

import os
import zlib
from array import array
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from provio.base.records import plain
from provio.trace.run_source import RunFile, RunFiles

if TYPE_CHECKING:
    from provio.system.statx import Record

LEVEL = 1  # of zlib: enough for the padding of thread files


@plain(frozen=True, slots=True)
class _Stored:
    """A file of a snapshot: the numbers of its first and last part, and the error if it could not be read."""

    host: str
    name: str
    place: Path
    last: str  # the last segment of its path; not its name for a member that does not belong in an archive
    gap: str | None
    first: int
    end: int
    error: OSError | None


class Snapshot:
    """The files of a run at one moment, in any order and any number of times, in a temporary file without a name in
    `folder`; raises OSError if that has no room."""

    fixed = True

    def __init__(self, source: RunFiles, record: Record, folder: Path) -> None:
        self.folder, self.place, self._source = source.folder, source.place, source
        import tempfile  # slow to import, and rarely needed

        self._text = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (open as long as the snapshot exists)
        self._ends = array("q", [0])  # of each part
        self._known: dict[tuple[str, str], _Stored] = {}
        places: dict[str, tuple[str, Path]] = {}
        for file in chain([source.head()], source.files(record)):
            text, place = places.setdefault(str(file.path.parent), (str(file.path.parent), file.path.parent))
            self._known[text, file.name] = self._store(file, place)
        self._text.flush()

    def head(self) -> RunFile:
        """Return `run.ttl`."""
        return self._file(next(iter(self._known.values())))

    def files(self, record: Record) -> Iterator[RunFile]:  # noqa: ARG002 (all files are stored)
        """Yield the thread files and gaps of each host, by name."""
        files = iter(self._known.values())
        next(files)
        return map(self._file, files)

    def named(self, place: Path, name: str) -> RunFile:
        """Return the file of a name in a folder of the run."""
        return self._file(self._known[str(place), name])

    def events(self, record: Record) -> Iterator[RunFile]:
        """Yield the files of events of parallel frameworks."""
        return self._source.events(record)

    def calls(self, record: Record) -> Iterator[RunFile]:
        """Yield the files of single calls, which are not in the snapshot."""
        return self._source.calls(record)

    def outputs(self, record: Record) -> Iterator[RunFile]:
        """Yield the files with the output of the run, which are not in the snapshot."""
        return self._source.outputs(record)

    def machine_facts(self, record: Record) -> Iterator[RunFile]:
        """Yield the files with the facts of machines, which are not in the snapshot."""
        return self._source.machine_facts(record)

    def changed(self) -> int:
        """Return the last change of the source."""
        return self._source.changed()

    def extent(self) -> tuple[int, int]:
        """Return the bytes of the source on the disk, and the number of its files."""
        return self._source.extent()

    def _store(self, file: RunFile, place: Path) -> _Stored:
        first, error = len(self._ends) - 1, None
        for part in _parts(file) if file.gap is None else ():
            if isinstance(part, OSError):
                error = part
                break
            self._ends.append(self._ends[-1] + self._text.write(zlib.compress(part, LEVEL)))
        last = file.name if file.path.name == file.name else file.path.name
        return _Stored(file.host, file.name, place, last, file.gap, first, len(self._ends) - 1, error)

    def _file(self, stored: _Stored) -> RunFile:
        load, parts = partial(self._load, stored), partial(self._in_parts, stored)
        return RunFile(stored.host, stored.name, stored.place / stored.last, load, stored.gap, parts)

    def _load(self, stored: _Stored) -> bytes:
        if stored.error:
            raise stored.error
        return b"".join(self._read(stored))

    def _in_parts(self, stored: _Stored) -> Iterator[bytes] | None:
        """Return the parts of a file that was stored in several."""
        return self._read(stored) if stored.end - stored.first > 1 and not stored.error else None

    def _read(self, stored: _Stored) -> Iterator[bytes]:
        for number in range(stored.first, stored.end):
            start = self._ends[number]
            yield zlib.decompress(os.pread(self._text.fileno(), self._ends[number + 1] - start, start))


def _parts(file: RunFile) -> Iterator[bytes | OSError]:
    """Yield the bytes of a file, then the error if reading failed."""
    try:
        parts = file.parts()
        yield from [file.load()] if parts is None else parts
    except OSError as error:
        yield error
