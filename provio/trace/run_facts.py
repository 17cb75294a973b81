"""The facts of a trace about a run as a whole: processes, Tasks, gaps, damages, hosts, hashes.

Times are nanoseconds since 1970, 0 for never.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from provio.base.records import field, frozen, plain
from provio.base.vocab import RUN_BASE
from provio.system.statx import Record
from provio.trace.declarations import Declarations, Settings
from provio.trace.digests import Digests
from provio.trace.facts import Opening, Process

if TYPE_CHECKING:
    from provio.trace.events import EventFile
    from provio.trace.fast.lone_files import Lone
    from provio.trace.shared_libraries import Library
    from provio.trace.thread_files import Completeness


@plain(slots=True)
class Task:
    """A named part of a process's work, as the program declared it in `record`."""

    iri: str
    process: Process
    record: Record

    @property
    def started(self) -> int:
        """When it started, in ns since 1970."""
        return int(self.record.get("startedNs", 0))

    @property
    def ended(self) -> int:
        """When it ended, in ns since 1970; 0 if that was not declared."""
        return int(self.record.get("endedNs", 0))

    @property
    def part_of(self) -> str:
        """The surrounding Task; empty if there is none."""
        return self.record.get("partOf", "")


@frozen
class Damage:
    """A place in a file that violates the trace format, and the reason; line 0 for a file as a whole. If the reason has
    parts separated by `; `, the first one has no text from the file."""

    path: Path
    line: int
    reason: str

    @property
    def place(self) -> str:
        """The end of a sentence about it, without text from the file."""
        if self.line:
            return f" at line {self.line} of {self.path.name}"
        what, more, _ = self.reason.partition("; ")
        return f": {self.path.name} {what}" if more else f" in {self.path.name}"

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


@frozen
class Unwatched:
    """A program that could not be watched: the IRI of its gap, its name, when it was started (ns since 1970)."""

    process: Process
    gap: str
    name: str
    started: int


@frozen
class Hash:
    """The result of hashing a version after the run: its SHA-256, or the reason why there is none."""

    sha256: str
    reason: str


PARAMETERS, METRICS, METADATA, KEPT = "parameters", "metrics", "metadata", "kept"  # roles of a content


@plain(slots=True)
class Content:
    """The values of a version of a file, read after the run in one or several roles; the reason if there are none; not
    `complete` if there are more."""

    roles: set[str] = field(default_factory=set)
    parameters: Settings = field(default_factory=dict)
    metrics: Settings = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    sha256: str = ""  # of a kept version
    reason: str = ""
    complete: bool = True


@frozen
class Membership:
    """The package to which a version of a file belongs (its purl, or empty), and the build id of an ELF file."""

    purl: str = ""
    build_id: str = ""


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
    contents: dict[tuple[str, int, int, int, int], Content] = field(default_factory=dict)
    packages: dict[tuple[str, int, int, int, int], Membership] = field(default_factory=dict)
    libraries: dict[str, list[Library]] = field(default_factory=dict)  # by the IRI of their set
    tasks: dict[str, Task] = field(default_factory=dict)
    events: list[EventFile] = field(default_factory=list)  # of parallel frameworks
    declarations: Declarations = field(default_factory=Declarations)
    image: Record = field(default_factory=dict)  # of the container that the run took place in
    contained: set[str] = field(default_factory=set)  # IRIs of the processes with other mounts than the run
    roots: set[bytes] = field(default_factory=set)  # the root folders of these processes: of images
    image_devices: set[str] = field(default_factory=set)  # devices at these roots that are not mounted outside
    hosts: dict[str, Record] = field(default_factory=dict)  # the marks of the hosts, by their encoded names
    jobs: dict[str, dict[str, str]] = field(default_factory=dict)  # facts of the batch jobs that joined the run
    lone: Lone | None = None  # openings that are not in `processes`
    files: Completeness | None = None  # of its thread files

    @cached_property
    def iri(self) -> str:
        """The run's IRI."""
        return RUN_BASE + self.run_id

    @property
    def content_hash(self) -> str:
        """The hash of the files that it was read from."""
        return self.digests.hexdigest()

    def openings(self) -> Iterator[Opening]:
        """Every opening of every process."""
        return chain.from_iterable(process.openings for process in self.processes.values())
