"""Types of the conclusions: programs, inputs, write spans, versions, phases, copies, pipe segments. Times are ns
since 1970."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from provio.base.records import field, frozen, plain
from provio.lineage.clocks import Clocks
from provio.lineage.declared import DeclaredFacts
from provio.lineage.identity import member_iri
from provio.system.statx import Facts, Record
from provio.trace.facts import Opening, Process

if TYPE_CHECKING:
    from provio.lineage.code import Noise
    from provio.lineage.task_results import Result, Submission
    from provio.lineage.unwatched import Held
    from provio.trace.fast.lone_files import Moments
    from provio.trace.run_facts import Membership, Trace

# The kernel sets file times from a clock that may lag behind ours by one tick (1 to 10 ms, more under load).
TICK = 20_000_000
SECOND = 1_000_000_000
FOREVER = 1 << 63
MESSAGES = ("", "")  # the channels of an opening that moves no data, only messages between parts of a framework


def inode_of(facts: Facts) -> tuple[str, int, int]:
    """Return the attributes of a file that do not change with its content: device, inode, birth."""
    return facts.device, facts.inode, facts.birth


def inode_hash(facts: Facts) -> int:
    """Return a hash of an inode. Two inodes with the same hash are treated as one file, which does no harm."""
    return hash(inode_of(facts))


@frozen
class Code:
    """A version of a program's executable or of the script that it ran; `installed`: the executable interprets a
    script."""

    version: str
    file: str
    path: bytes
    facts: Facts
    installed: bool = False


@frozen
class ProgramFacts:
    """The program of a process: its IRI, label and path, and the known code that ran (the script, if any, then the
    executable). The first code is the program's plan."""

    iri: str
    label: str
    path: bytes
    code: tuple[Code, ...] = ()

    @property
    def plan(self) -> Code | None:
        """The version of the program itself; None where it is not known."""
        return self.code[0] if self.code else None


@plain(slots=True)
class Input:
    """A version that a process read, with the moments of the first and the last read."""

    process: Process
    version: str
    first: int
    last: int
    noise: bool = False


@plain(slots=True)
class Span:
    """The writes of one opening (or call) to an inode, from `first` to `last`; `end` is its close or the last known
    moment.

    `truncated` is when it emptied the file. `final` is the file's state at the end, where it was observed. `sources`
    are the versions that the kernel alone copied from (`copied_only`: nothing else was written). `mapped`: written
    through a shared writable map. `by_the_way`: not a product of the process, so it does not end a phase. `content` is
    when it first wrote content (0: at `first`), not when it created or emptied the file. `clock_error` is by how much
    moments of other hosts may be out of order with these (ns). A possible span that is not `sure` counts only where no
    other process wrote.
    """

    process: Process
    inode: tuple[str, int, int]
    first: int
    last: int
    end: int
    truncated: int | None = None
    final: Facts | None = None
    opening: Opening | None = None
    sources: Sequence[str] = ()
    copied_only: bool = False
    mapped: bool = False
    by_the_way: bool = False
    clock_error: int = 0
    content: int = 0
    sure: bool = True

    @property
    def wrote_content(self) -> bool:
        """Whether it wrote content, and did not only create or empty the file (as a shell does for its child)."""
        return self.truncated is None or self.last > self.truncated

    def saw(self, version: Version) -> bool:
        """Return whether the version is the state that this span left, by the observation at its end."""
        key = self.final and (self.final.mtime, self.final.size)
        return key == (version.facts.mtime, version.facts.size) and version.since <= self.last < version.until

    def encloses(self, version: Version) -> bool:
        """Return whether the version's mtime is within this span and the version did not exist before the span.

        The kernel's clock for mtimes may lag by a tick, or have a resolution of one second.
        """
        early = self.first - self.clock_error - (SECOND if version.facts.mtime % SECOND == 0 else TICK)
        mtime = version.facts.mtime - self.clock_error
        existed = self.first <= self.seen(version) and version.since <= self.last and self.first < version.until
        return early <= version.facts.mtime and mtime <= max(self.last, self.end) and existed

    def seen(self, version: Version) -> int:
        """Return the latest moment, by the clock of this span's process, at which the version was first observed."""
        return version.seen + (0 if version.host == self.process.host else self.clock_error)

    def wrote(self, version: Version, earliest: bool = False) -> int:
        """Return the moment at which this span had written a version: its last write, or for an intermediate version,
        a moment before the version was first observed.

        The kernel's clock for mtimes may lag by a tick, and the clocks of hosts differ: the result is the latest
        possible moment, or with `earliest` the earliest.
        """
        if self.saw(version):
            return self.last
        made = max(version.facts.mtime, self.first) + TICK
        if earliest:
            made, seen = made - self.clock_error, 2 * version.seen - self.seen(version)
        else:
            made, seen = made + self.clock_error, self.seen(version)
        return min(made, max(seen, self.first), self.last)


@plain(slots=True)
class Version:
    """A file version that a process used or made.

    `sightings` maps each (File IRI, path) under which it was observed to the first and last moment; `seen` is when it
    was first observed, on `host`. `retimed` are the versions with the same content under earlier times, each with the
    moment at which the times were set. Where several contents had one key, `since` and `until` bound this one. `begun`
    is when its maker first wrote content that no earlier version has.
    """

    iri: str
    facts: Facts
    noise: bool = True
    seen: int = 0
    sightings: dict[tuple[str, bytes], tuple[int, int]] = field(default_factory=dict)
    since: int = 0
    until: int = FOREVER
    sha256: str | None = None
    metadata: Mapping[str, str] = MappingProxyType({})
    generated_by: str | None = None
    attributed_to: str | None = None
    revision_of: tuple[str, ...] = ()
    without: dict[str, None] | None = None  # objects of the previous version that were deleted or moved
    retimed: Sequence[tuple[int, str]] = ()
    maker: tuple[Process, int] | None = None  # the process that generated it, and when
    host: str = ""
    begun: int = FOREVER
    member: Membership | None = None  # the package that it belongs to

    def name(self, file: str, path: bytes, moment: int) -> None:
        """Record a name (File IRI, path) that the version had at a moment."""
        first, last = self.sightings.get((file, path), (moment, moment))
        self.sightings[file, path] = min(first, moment), max(last, moment)

    @property
    def names(self) -> dict[str, bytes]:
        """The path by File IRI of each name of the version."""
        return dict(self.sightings.keys())

    @property
    def last_name(self) -> bytes:
        """The path under which it was last observed; empty where it had none."""
        return max(((last, path) for (_, path), (_, last) in self.sightings.items()), default=(0, b""))[1]

    def part(self, iri: str, since: int, until: int) -> Version:
        """Return the part of this version that existed from `since` to `until`, as a version of its own."""
        times = {name: seen for name, seen in self.sightings.items() if seen[0] < until and seen[1] >= since}
        part = Version(iri, self.facts, self.noise, max(self.seen, since), times or dict(self.sightings))
        part.host = self.host
        part.since, part.until = since, until
        return part


@plain(slots=True)
class MemberVersion:
    """An object of a file version, or its attribute `name`: its generating phase, and its ties to other objects.

    `file` is the version's IRI; `record` is the trace's record of the object. The ties are the earlier object that it
    kept content of (`revision_of`), the target of a link (`leads_to`) and the sources of a virtual dataset (`shows`).
    """

    iri: str
    file: str
    kind: str
    path: bytes
    name: bytes | None
    record: Record
    noise: bool = False
    generated_by: str | None = None
    program: str | None = None
    revision_of: dict[str, None] = field(default_factory=dict)
    leads_to: dict[str, None] = field(default_factory=dict)
    shows: dict[str, None] = field(default_factory=dict)


@plain(slots=True)
class Phase:
    """A time interval of a process, with the entities that it used and the phase that it carries on or was launched
    by.

    `continued`: the process only forked in between and wrote nothing, so the inputs of the earlier phase are also
    inputs of this one.
    """

    iri: str
    process: Process
    start: int
    end: int
    used: dict[str, None] = field(default_factory=dict)
    continued: bool = False
    carried_from: str | None = None
    launched_by: str | None = None
    joined: dict[str, None] = field(default_factory=dict)  # the last phases of the Tasks that ended in it


@plain(slots=True)
class Strand:
    """A Task as a process (`tasks`): the process that it was started in, and when it started and ended (ns since
    1970).

    At its start it has the data that `started_in` had when the Task was `submitted`. From its end on, the data that it
    read is in the memory of `ended_in`, unless it is a framework's task, `sealed` (`task_results`).
    """

    process: Process
    started_in: Process
    started: int
    ended: int
    ended_in: Process
    submitted: int
    sealed: bool = False
    received: int = 0  # when the result of a call in a thread was received; 0: never, or its end

    @property
    def known_at(self) -> list[int]:
        """The moments from which its data is in the memory of others: its end or the receipt of its result, and the end
        of the activities it started, if later."""
        late, first = self.process.ended, self.received or self.ended
        return [first, late] if late > first else [first]


@plain(slots=True)
class Copy:
    """A version that the kernel alone made from its sources, in a program that a phase launched."""

    iri: str
    process: Process
    start: int
    end: int
    used: Sequence[str]
    launched_by: str | None = None


@plain(slots=True)
class Segment:
    """The data that one phase wrote into a pipe, a connection or memory (`kind`: Pipe, Socket, Memory); `noise`: an
    answer of a system program. A mixture of others has no phase and program: these are its `parts`."""

    iri: str
    channel: str
    generated_by: str
    program: str
    path: bytes | None
    first: int
    last: int
    kind: str = "Pipe"
    parts: Sequence[str] = ()
    noise: bool = False


class Contents(Protocol):
    """Reads the files of a run after it."""

    def read_values(self, trace: Trace, conclusions: Conclusions, role: str) -> None:
        """Add the values of files to `Trace.contents`: of those that processes read (`role` is `parameters`), or of
        those that they made (`metrics`)."""

    def read_versions(self, trace: Trace, conclusions: Conclusions) -> None:
        """Add the missing hashes of the described versions to `Trace.hashes`, and their metadata to
        `Trace.contents`."""


@plain()
class Conclusions:
    """All conclusions from the facts of a run; keys are IRIs.

    `parts` maps a key that several contents share to their versions, in the order of time.
    """

    programs: dict[str, ProgramFacts]
    inputs: dict[str, list[Input]] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)
    held: Sequence[Held] = ()  # openings that unwatched programs may have inherited
    possible: list[tuple[Span, str]] = field(default_factory=list)  # spans of such programs, with their names
    versions: dict[str, Version] = field(default_factory=dict)
    parts: dict[str, list[Version]] = field(default_factory=dict)
    phases: dict[str, list[Phase]] = field(default_factory=dict)
    contributions: list[Version] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    # Opening → (the channel that it writes into, the channel that it reads from); empty where that is no data.
    channels: dict[str, tuple[str, str]] = field(default_factory=dict)
    aliases: set[tuple[str, str]] = field(default_factory=set)  # (a channel's name in another run, here)
    gaps: list[tuple[str, str, str]] = field(default_factory=list)
    finished: dict[str, tuple[int, ...]] = field(default_factory=dict)  # process → when it finished an output
    forks: dict[str, tuple[Process, int]] = field(default_factory=dict)  # process → (its parent, when it was forked)
    strands: dict[str, Strand] = field(default_factory=dict)  # Task → its strand
    results: dict[str, Result] = field(default_factory=dict)  # of tasks, by IRI, if used
    submissions: dict[str, Submission] = field(default_factory=dict)  # strand of a framework's task → its submission
    task_starts: dict[str, list[int]] = field(default_factory=dict)  # process → when Tasks started in it
    joins: dict[str, list[int]] = field(default_factory=dict)  # process → when Tasks with inputs ended in it
    finer: dict[str, list[Phase]] = field(default_factory=dict)  # process → its finer phases (by objects)
    made_in: dict[str, str] = field(default_factory=dict)  # entity → the finer phase that made it
    members: dict[str, MemberVersion] = field(default_factory=dict)
    read_as: dict[str, str] = field(default_factory=dict)  # a process's object → the version read
    made_as: dict[str, str] = field(default_factory=dict)  # … → the version that it made
    shown: dict[tuple[str, str], None] = field(default_factory=dict)  # (version, version that it maps in part)
    declared: DeclaredFacts = field(default_factory=DeclaredFacts)
    known: set[str] = field(default_factory=set)  # versions with recorded changes of the objects inside
    elsewhere: set[str] = field(default_factory=set)  # versions that another partition of the run describes
    clocks: Clocks = field(default_factory=Clocks)
    copied: dict[str, int] = field(default_factory=dict)  # process → the number of its last copy
    # Of files about which conclusions are drawn before those about the processes (`shared_inodes`): their inodes (as
    # hashes); when each process finished outputs that others read; contribution → its version; the ranks that only
    # took part in creating an object.
    separate: frozenset[int] = frozenset()
    seen: dict[str, set[int]] = field(default_factory=dict)
    owners: Mapping[str, str] = field(default_factory=dict)
    took_part: frozenset[str] = frozenset()

    # Of lone files (`trace.lone`): when each process read and wrote them; which files are noise; the latest moment at
    # which each process may have written.
    lone: Mapping[str, Moments] = field(default_factory=dict)
    noise: Noise | None = None
    ends: Mapping[str, int] = field(default_factory=dict)
    exited: frozenset[str] = frozenset()  # the programs that ended with an exit code
    contents: Contents | None = None  # reads files that were not read before

    def copy_iri(self, process: Process) -> str:
        """Return the IRI of the next copy that a process made."""
        number = self.copied[process.iri] = self.copied.get(process.iri, -1) + 1
        return f"{process.iri}copy/{number}"

    def is_separate(self, facts: Facts | None) -> bool:
        """Return whether the conclusions about a file are drawn before those about the processes."""
        return bool(self.separate) and facts is not None and inode_hash(facts) in self.separate

    def described(self) -> list[Version]:
        """Return the versions that this partition describes."""
        return [version for iri, version in self.versions.items() if iri not in self.elsewhere]

    def member(self, file: str, kind: str, path: bytes, name: bytes | None, record: Record) -> MemberVersion:
        """Return an object of a version, and add it where it is new; the more precise record replaces the other."""
        iri = member_iri(file, path, name)
        found = self.members.get(iri)
        if found is None:
            found = self.members[iri] = MemberVersion(iri, file, kind, path, name, record)
        elif record and (not found.record or record.get("created") == "true"):
            found.kind, found.record = kind, record
        return found

    def acting(self, process: Process, task: str) -> Process:
        """Return the strand of a Task, or the process itself for a call outside of all Tasks."""
        strand = self.strands.get(task)
        return strand.process if strand else process

    def finer_at(self, process: Process, moment: int) -> Phase:
        """Return the finer phase of a process at a moment."""
        phases = self.finer[process.iri]
        return phases[max(0, bisect_right(phases, moment, key=lambda phase: phase.start) - 1)]

    def phase_at(self, process: Process, moment: int) -> Phase:
        """Return the phase of a process at a moment (its first before it started, its last after it ended)."""
        return self.phases[process.iri][self.number_at(process, moment)]

    def number_at(self, process: Process, moment: int) -> int:
        """Return the number of that phase within the process."""
        return max(0, bisect_right(self.phases[process.iri], moment, key=lambda phase: phase.start) - 1)

    def version_at(self, iri: str, moment: int) -> Version | None:
        """Return the version that a key denoted at a moment; None for an unknown key."""
        parts = self.parts.get(iri)
        if parts is None:
            return self.versions.get(iri)
        return next((part for part in parts if moment < part.until), parts[-1])
