"""Recorded I/O activities, and the runs, processes, threads and files by which figures group them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, cached_property

from provio.base.records import field, plain
from provio.base.vocab import RUN_BASE

POSIX, MPI_IO, HDF5 = "POSIX", "MPI-IO", "HDF5"
SIZES = 10
# Functions that call the kernel directly; other functions of the C library may use a buffer.
SYSTEM_CALLS = frozenset(
    "read pread pread64 readv preadv preadv64 preadv2 preadv64v2 __read_chk __pread_chk __pread64_chk "
    "write pwrite pwrite64 writev pwritev pwritev64 pwritev2 pwritev64v2".split()
)


@cache  # a run calls some dozens of functions
def _layer_of(api: str) -> str:
    if api.startswith("H5"):
        return HDF5
    return MPI_IO if api.startswith("MPI_") else POSIX


@plain(slots=True)
class Activity:
    """The calls of one function by one thread on one opening; None: not recorded.

    `sizes` are the numbers of calls of each access size; `jumped` are the bytes of calls that did not start at the end
    of the previous call; `start` and `end` are set only if times were requested.
    """

    iri: str
    kind: str
    api: str | None = None
    count: int | None = None
    bytes: int | None = None
    elapsed: int | None = None
    longest: int | None = None
    jumped: int = 0
    sizes: tuple[int, ...] | None = None
    errors: int = 0
    process: str | None = None
    thread: str | None = None
    run: str | None = None
    target: str | None = None
    start: int = 0
    end: int = 0
    mirror: bool = False  # the writing side of a copy in the kernel; the reading side counts the call

    @property
    def layer(self) -> str:
        """The called library: the C library, or MPI-IO or HDF5, which call the C library in turn."""
        if self.api is None:
            return HDF5 if self.target is not None and "#" in self.target else POSIX
        return _layer_of(self.api)

    @property
    def moves(self) -> bool:
        """Whether it moves data."""
        return self.kind in ("Read", "Write")

    @property
    def hands_over(self) -> bool:
        """Whether it is the only record of data that are moved later; in the C library, `aio_return` records them."""
        return self.kind in ("SubmitRead", "SubmitWrite") and self.layer == MPI_IO

    @property
    def by_stream(self) -> bool:
        """Whether the C library may have used a buffer."""
        return self.api is not None and self.layer == POSIX and self.api not in SYSTEM_CALLS


def alike(activities: Iterable[Activity]) -> list[list[Activity]]:
    """Return lists of activities that differ only in file, amount and time: each list has one kind, function, layer and
    thread, and all of its calls failed or none did."""
    found: dict[tuple[object, ...], list[Activity]] = {}
    for one in activities:
        layer = None if one.api else one.layer
        common = one.kind, one.api, layer, one.mirror, not one.errors, one.thread, one.process, one.run
        some = found.get(common)
        if some is None:
            found[common] = [one]
        else:
            some.append(one)
    return list(found.values())


PIPE, SOCKET = "https://w3id.org/provio/pipe/", "https://w3id.org/provio/socket/"


@plain(slots=True)
class File:
    """A version of a file: its path, and the time of the last change if it was written."""

    path: str
    system: bool = False
    modified: str = ""


@plain(slots=True)
class Process:
    """A process with I/O."""

    iri: str
    run: str
    pid: int = 0
    rank: int | None = None
    host: str = ""
    argv: str = ""
    program: str | None = None


@plain(slots=True)
class Run:
    """A run with I/O; `folder` is the one in which it started."""

    iri: str
    user: str | None = None
    start: str = ""
    end: str = ""
    detail: str = "op"
    in_progress: bool = False
    folder: str = ""

    @property
    def id(self) -> str:
        """Its UUID."""
        return self.iri.removeprefix(RUN_BASE)


@plain()
class Recorded:
    """The input of all figures: `files` by version; `gaps`, their number by run; the `deleted` versions, and those with
    content that a later version `kept`. `read_contents` reads the size of each version, `read_tasks` the name of the
    Task of each activity that is in one."""

    activities: list[Activity] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)
    threads: dict[str, int] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)
    gaps: Counter[str] = field(default_factory=Counter)
    deleted: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    read_contents: Callable[[], dict[str, int]] = dict
    read_tasks: Callable[[], dict[str, str]] = dict

    @cached_property
    def contents(self) -> dict[str, int]:
        """The size of each version; for most runs no rule needs them."""
        return self.read_contents()

    @cached_property
    def tasks(self) -> dict[str, str]:
        """The name of the innermost Task of each activity that is in one."""
        return self.read_tasks()

    @cached_property
    def alike(self) -> list[list[Activity]]:
        """The activities in the lists of `alike`: a run has many activities and few such lists."""
        return alike(self.activities)

    def file(self, target: str | None) -> File | None:
        """Return the file that is the target of an activity, or that contains this object."""
        if target is None:
            return None
        return self.files.get(target.partition("#")[0] if "#" in target else target)


def process_of(thread: str) -> str:
    """Return the IRI of a thread's process: the start of the thread's IRI."""
    return thread.rstrip("/").rpartition("/")[0] + "/"
