"""What figures are made of: I/O activities, and the runs, processes, threads and files that group them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, cached_property

from provio.base.records import field, plain
from provio.base.vocab import RUN_BASE

# One I/O activity of a graph: what it counted, who did it, to what. None: not recorded.


POSIX, MPI_IO, HDF5 = "POSIX", "MPI-IO", "HDF5"
SIZES = 10
# What the kernel was asked to move, and the C library may have gathered first or not: each call is one of the kernel's.
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
    """The calls of one function by one thread on one opening; `sizes` count those of each access size; `jumped` are the
    bytes that did not begin where the call before ended; `start` and `end` are known where times were asked for."""

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
    mirror: bool = False  # the writing side of a copy within the kernel, whose call its reading side counts

    @property
    def layer(self) -> str:
        """Who was called: the C library, or MPI-IO or HDF5, which call the C library in turn."""
        if self.api is None:
            return HDF5 if self.target is not None and "#" in self.target else POSIX
        return _layer_of(self.api)

    @property
    def moves(self) -> bool:
        """Whether it moves content."""
        return self.kind in ("Read", "Write")

    @property
    def hands_over(self) -> bool:
        """Whether it is all that is recorded of content that moves later; of the C library's, `aio_return` says it."""
        return self.kind in ("SubmitRead", "SubmitWrite") and self.layer == MPI_IO

    @property
    def by_stream(self) -> bool:
        """Whether the C library may have served it from a buffer."""
        return self.api is not None and self.layer == POSIX and self.api not in SYSTEM_CALLS


def alike(activities: Iterable[Activity]) -> list[list[Activity]]:
    """Return lists of activities that differ only in what they touched, how much and when: each list has one kind,
    function and layer, and one thread, and all of it failed or nothing did."""
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
    """A version of a file: its path; when it was changed last, if it was written."""

    path: str
    system: bool = False
    modified: str = ""


@plain(slots=True)
class Process:
    """Who did it."""

    iri: str
    run: str
    pid: int = 0
    rank: int | None = None
    host: str = ""
    argv: str = ""
    program: str | None = None


@plain(slots=True)
class Run:
    """Of which run."""

    iri: str
    user: str | None = None
    start: str = ""
    end: str = ""
    detail: str = "op"
    in_progress: bool = False

    @property
    def id(self) -> str:
        """Its UUID."""
        return self.iri.removeprefix(RUN_BASE)


@plain()
class Recorded:
    """All that figures are made of; `files` by version, `gaps` how many each run has; versions that were `deleted`, and
    those of which a later one `kept` content. `read_contents` asks for the bytes of each version."""

    activities: list[Activity] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)
    threads: dict[str, int] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)
    gaps: Counter[str] = field(default_factory=Counter)
    deleted: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    read_contents: Callable[[], dict[str, int]] = dict

    @cached_property
    def contents(self) -> dict[str, int]:
        """The bytes of each version: of most runs no rule wants to know them."""
        return self.read_contents()

    @cached_property
    def alike(self) -> list[list[Activity]]:
        """The activities, in lists of those that are `alike`: a run has many activities and few such lists."""
        return alike(self.activities)

    def file(self, target: str | None) -> File | None:
        """The file that is the target of an activity, or that has this object inside."""
        if target is None:
            return None
        return self.files.get(target.partition("#")[0] if "#" in target else target)


def process_of(thread: str) -> str:
    """Return the IRI of a thread's process, which its own begins with."""
    return thread.rstrip("/").rpartition("/")[0] + "/"
