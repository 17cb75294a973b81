"""What a reader of runs asks for, wherever a run's files lie: the `RunFiles` of a run, and each `RunFile` in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from provio.plain import plain

if TYPE_CHECKING:
    from provio.statx import Record


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
