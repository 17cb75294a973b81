"""What a reader of runs asks for, wherever a run's files lie: the `RunFiles` of a run, and each `RunFile` in it."""

from __future__ import annotations

import os
import zlib
from array import array
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from provio.base.records import plain

if TYPE_CHECKING:
    from provio.system.statx import Record

CALLS_ENDING = ".calls.ttl"
GAP_ENDING = ".gap"
SHELL_ENDING = ".session"  # who a shell is that is recorded from some point on
HEAD = "run.ttl"
UNCLOSED = "unclosed"  # the list that processes of a run keep of what they have open: for the end of the run alone
MOST = 1 << 30  # bytes of one file; a larger one is damage


@plain(frozen=True)
class RunFile:
    """One file of a run: of which host (empty for `run.ttl`), its name, and the path that a complaint names.

    `load` returns its bytes and raises OSError; a pack is read once, from its beginning to its end, so that there it
    must be called before the next file is asked for. A gap has its reason in `gap`, and nothing to load. `parts`
    returns the bytes of a large file one part after the other; None of any other, and of all in a pack.
    """

    host: str
    name: str
    path: Path
    load: Callable[[], bytes]
    gap: str | None = None
    parts: Callable[[], Iterator[bytes] | None] = lambda: None


class RunFiles(Protocol):
    """The files of one run. `record` is what `run.ttl` says of it, which may name a folder elsewhere."""

    folder: Path  # the run folder that it is, or was made of: its name is the run's id
    place: Path  # where the files lie now
    fixed: bool  # whether they stay what they are while they are read

    def head(self) -> RunFile:
        """Return `run.ttl`."""

    def files(self, record: Record) -> Iterator[RunFile]:
        """Yield the thread files, gaps and what was found after the run, by host and name."""

    def named(self, place: Path, name: str) -> RunFile:
        """Return a file once more, by the folder and the name of its path; what is packed must be `held` for that."""

    def calls(self, record: Record) -> Iterator[RunFile]:
        """Yield the files of single calls, in the same order."""

    def changed(self) -> int:
        """Return when anything in it last changed, as far as times tell (ns since 1970)."""

    def extent(self) -> tuple[int, int]:
        """Return how many bytes it takes on the disk, and in how many files."""


# A run as it is read twice: its files in, the same files as they were once, in any order and however often, out.


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


class Snapshot:
    """The files of a run; raises OSError where there is no room for them in the folder `beside`."""

    fixed = True

    def __init__(self, source: RunFiles, record: Record, beside: Path) -> None:
        self.folder, self.place, self._source = source.folder, source.place, source
        import tempfile  # slow to import, and seldom wanted

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
