"""Calls that the graph states in sums: many calls of a process in, one activity for all of them out.

- Messages between the processes of a framework, which move no data of the user (`provio.lineage.channels`).
  Their object is the Channel of all messages of the run.
- Files of the kernel (`/proc`, `/sys`): monitors of a framework or a library read them several times a second.
"""

from __future__ import annotations

from collections.abc import Hashable

from provio.base.records import field, plain
from provio.lineage.model import Version
from provio.trace.facts import Access, Opening, Process

OF_KERNEL = (b"/proc/", b"/sys/")
SIDES = (("Read", "read"), ("Write", "write"))


def is_of_kernel(opening: Opening, version: Version | None) -> bool:
    """Return whether an opening only read a file of the kernel, of which nothing but its reads is stated."""
    if version is None or not version.noise or not (opening.path or b"").startswith(OF_KERNEL):
        return False
    return all(one.first_read and not one.first_write and not one.count("count") for one in opening.accesses)


@plain(slots=True)
class Sum:
    """An activity: its IRI, class, process, thread (empty: several), function, object and moments (ns since 1970)."""

    iri: str
    kind: str
    process: Process
    thread: str
    api: str
    entity: str
    first: int
    last: int
    counters: dict[str, int] = field(default_factory=dict)


class SummedCalls:
    """The sums of one process after the other."""

    def __init__(self) -> None:
        self.known: dict[Hashable, Sum] = {}

    def add(self, key: Hashable, one: Sum) -> None:
        """Add calls to those of a key; the first ones name the activity."""
        known = self.known.setdefault(key, one)
        if known is one:
            return
        known.first, known.last = min(known.first, one.first), max(known.last, one.last)
        for name, value in one.counters.items():
            before = known.counters.get(name, 0)
            known.counters[name] = max(before, value) if name == "maxElapsed" else before + value

    def take(self) -> list[Sum]:
        """Return the sums, and begin again."""
        found, self.known = list(self.known.values()), {}
        for one in found:
            if one.counters.get("consecutiveBytes") == one.counters.get("bytes"):
                one.counters.pop("consecutiveBytes", None)
        return found


def counters(access: Access, side: str) -> dict[str, int]:
    """Return the counters of one side of an access, none implied, so that they can be added; empty at detail `file`."""
    counts = access.counts
    if side + "s" not in counts:
        return {}
    elapsed = access.count(side + "Elapsed")
    sizes = {f"size{number}": count for number, count in enumerate(access.sizes(side), start=1) if count}
    return {
        "count": access.count(side + "s"), "bytes": access.count(side + "Bytes"), "elapsed": elapsed,
        "maxElapsed": int(counts.get(side + "Longest", elapsed)), "consecutiveBytes": access.consecutive(side), **sizes,
    }  # fmt: skip
