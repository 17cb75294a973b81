"""What figures are made of: I/O activities, and the runs, processes, threads and files that group them."""

from __future__ import annotations

from collections import Counter

from provio.plain import field, plain
from provio.stats.activity import Activity
from provio.vocab import RUN_BASE

PIPE, SOCKET = "https://w3id.org/provio/pipe/", "https://w3id.org/provio/socket/"


@plain(slots=True)
class File:
    """A version of a file: its path, its bytes, when it was changed last."""

    path: str
    system: bool = False
    content: int = 0
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
    going: bool = False

    @property
    def id(self) -> str:
        """Its UUID."""
        return self.iri.removeprefix(RUN_BASE)


@plain()
class Recorded:
    """All that figures are made of; `files` by version, `gaps` how many each run has; versions that were `deleted`, and
    those of which a later one `kept` content."""

    activities: list[Activity] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)
    threads: dict[str, int] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)
    gaps: Counter[str] = field(default_factory=Counter)
    deleted: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)

    def file(self, activity: Activity) -> File | None:
        """The file that an activity touched, or that has the object inside that it touched."""
        target = activity.target
        if target is None:
            return None
        return self.files.get(target.partition("#")[0] if "#" in target else target)


def process_of(thread: str) -> str:
    """Return the IRI of a thread's process, which its own begins with."""
    return thread.rstrip("/").rpartition("/")[0] + "/"
