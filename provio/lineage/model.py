"""What lineage speaks of: programs, inputs, write spans, versions, phases, copies, pipe segments. Times in ns since
1970."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from provio.facts import Facts, Opening, Process

# A file's times are stamped by a clock that may lag behind ours by a tick of the kernel (1 to 10 ms, more if busy).
TICK = 20_000_000


@dataclass(frozen=True)
class Code:
    """A version of a program's file, or of the script that it ran; `installed`: an interpreter of a script."""

    version: str
    file: str
    path: bytes
    facts: Facts
    installed: bool = False


@dataclass(frozen=True)
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


@dataclass(slots=True)
class Input:
    """A version that a process read, first and last."""

    process: Process
    version: str
    first: int
    last: int
    noise: bool = False


@dataclass(slots=True)
class Span:
    """One opening's (or call's) writing on an inode, from `first` to `last`; `end` is its close, or the last known
    moment.

    `final` is the version at its end, where somebody saw it; `sources` are what it was copied from by the kernel alone.
    """

    process: Process
    inode: tuple[str, int, int]
    first: int
    last: int
    end: int
    truncated: int | None = None
    final: Facts | None = None
    opening: Opening | None = None
    sources: list[str] = field(default_factory=list)
    copied_only: bool = False

    @property
    def wrote_content(self) -> bool:
        """Wrote content, and did not only make or empty the file (as a shell does for its child)."""
        return self.truncated is None or self.last > self.truncated

    def wrote(self, version: Version) -> int:
        """Return the moment at which this span had written a version: at its end, or for one on the way, by the time
        somebody saw it; the kernel's clock for mtimes may lag by a tick."""
        facts = version.facts
        if self.final and (self.final.mtime, self.final.size) == (facts.mtime, facts.size):
            return self.last
        return min(max(facts.mtime, self.first) + TICK, max(version.seen, self.first), self.last)


@dataclass(slots=True)
class Version:
    """A file version that somebody used or made.

    `names` are the (File IRI, path) it was seen under, `last_name` the last of them, `seen` when it was first seen.
    """

    iri: str
    facts: Facts
    names: dict[str, bytes] = field(default_factory=dict)
    last_name: tuple[int, bytes] = (0, b"")
    noise: bool = True
    seen: int = 0
    sha256: str | None = None
    generated_by: str | None = None
    attributed_to: set[str] = field(default_factory=set)
    revision_of: list[str] = field(default_factory=list)
    alternate_of: list[str] = field(default_factory=list)

    def name(self, file: str, path: bytes, moment: int) -> None:
        """Note a name (File IRI, path) that the version had at a moment."""
        self.names[file] = path
        self.last_name = max(self.last_name, (moment, path))


@dataclass(slots=True)
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


@dataclass(slots=True)
class Copy:
    """A version made from its sources by the kernel alone, in a program that a phase launched."""

    iri: str
    process: Process
    start: int
    end: int
    used: list[str]
    launched_by: str | None = None


@dataclass(slots=True)
class Segment:
    """What one phase wrote into a pipe or connection (`kind`: Pipe or Socket)."""

    iri: str
    channel: str
    generated_by: str
    program: str
    path: bytes | None
    first: int
    last: int
    kind: str = "Pipe"


@dataclass
class Conclusions:
    """All that follows from the facts of a run; keys are IRIs."""

    programs: dict[str, ProgramFacts]
    inputs: dict[str, list[Input]] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)
    versions: dict[str, Version] = field(default_factory=dict)
    phases: dict[str, list[Phase]] = field(default_factory=dict)
    contributions: list[Version] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    channels: dict[str, tuple[str, str]] = field(default_factory=dict)  # opening → what it writes into, and reads from
    aliases: set[tuple[str, str]] = field(default_factory=set)  # (a channel as another run may name it, as we do)
    gaps: list[tuple[str, str, str]] = field(default_factory=list)

    def phase_at(self, process: Process, moment: int) -> Phase:
        """Return the phase a process was in at a moment (its first before it began, its last after it ended)."""
        return self.phases[process.iri][self.number_at(process, moment)]

    def number_at(self, process: Process, moment: int) -> int:
        """Return which of its phases that is."""
        return max(0, bisect_right(self.phases[process.iri], moment, key=lambda phase: phase.start) - 1)
