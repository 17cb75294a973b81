"""What lineage speaks of: programs, inputs, write spans, versions, phases, copies, pipe segments. Times in ns since
1970."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from provio.base.records import field, plain
from provio.lineage.clocks import Clocks
from provio.lineage.declared import Sayings
from provio.lineage.identity import member_iri
from provio.system.statx import Facts, Record
from provio.trace.facts import Opening, Process

if TYPE_CHECKING:
    from provio.lineage.code import Noise
    from provio.trace.lone import Moments

# A file's times are stamped by a clock that may lag behind ours by a tick of the kernel (1 to 10 ms, more if busy).
TICK = 20_000_000
SECOND = 1_000_000_000
FOREVER = 1 << 63


def inode_of(facts: Facts) -> tuple[str, int, int]:
    """Return what stays the same of a file while its content changes."""
    return facts.device, facts.inode, facts.birth


def inode_hash(facts: Facts) -> int:
    """Return a number for an inode: two that have one by chance are taken for one file, which does no harm."""
    return hash(inode_of(facts))


@plain(frozen=True)
class Code:
    """A version of a program's file, or of the script that it ran; `installed`: an interpreter of a script."""

    version: str
    file: str
    path: bytes
    facts: Facts
    installed: bool = False


@plain(frozen=True)
class ProgramFacts:
    """The program of a process: its IRI, a label, its path, and what is known of the code that ran: the script, if any,
    then the executable. The first is its plan."""

    iri: str
    label: str
    path: bytes
    code: tuple[Code, ...] = ()

    @property
    def plan(self) -> Code | None:
        """The program's own version, where it is known."""
        return self.code[0] if self.code else None


@plain(slots=True)
class Input:
    """A version that a process read, first and last."""

    process: Process
    version: str
    first: int
    last: int
    noise: bool = False


@plain(slots=True)
class Span:
    """One opening's (or call's) writing on an inode, from `first` to `last`; `end` is its close, or the last known
    moment.

    `final` is the version at its end, where somebody saw it; `sources` are what it was copied from by the kernel alone;
    `mapped`: through a shared writable map; `by_the_way`: no product of the process, and so no end of what it takes in;
    `apart`: by how much moments of other hosts may be out of order with these.
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
    apart: int = 0

    @property
    def wrote_content(self) -> bool:
        """Wrote content, and did not only make or empty the file (as a shell does for its child)."""
        return self.truncated is None or self.last > self.truncated

    def saw(self, version: Version) -> bool:
        """Tell whether the version is what this span left, by its end."""
        key = self.final and (self.final.mtime, self.final.size)
        return key == (version.facts.mtime, version.facts.size) and version.since <= self.last < version.until

    def encloses(self, version: Version) -> bool:
        """Tell whether the version's time lies within the writing, and it was not there before; the kernel's clock for
        mtimes may lag by a tick, or be of whole seconds."""
        early = self.first - self.apart - (SECOND if version.facts.mtime % SECOND == 0 else TICK)
        mtime = version.facts.mtime - self.apart
        begun = self.first <= self.seen(version) and version.since <= self.last and self.first < version.until
        return early <= version.facts.mtime and mtime <= max(self.last, self.end) and begun

    def seen(self, version: Version) -> int:
        """Return when a version was first seen, at the latest, by this process's clock."""
        return version.seen + (0 if version.host == self.process.host else self.apart)

    def wrote(self, version: Version, earliest: bool = False) -> int:
        """Return the moment at which this span had written a version: at its end, or for one on the way, by the time
        somebody saw it; the kernel's clock for mtimes may lag by a tick, and those of hosts differ: it is the latest
        moment, or the `earliest`."""
        if self.saw(version):
            return self.last
        made = max(version.facts.mtime, self.first) + TICK
        if earliest:
            made, seen = made - self.apart, 2 * version.seen - self.seen(version)
        else:
            made, seen = made + self.apart, self.seen(version)
        return min(made, max(seen, self.first), self.last)


@plain(slots=True)
class Version:
    """A file version that somebody used or made.

    `sightings` are the (File IRI, path) it was seen under, each with the first and last moment; `seen` is when it was
    first seen, on `host`. `retimed` are the versions whose content this is, since their times were set, and when that
    was. Where several contents had one key, `since` and `until` bound this one's.
    """

    iri: str
    facts: Facts
    noise: bool = True
    seen: int = 0
    sightings: dict[tuple[str, bytes], tuple[int, int]] = field(default_factory=dict)
    since: int = 0
    until: int = FOREVER
    sha256: str | None = None
    generated_by: str | None = None
    attributed_to: str | None = None
    revision_of: tuple[str, ...] = ()
    without: dict[str, None] | None = None  # objects of the version before that were deleted or moved
    retimed: Sequence[tuple[int, str]] = ()
    maker: tuple[Process, int] | None = None  # whose phase generated it, and at which moment
    host: str = ""

    def name(self, file: str, path: bytes, moment: int) -> None:
        """Note a name (File IRI, path) that the version had at a moment."""
        first, last = self.sightings.get((file, path), (moment, moment))
        self.sightings[file, path] = min(first, moment), max(last, moment)

    @property
    def names(self) -> dict[str, bytes]:
        """The path of each File it was."""
        return dict(self.sightings.keys())

    @property
    def last_name(self) -> bytes:
        """The path it was last seen under; empty where it had none."""
        return max(((last, path) for (_, path), (_, last) in self.sightings.items()), default=(0, b""))[1]

    def part(self, iri: str, since: int, until: int) -> Version:
        """Return what this was in the time from `since` to `until`, as a version of its own."""
        times = {name: seen for name, seen in self.sightings.items() if seen[0] < until and seen[1] >= since}
        part = Version(iri, self.facts, self.noise, max(self.seen, since), times or dict(self.sightings))
        part.host = self.host
        part.since, part.until = since, until
        return part


@plain(slots=True)
class MemberVersion:
    """An object of a file version, or an attribute of one (`name`): who made it, and what it kept, leads to, or shows.

    `file` is the version's IRI; `record` what the trace says of the object.
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
    """A stretch of a process: what it used, and which phase it carries on or was launched by.

    `continued`: nothing was written between, only forked, so what the earlier phase used is this one's own input too.
    """

    iri: str
    process: Process
    start: int
    end: int
    used: dict[str, None] = field(default_factory=dict)
    continued: bool = False
    carried_from: str | None = None
    launched_by: str | None = None
    joined: dict[str, None] = field(default_factory=dict)  # the last phases of Tasks that ended in it


@plain(slots=True)
class Strand:
    """A Task as a process (`tasks`): what it was begun in, and when it began and ended (ns since 1970).

    What it took in is in the memory of `ended_in` from its end on.
    """

    process: Process
    begun_in: Process
    started: int
    ended: int
    ended_in: Process

    @property
    def known_at(self) -> list[int]:
        """When what it took in is in memory for others: at its end, and when what it had set going came to one."""
        late = self.process.ended
        return [self.ended, late] if late > self.ended else [self.ended]


@plain(slots=True)
class Copy:
    """A version made from its sources by the kernel alone, in a program that a phase launched."""

    iri: str
    process: Process
    start: int
    end: int
    used: Sequence[str]
    launched_by: str | None = None


@plain(slots=True)
class Segment:
    """What one phase wrote into a pipe or connection (`kind`: Pipe or Socket); `noise`: an answer of the system's."""

    iri: str
    channel: str
    generated_by: str
    program: str
    path: bytes | None
    first: int
    last: int
    kind: str = "Pipe"
    noise: bool = False


@plain()
class Conclusions:
    """All that follows from the facts of a run; keys are IRIs.

    `parts` are the versions of which one key cannot tell which is meant, by that key and in the order of time.
    """

    programs: dict[str, ProgramFacts]
    inputs: dict[str, list[Input]] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)
    versions: dict[str, Version] = field(default_factory=dict)
    parts: dict[str, list[Version]] = field(default_factory=dict)
    phases: dict[str, list[Phase]] = field(default_factory=dict)
    contributions: list[Version] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    # Of each opening what it writes into, and what it reads from; empty where that is no data.
    channels: dict[str, tuple[str, str]] = field(default_factory=dict)
    aliases: set[tuple[str, str]] = field(default_factory=set)  # (a channel as another run may name it, as we do)
    gaps: list[tuple[str, str, str]] = field(default_factory=list)
    finished: dict[str, tuple[int, ...]] = field(default_factory=dict)  # process → when it finished some output
    forks: dict[str, tuple[Process, int]] = field(default_factory=dict)  # process → whose fork it is, and when
    strands: dict[str, Strand] = field(default_factory=dict)  # Task → what it is to the data
    begun: dict[str, list[int]] = field(default_factory=dict)  # process → when Tasks began in it
    joins: dict[str, list[int]] = field(default_factory=dict)  # process → when such ended as had taken something in
    finer: dict[str, list[Phase]] = field(default_factory=dict)  # process → its phases as to objects inside files
    made_in: dict[str, str] = field(default_factory=dict)  # what a phase generated → the finer phase
    members: dict[str, MemberVersion] = field(default_factory=dict)
    read_as: dict[str, str] = field(default_factory=dict)  # an object as a process met it → what it read of it
    made_as: dict[str, str] = field(default_factory=dict)  # and what it made of it
    shown: dict[tuple[str, str], None] = field(default_factory=dict)  # (a version, another of which it shows a part)
    said: Sayings = field(default_factory=Sayings)
    known: set[str] = field(default_factory=set)  # versions whose maker said what it did to the objects inside
    elsewhere: set[str] = field(default_factory=set)  # versions that are told with another part of the run
    clocks: Clocks = field(default_factory=Clocks)
    copied: dict[str, int] = field(default_factory=dict)  # process → how many copies it has
    # Of files that are concluded from before the processes are (`shared`): their inodes (by hash); when a process had
    # finished what others read; whose version a contribution is; which versions are told here, of which others tell who
    # made them; which ranks only took part in creating an object.
    apart: frozenset[int] = frozenset()
    seen: dict[str, set[int]] = field(default_factory=dict)
    owners: Mapping[str, str] = field(default_factory=dict)
    contributed: set[str] = field(default_factory=set)
    took_part: frozenset[str] = frozenset()

    # Of lone files (`lone`): when each process read and wrote them; what is noise; until when each may have written.
    lone: Mapping[str, Moments] = field(default_factory=dict)
    noise: Noise | None = None
    ends: Mapping[str, int] = field(default_factory=dict)

    def copy_iri(self, process: Process) -> str:
        """Return the IRI of the next copy that a process made."""
        number = self.copied[process.iri] = self.copied.get(process.iri, -1) + 1
        return f"{process.iri}copy/{number}"

    def is_apart(self, facts: Facts | None) -> bool:
        """Tell whether a file is concluded from before the processes are."""
        return bool(self.apart) and facts is not None and inode_hash(facts) in self.apart

    def told(self) -> list[Version]:
        """Return the versions that are told here."""
        return [version for iri, version in self.versions.items() if iri not in self.elsewhere]

    def member(self, file: str, kind: str, path: bytes, name: bytes | None, record: Record) -> MemberVersion:
        """Return an object of a version, noted where it was not; what is known of it more precisely counts."""
        iri = member_iri(file, path, name)
        found = self.members.get(iri)
        if found is None:
            found = self.members[iri] = MemberVersion(iri, file, kind, path, name, record)
        elif record and (not found.record or record.get("created") == "true"):
            found.kind, found.record = kind, record
        return found

    def acting(self, process: Process, task: str) -> Process:
        """Return the strand of a Task, or the process itself where a call was made in none."""
        strand = self.strands.get(task)
        return strand.process if strand else process

    def finer_at(self, process: Process, moment: int) -> Phase:
        """Return the finer phase a process was in at a moment."""
        phases = self.finer[process.iri]
        return phases[max(0, bisect_right(phases, moment, key=lambda phase: phase.start) - 1)]

    def phase_at(self, process: Process, moment: int) -> Phase:
        """Return the phase a process was in at a moment (its first before it began, its last after it ended)."""
        return self.phases[process.iri][self.number_at(process, moment)]

    def number_at(self, process: Process, moment: int) -> int:
        """Return which of its phases that is."""
        return max(0, bisect_right(self.phases[process.iri], moment, key=lambda phase: phase.start) - 1)

    def version_at(self, iri: str, moment: int) -> Version | None:
        """Return the version that a key meant at a moment."""
        parts = self.parts.get(iri)
        if parts is None:
            return self.versions.get(iri)
        return next((part for part in parts if moment < part.until), parts[-1])
