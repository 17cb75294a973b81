"""What a survey of a large run finds: what is to be known of all of it before any of it is concluded from, and the
portions of it that have nothing to do with each other.
"""

from __future__ import annotations

import copy as copying
import errno
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from provio import trace as traces
from provio.digests import Changed, Digests
from provio.lineage.phases import Origin
from provio.mount_tables import MountTables
from provio.packed import Packed
from provio.plain import field, plain
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


@plain()
class Survey:
    """What a run is: `whole` has its processes, but of what they did only what concerns others; `portions` are of
    files; `common` are the inodes (by their hash) that several portions read, `wide` those that many touched and one
    wrote, `touching` what was done to these by all of them; `origins` what each image comes from; `after` is what was
    found after the run of openings and programs, by process."""

    whole: Trace
    source: RunFiles
    tables: MountTables
    portions: list[list[Files]] = field(default_factory=list)
    common: set[int] = field(default_factory=set)
    wide: frozenset[int] = frozenset()
    touching: Trace | None = None
    origins: dict[str, Origin] = field(default_factory=dict)
    after: dict[str, dict[str, Packed]] = field(default_factory=dict)

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
