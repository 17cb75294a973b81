"""What a survey of a large run finds: what is to be known of all of it before any of it is concluded from, and the
portions of it that have nothing to do with each other.
"""

from __future__ import annotations

import copy as copying
import errno
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from provio import cycles
from provio import trace as traces
from provio.digests import Changed, Digests
from provio.lineage.phases import Origin
from provio.mount_tables import MountTables
from provio.packed import Packed
from provio.plain import plain
from provio.run_facts import Trace
from provio.runfiles import RunFile, RunFiles
from provio.said import Said


class Indivisible(Exception):
    """A run of which what follows from its files cannot be told portion by portion."""


class Written(Indivisible):
    """One whose files are written meanwhile: as they were once, they may be."""


@plain(slots=True)
class Files:
    """The files of all images of one process: the folder that they lie in, and their names."""

    place: Path
    names: tuple[str, ...]

    def all(self, named: Callable[[Path, str], RunFile]) -> Iterator[RunFile]:
        """Yield each."""
        return (named(self.place, name) for name in self.names)


class Parts:
    """A run in parts that have nothing to do with each other; here one part, all of it.

    `whole` has its processes until the parts are taken, and none after that. `touching` is what was done by all of
    them to files that many touched and one wrote, `wide` the inodes of these (by their hash), `common` those that
    several parts read; `origins` what each image comes from (None: each comes from one in its own part); `after` what
    was found after the run of openings and programs, by process."""

    def __init__(self, whole: Trace) -> None:
        self.whole = whole
        self.touching: Trace | None = None
        self.wide = frozenset[int]()
        self.common = set[int]()
        self.origins: dict[str, Origin] | None = None
        self.after: dict[str, dict[str, Packed]] = {}

    def each(self) -> Iterator[Trace]:
        """Yield the parts."""
        part = copying.copy(self.whole)
        self.whole = part_of(self.whole)
        self.whole.gaps = part.gaps
        yield part


class Survey(Parts):
    """A large run in parts, which are read when they are wanted; of its processes `whole` has only what concerns
    others; a portion is the files of a part."""

    def __init__(self, whole: Trace, source: RunFiles) -> None:
        super().__init__(whole)
        self.source, self.tables = source, MountTables(whole.mounts)
        self.portions: list[list[Files]] = []

    def each(self) -> Iterator[Trace]:
        """Yield the parts; raises Changed where the files of one are not what they were."""
        for process in self.whole.processes.values():
            process.record, process.events, process.openings = {}, [], []
            process._arguments = None
        self.whole.processes = {}
        for portion in self.portions:
            yield self.read(portion)
            cycles.let_go()

    def read(self, portion: Iterable[Files]) -> Trace:
        """Return the trace of a portion; raises Changed where its files are not what they were."""
        trace = part_of(self.whole)
        trace.digests = Digests()
        files = [file for files in portion for file in files.all(self.source.named)]
        traces.read_files(trace, files, self.after, self.tables)
        traces.lost(trace)
        if not trace.digests.same(self.whole.digests, ((file.host, file.name) for file in files)):
            raise OSError(errno.EIO, "what was read of it is lost") if self.source.fixed else Changed
        own = {program.gap: program for program in trace.unwatched}
        trace.unwatched = [own.get(program.gap, program) for program in self.whole.unwatched]
        return trace


def part_of(whole: Trace) -> Trace:
    """Return a trace of the same run in which nothing is."""
    part = copying.copy(whole)
    part.processes, part.gaps, part.tasks, part.unwatched, part.said = {}, [], {}, [], Said()
    part.damages = []
    return part
