"""What a trace states of a run as a whole: its processes, Tasks, gaps, hosts, and what became of its files. Nothing is
concluded here.

Times are nanoseconds since 1970, 0 for never.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from provio.base.records import field, plain
from provio.base.vocab import RUN_BASE
from provio.system.statx import Record
from provio.trace.declarations import Declarations
from provio.trace.digests import Digests
from provio.trace.facts import Opening, Process

if TYPE_CHECKING:
    from provio.trace.fast.lone_files import Lone


@plain(slots=True)
class Task:
    """A named part of what a process does; `record` is what the program said of it."""

    iri: str
    process: Process
    record: Record

    @property
    def started(self) -> int:
        """When it began, in ns since 1970."""
        return int(self.record.get("startedNs", 0))

    @property
    def ended(self) -> int:
        """When it ended, in ns since 1970; 0: nobody said so."""
        return int(self.record.get("endedNs", 0))

    @property
    def part_of(self) -> str:
        """The Task that it was begun in; empty where it was begun in none."""
        return self.record.get("partOf", "")


@plain(frozen=True)
class Damage:
    """A file that is not what the trace format says: where, and why."""

    path: Path
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


@plain(frozen=True)
class Unwatched:
    """A program that could not be watched: the Gap that says so, its name, when it was started (ns since 1970)."""

    process: Process
    gap: str
    name: str
    started: int


@plain(frozen=True)
class Hash:
    """What came of hashing a version after the run: its SHA-256, or the reason why there is none."""

    sha256: str
    reason: str


@plain()
class Trace:
    """The facts of one run."""

    folder: Path
    run_id: str
    run: Record
    mounts: list[Record]
    processes: dict[str, Process]
    gaps: list[tuple[str, str, str]]
    damages: list[Damage]
    digests: Digests
    environment: dict[str, str] = field(default_factory=dict)
    unwatched: list[Unwatched] = field(default_factory=list)
    hashes: dict[tuple[str, int, int, int, int], Hash] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    declarations: Declarations = field(default_factory=Declarations)
    image: Record = field(default_factory=dict)  # of the container that the run took place in
    contained: set[str] = field(default_factory=set)  # the IRIs of the processes that had other mounts than the run
    roots: set[bytes] = field(default_factory=set)  # folders that were the root of those: of images
    image_devices: set[str] = field(default_factory=set)  # what lay at that root, and is not to be seen outside
    hosts: dict[str, Record] = field(default_factory=dict)  # the marks of those that took part, by their encoded names
    jobs: dict[str, dict[str, str]] = field(default_factory=dict)  # what is said of those that joined it
    lone: Lone | None = None  # what its processes opened is not all among their openings

    @property
    def iri(self) -> str:
        """The run's IRI."""
        return RUN_BASE + self.run_id

    @property
    def content_hash(self) -> str:
        """The hash of the files that it was read from."""
        return self.digests.hexdigest()

    def openings(self) -> Iterator[Opening]:
        """Every opening of every process."""
        for process in self.processes.values():
            yield from process.openings
