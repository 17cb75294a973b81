"""What figures are made of: I/O activities, and the runs, processes, threads and files that group them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property

from provio.plain import field, plain
from provio.stats.activity import Activity, alike
from provio.vocab import RUN_BASE

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
    going: bool = False

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
