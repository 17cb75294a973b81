"""The facts of a trace about processes as typed records: threads, openings, accesses, events, failures.

Times are nanoseconds since 1970, 0 for never; sizes are in bytes; paths are bytes.
"""

from __future__ import annotations

import bisect
import os
from collections.abc import Iterator, Sequence

from provio.base.records import field, plain
from provio.system.statx import Facts, Record
from provio.trace.decode import decode_argv, path_of
from provio.trace.fast.compact_record import Packed

WRITE_FLAGS = os.O_WRONLY | os.O_RDWR
# The largest access of each of the ten sizes but the last, in bytes (Darshan's access-size counters).
SIZE_LIMITS = (100, 1024, 10240, 102400, 1048576, 4194304, 10485760, 104857600, 1073741824)
CHANGES = frozenset({"Allocate", "SubmitWrite"})  # operations that change, or may have changed, a file's content


@plain(frozen=True, slots=True)
class Stretch:
    """A period of reading or writing: its first and last moment (ns since 1970), and the number of bytes."""

    first: int
    last: int
    size: int


@plain(slots=True)
class Access:
    """The counters of one (thread, opening, function); `name` is relative to the thread's IRI. Elapsed times in ns."""

    name: str
    thread: Thread
    opening: Opening
    packed: Packed
    first_read: int = 0
    last_read: int = 0
    first_write: int = 0
    last_write: int = 0
    unusual: dict[str, Record] | None = None
    turns: dict[str, list[tuple[int, int, int]]] | None = None

    @property
    def iri(self) -> str:
        """Its IRI."""
        return self.thread.iri + self.name

    @property
    def counts(self) -> Record:
        """The counters by their names."""
        return _unpacked(self.packed)

    def timed(self, counts: Record) -> Access:
        """Set the moments from the unpacked counters, and return the access."""
        epoch, get = self.thread.epoch, counts.get
        first_read, last_read = int(get("firstRead", 0)), int(get("lastRead", 0))
        first_write, last_write = int(get("firstWrite", 0)), int(get("lastWrite", 0))
        self.first_read, self.last_read = first_read and epoch + first_read, last_read and epoch + last_read
        self.first_write, self.last_write = first_write and epoch + first_write, last_write and epoch + last_write
        return self

    def stretches(self, side: str) -> list[Stretch]:
        """Return the stretches of a side (`read`, `write`), in order: between two of them the process used the other
        side."""
        first, end = (self.first_read, self.last_read) if side == "read" else (self.first_write, self.last_write)
        found, done = [], 0
        for last, size, resumed in sorted(self.turns.get(side, ()) if self.turns else ()):
            if size > done:
                found.append(Stretch(first, last, size - done))
            first, done = resumed, size
        rest = self.count(side + "Bytes") - done
        return [*found, Stretch(first, end, rest)] if first and (rest or not found) else found

    def sizes(self, side: str) -> list[int]:
        """Return how many calls of a side (`read`, `write`) had each of the ten sizes; empty calls have none.

        Calls without a counter for their size have the usual size: that of the first call, or of all calls.
        """
        moved, record = self.moved(side), self._unusual(side)
        found = [int(record.get(f"size{number}", 0)) for number in range(1, 11)]
        rest = max(0, moved - sum(found))
        mean = self.count(side + "Bytes") // moved if moved > 0 else 0
        found[int(record["usualSize"]) - 1 if record else bisect.bisect_left(SIZE_LIMITS, mean)] += rest
        return found

    def moved(self, side: str) -> int:
        """Return how many calls of a side (`read`, `write`) moved bytes: a read at the end of a file moves none."""
        counts = self.counts
        return int(counts.get(side + "s", 0)) - int(counts.get("emptyReads", 0) if side == "read" else 0)

    def consecutive(self, side: str) -> int:
        """Return the bytes of a side's calls that started at the end of the previous call; the first call counts."""
        return max(0, self.count(side + "Bytes") - int(self._unusual(side).get("jumpedBytes", 0)))

    def _unusual(self, side: str) -> Record:
        return self.unusual.get(side, {}) if self.unusual else {}

    def count(self, name: str) -> int:
        """Return the value of a counter; 0 if the access does not have it."""
        return int(self.counts.get(name, 0))

    @property
    def unreturned(self) -> bool:
        """Whether a write or copy into a pipe or connection began of which no return was counted: it may have been the
        last action of the process."""
        counts = self.counts
        done = counts.get("count") or counts.get("writes") or bool(self.first_write)
        return int(counts.get("attempted", 0)) > int(done)

    @property
    def operation(self) -> str:
        """The class of the counted calls if they are neither reads nor writes; else an empty string."""
        return self.counts.get("operation", "").rpartition("#")[2]

    @property
    def task(self) -> str:
        """The Task of the thread; empty if there was none."""
        return self.counts.get("task", "")

    def moments(self) -> tuple[int, int]:
        """Return the (first, last) moments of such an operation, in ns since 1970."""
        return self.thread.epoch + self.count("first"), self.thread.epoch + self.count("last")


_last_unpacked: tuple[Packed | None, Record] = None, {}


def _unpacked(packed: Packed) -> Record:
    """Unpack a record; the last one is cached."""
    global _last_unpacked  # noqa: PLW0603
    known, record = _last_unpacked
    if known is not packed:
        record = packed.record()
        _last_unpacked = packed, record
    return record


@plain(slots=True)
class CopyCalls:
    """Copies by the kernel, for one thread, from one opening to another; first and last in ns since 1970."""

    access: Access
    source: Opening
    target: Opening
    first: int
    last: int

    @property
    def between_files(self) -> bool:
        """Whether both ends are files: then no process has held the content."""
        return self.source.kind == self.target.kind == "FileVersion"


@plain(frozen=True, slots=True)
class Connection:
    """The known facts of a socket's other end: both addresses, or its inode, or else the process that created it."""

    local: str = ""
    peer: str = ""
    peer_inode: int = 0
    peer_pid: int = 0

    @staticmethod
    def of(record: Record) -> Connection:
        """Return the connection in the record of an opening."""
        local, peer = record.get("localAddress", ""), record.get("peerAddress", "")
        return Connection(local, peer, int(record.get("peerInode", 0)), int(record.get("peerPid", 0)))

    @property
    def terminal(self) -> bool:
        """Whether the two ends are the master and the slave of a pseudo-terminal."""
        return self.local.startswith("terminal.")


@plain(slots=True)
class Opening:
    """An open file description: how it was opened, the file's facts then and at the last close. `label` is relative to
    the process's IRI."""

    label: str
    process: Process
    kind: str
    path: bytes | None
    facts: Facts
    flags: int
    opened: int
    inherited: bool
    unlinked: bool
    api: str | None
    elapsed: int
    closed: int = 0
    at_close: Facts | None = None
    settled: Facts | None = None
    resolved: bytes | None = None
    unseen_reason: str = ""  # why accesses to the file's inner objects were not observed
    connection: Connection = Connection()
    accesses: list[Access] = field(default_factory=list)
    copied_from: Sequence[CopyCalls] = ()
    copied_to: Sequence[CopyCalls] = ()
    members: Sequence[Member] = ()
    owner: str = ""  # of a copy: the IRI of the process that the label is relative to
    provisional: bool = False  # the process was alive when `settled` was read: not to be stored

    @property
    def iri(self) -> str:
        """Its IRI."""
        return (self.owner or self.process.iri) + self.label

    def reads(self) -> list[tuple[int, int]]:
        """Return the (first, last) moments of each access's reads, copies from file to file left out."""
        seen = [a for a in self.accesses if a.first_read]
        if self.kind in ("Pipe", "Socket"):  # the end of a pipe carries no data
            seen = [a for a in seen if a.count("readBytes") or "reads" not in a.counts]
        own = [(s.first, s.last) for a in seen for s in a.stretches("read")]
        own += [a.moments() for a in self.accesses if a.operation == "SubmitRead" and a.count("count")]
        for member in self.members:
            own += member.stretches("read")
        return own + [(c.first, c.last) for c in self.copied_to if not c.between_files]

    def writes(self) -> list[tuple[int, int]]:
        """Return the (first, last) moments of each access's writes and other changes, copies between files left out."""
        own = [(s.first, s.last) for a in self.accesses if a.first_write for s in a.stretches("write")]
        own += [a.moments() for a in self.accesses if a.operation in CHANGES and a.count("count")]
        for member in self.members:
            own += member.changes()
        return own + [(c.first, c.last) for c in self.copied_from if not c.between_files]

    def unreturned(self) -> list[Access]:
        """Return the accesses whose last write did not return: into a pipe or connection."""
        return [access for access in self.accesses if access.unreturned] if self.kind in ("Pipe", "Socket") else []

    @property
    def name(self) -> bytes | None:
        """The path, with symbolic links resolved if that is known."""
        return self.resolved or self.path

    @property
    def writable(self) -> bool:
        """Opened for writing."""
        return bool(self.flags & WRITE_FLAGS)

    @property
    def truncated(self) -> bool:
        """Emptied when it was opened."""
        return self.writable and bool(self.flags & os.O_TRUNC) and not self.inherited


@plain(slots=True)
class Member:
    """An object in a hierarchical file, or an attribute of one, as seen in one opening of the file.

    `path` starts at the root of the file; of an attribute, it is the path of its object.
    """

    iri: str
    kind: str
    file: Opening
    path: bytes
    name: bytes | None
    record: Record
    accesses: list[Access] = field(default_factory=list)
    copied_from: list[tuple[Member, Access]] = field(default_factory=list)
    shows: list[Member] = field(default_factory=list)

    @property
    def created(self) -> bool:
        """Whether it was created in this opening."""
        return self.record.get("created") == "true"

    @property
    def replaced(self) -> int:
        """When all of its previous content was overwritten, in ns since 1970; 0 for never."""
        return int(self.record.get("replacedNs", 0))

    def stretches(self, side: str) -> list[tuple[int, int]]:
        """Return the (first, last) moments of each access's reading or writing (`read`, `write`)."""
        return [(stretch.first, stretch.last) for access in self.accesses for stretch in access.stretches(side)]

    def changes(self) -> list[tuple[int, int]]:
        """Return the (first, last) moments of all changes of the file: writes, creation, copies."""
        made = [(self.made(), self.made())] if self.created else []
        return self.stretches("write") + made + [access.moments() for _, access in self.copied_from]

    def made(self) -> int:
        """Return when it was created, in ns since 1970: by the call that made or copied it, else the first write, else
        the file's opening."""
        calls = [access.moments()[0] for access in self.accesses if access.operation == "Create"]
        calls = calls or [access.moments()[0] for _, access in self.copied_from]
        return min(calls or [first for first, _ in self.stretches("write")] or [self.file.opened])


@plain(slots=True)
class Event:
    """A single call with a record of its own: rename, unlink, map, fork, exec …"""

    iri: str
    kind: str
    process: Process
    thread: Thread
    at: int
    packed: Packed

    @property
    def record(self) -> Record:
        """The event's record; not to be changed."""
        return _unpacked(self.packed)

    def facts(self) -> Facts | None:
        """Return the file's facts, if the event has them."""
        return Facts.of(self.record) if "inode" in self.record else None

    def text(self, name: str) -> bytes | None:
        """Return a path among the event's facts, as bytes."""
        return path_of(self.record, name)

    @property
    def task(self) -> str:
        """The Task of the thread; empty if there was none."""
        return self.record.get("task", "")

    def number(self, name: str, default: int = 0) -> int:
        """Return an integer among the event's facts."""
        return int(self.record.get(name, default))


@plain(slots=True)
class Failure:
    """The failed calls of one function by one thread with one error number, on an opening or on none."""

    iri: str
    thread: Thread
    opening: Opening | None
    kind: str
    api: str
    errno: int
    count: int
    member: Member | None = None


@plain(slots=True)
class Thread:
    """A thread that did I/O."""

    iri: str
    process: Process
    tid: int
    epoch: int


@plain(slots=True)
class Process:
    """A process image, after an exec or a fork."""

    iri: str
    host: str
    pid: int
    tick: int
    image_number: str
    record: Record = field(default_factory=dict)
    threads: list[Thread] = field(default_factory=list)
    openings: list[Opening] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    containers: list[Opening] = field(default_factory=list)  # openings by a library that knows the file's objects
    within: list[Event] = field(default_factory=list)  # events of names in such files
    summed: list[Access] = field(default_factory=list)  # calls counted once for all objects of such a file
    libraries: list[str] = field(default_factory=list)  # the sets of shared libraries that it had, by their IRIs
    last_declared: dict[str, int] = field(default_factory=dict)  # the time of the last declaration in each Task
    # Computed once:
    _arguments: list[bytes] | None = None
    _executable: bytes | None = None
    _started: int | None = None
    _ended: int | None = None

    @property
    def image(self) -> str:
        """`exec`, `fork`, `task` (`lineage.tasks`), or an empty string if the header is missing."""
        return self.record.get("image", "fork" if self.image_number == "v" else "")

    @property
    def parent_pid(self) -> int:
        """The pid of the parent when the process began to record."""
        return int(self.record.get("parentPid", 0))

    @property
    def arguments(self) -> list[bytes]:
        """The command line."""
        if self._arguments is None:
            self._arguments = decode_argv(self.record.get("argv", ""))
        return self._arguments

    @property
    def executable(self) -> bytes | None:
        """The path of the program's file."""
        if self._executable is None:
            self._executable = path_of(self.record, "executable")
        return self._executable

    @property
    def cwd(self) -> bytes:
        """The working directory when the process began to record."""
        return path_of(self.record, "cwd") or b"/"

    @property
    def started(self) -> int:
        """When the image started, in ns; the earliest known moment if the header is missing."""
        if self._started is None:
            self._started = self._first_moment()
        return self._started

    @property
    def ended(self) -> int:
        """The last known activity of the process, in ns."""
        if self._ended is None:
            self._ended = self._last_moment()
        return self._ended

    def named(self) -> Iterator[bytes]:
        """Yield the paths that the command line names, also as `--option=PATH`."""
        for argument in self.arguments[1:]:
            for text in {argument, argument.partition(b"=")[2]} - {b""}:
                yield os.path.normpath(os.path.join(self.cwd, text))

    def _first_moment(self) -> int:
        known = [int(self.record["startedNs"])] if "startedNs" in self.record else []
        return min(known or [o.opened for o in self.openings if o.opened] + [e.at for e in self.events] or [0])

    def _last_moment(self) -> int:
        moments = [self.started, int(self.record.get("endedNs", 0)), *self.last_declared.values()]
        moments += (event.at for event in self.events)
        if self.image == "task":  # it does not close its open files itself
            return max([*moments, *(m for o in self.openings for a in o.accesses for m in (a.last_read, a.last_write))])
        for opening in self.openings:
            moments += (opening.opened, opening.closed)
            for access in opening.accesses:
                moments += (access.last_read, access.last_write)
        for container in self.containers:
            moments += (container.opened, container.closed)
            for member in container.members:
                moments += (moment for access in member.accesses for moment in (access.last_read, access.last_write))
        return max(moments)
