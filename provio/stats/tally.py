"""Sums of I/O activities: activities in, figures out, each of which is None where nothing of it was recorded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Final

from provio.ask.document import command_line
from provio.base.records import plain
from provio.stats.activity import PIPE, SIZES, SOCKET, Activity, Process, Recorded, alike

# The largest access of each of the ten sizes, in words.
SIZE_NAMES = (
    "100 B", "1 KiB", "10 KiB", "100 KiB", "1 MiB", "4 MiB", "10 MiB", "100 MiB", "1 GiB", "more",
)  # fmt: skip


class Tally:
    """What some activities come to. Failed calls are counted apart (`errors`) and nowhere else."""

    def __init__(self, activities: Iterable[Activity] = ()) -> None:
        self._sums: dict[str, int] = {}
        self._lacks: set[str] = set()
        self.longest: int | None = None
        self.sizes = {"Read": [0] * SIZES, "Write": [0] * SIZES}
        self.errors = self.jumped = 0
        for some in alike(activities):
            self.add(some)

    def add(self, some: Sequence[Activity], mirrored: bool = False) -> None:
        """Add what activities counted that are `alike`. Of a copy within the kernel the writing side adds its bytes
        alone, unless `mirrored`: where the two sides are told apart, each has the calls and the time."""
        one = some[0]
        if one.errors:
            self.errors += sum(failed.errors for failed in some)
            return
        own = mirrored or not one.mirror
        if own:
            self._sum(("calls",), [one.count for one in some])
            self._sum(("nanoseconds", "moving") if one.moves else ("nanoseconds",), [one.elapsed for one in some])
        if one.moves:
            self._move(some)
        elif one.hands_over:
            side = "bytes_read" if one.kind == "SubmitRead" else "bytes_written"
            self._sum((side, "bytes_later"), [one.bytes for one in some])

    def _move(self, some: Sequence[Activity]) -> None:
        kind = some[0].kind
        self._sum(("bytes_read" if kind == "Read" else "bytes_written",), [one.bytes for one in some])
        self._sum(("reads" if kind == "Read" else "writes",), [one.count for one in some])
        self.jumped += sum(one.jumped for one in some)
        counted = Counter(one.sizes for one in some) if len(some) > 1 else {some[0].sizes: 1}
        for sizes, times in counted.items():
            for place, number in enumerate(sizes or ()):
                self.sizes[kind][place] += number * times
        longest = [one.longest for one in some if one.longest is not None]
        if longest:
            self.longest = max([self.longest or 0, *longest])

    def _sum(self, names: Sequence[str], values: Sequence[int | None]) -> None:
        known = [value for value in values if value is not None]
        for name in names:
            if len(known) < len(values):
                self._lacks.add(name)
            if known:
                self._sums[name] = self._sums.get(name, 0) + sum(known)

    def join(self, other: Tally) -> None:
        """Add another tally."""
        for name, value in other._sums.items():
            self._sums[name] = self._sums.get(name, 0) + value
        self._lacks |= other._lacks
        self.errors, self.jumped = self.errors + other.errors, self.jumped + other.jumped
        if other.longest is not None:
            self.longest = max(self.longest or 0, other.longest)
        for kind, sizes in other.sizes.items():
            self.sizes[kind] = [one + more for one, more in zip(self.sizes[kind], sizes, strict=True)]

    def of(self, name: str) -> int | None:
        """Return a sum: calls, nanoseconds, reads, writes, bytes_read, bytes_written, moving (nanoseconds of reads and
        writes). None where there was something to add and nothing is known of it."""
        return self._sums.get(name, None if name in self._lacks else 0)

    def partly(self, name: str) -> bool:
        """Whether a sum lacks some of what there was to add."""
        return name in self._lacks

    @property
    def bytes(self) -> int | None:
        """All bytes that were moved."""
        read, written = self.of("bytes_read"), self.of("bytes_written")
        return None if read is None and written is None else (read or 0) + (written or 0)

    @property
    def _bytes_in_calls(self) -> int | None:
        """Of them, those that a call moved before it returned."""
        moved = self.bytes
        return None if moved is None else moved - (self.of("bytes_later") or 0)

    @property
    def bandwidth(self) -> int | None:
        """Bytes moved in a second of the reads and writes themselves, whatever else went on meanwhile."""
        moved, took = self._bytes_in_calls, self.of("moving")
        return moved * 1_000_000_000 // took if moved and took and not self.partly("moving") else None

    @property
    def mean_size(self) -> int | None:
        """Bytes of a read or write that moved any."""
        calls = sum(map(sum, self.sizes.values()))
        moved = self._bytes_in_calls
        return moved // calls if calls and moved is not None else None

    @property
    def consecutive(self) -> float | None:
        """The share of the bytes whose call began where the call before ended."""
        moved = self._bytes_in_calls
        return 1 - self.jumped / moved if moved else None


# Tallies by what I/O has in common: what was recorded and the name of a grouping in, groups out.


Value = str | int | bool | None
Key = tuple[Value, ...]
Keyed = Callable[[Recorded, Activity], Key]


@plain()
class Group:
    """The tally of a layer's activities that have the `key` in common; `columns` names its parts."""

    key: Key
    layer: str
    tally: Tally


def columns(ways: Sequence[str]) -> list[str]:
    """Return the columns that name the groups of these groupings together."""
    return list(dict.fromkeys(name for way in ways for name in BY[way]))


def by(recorded: Recorded, ways: Sequence[str]) -> list[Group]:
    """Return the groups of what has the same in all these groupings, the longest time first, then the most bytes."""
    names, keyed = columns(ways), [(BY[way], _KEYS[way]) for way in ways]
    mirrored = not {"file", "operation"}.isdisjoint(ways)  # each side of a copy within the kernel is a call of its own
    found: dict[tuple[Key, str], Tally] = {}
    for some in recorded.alike:
        for key, same in _keyed(recorded, some, keyed, names, "file" in ways):
            found.setdefault((key, some[0].layer), Tally()).add(same, mirrored)
    groups = [Group(key, layer, tally) for (key, layer), tally in found.items()]
    return sorted(groups, key=lambda group: (
        -(group.tally.of("nanoseconds") or 0), -(group.tally.bytes or 0), str(group.key), group.layer))  # fmt: skip


def _keyed(
    recorded: Recorded, some: list[Activity], keyed: Sequence[tuple[tuple[str, ...], Keyed]], names: list[str],
    by_file: bool,
) -> Iterable[tuple[Key, list[Activity]]]:  # fmt: skip
    """Activities that are `alike`, by their key: what they do not have in common is the file alone."""
    if not by_file:
        return [(_key(recorded, some[0], keyed, names), some)]
    found: dict[Key, list[Activity]] = {}
    for one in some:
        found.setdefault(_key(recorded, one, keyed, names), []).append(one)
    return found.items()


def _key(recorded: Recorded, one: Activity, keyed: Sequence[tuple[tuple[str, ...], Keyed]], names: list[str]) -> Key:
    if len(keyed) == 1:
        return keyed[0][1](recorded, one)
    values: dict[str, Value] = {}
    for own, key in keyed:
        values.update(zip(own, key(recorded, one), strict=True))
    return tuple(values[name] for name in names)


@cache  # there are some ten classes
def operation(kind: str) -> str:
    """Return a class of I/O activity in words: `set times`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).lower() if kind != "IOActivity" else "copy"


def what_file(recorded: Recorded, target: str | None) -> tuple[str | None, str]:
    """Return the path of what an activity touched, and what that is: file, system, pipe, socket, other."""
    file = recorded.file(target)
    if file:
        return file.path, "system" if file.system else "file"
    target = target or ""
    kind = "pipe" if target.startswith(PIPE) else "socket" if target.startswith(SOCKET) else "other"
    return None, kind


def _process(recorded: Recorded, one: Activity) -> Process | None:
    return recorded.processes.get(one.process or "")


def _of_process(*names: str) -> Callable[[Recorded, Activity], Key]:
    def key(recorded: Recorded, one: Activity) -> Key:
        process = _process(recorded, one)
        return tuple(getattr(process, name) if process else None for name in names)

    return key


def _by_process(recorded: Recorded, one: Activity) -> Key:
    process = _process(recorded, one)
    if process is None:
        return None, None, None, None
    argv = command_line({"iri": "", "type": "Process", "label": "", "argv": process.argv})
    return process.iri, process.host or None, process.pid or None, argv or process.program or None


def _by_thread(recorded: Recorded, one: Activity) -> Key:
    process = _process(recorded, one)
    tid = recorded.threads.get(one.thread or "")
    return one.thread, process.pid if process else None, tid, process.program if process else None


def _by_user(recorded: Recorded, one: Activity) -> Key:
    run = recorded.runs.get(one.run or "")
    return (run.user if run else None,)


# What figures can be grouped by: the columns that name a group.
BY: Final[dict[str, tuple[str, ...]]] = {
    "operation": ("operation",), "layer": (), "api": ("api",), "file": ("file", "kind"),
    "process": ("process", "host", "pid", "command"), "thread": ("thread", "pid", "tid", "program"),
    "rank": ("rank",), "host": ("host",), "program": ("program",), "user": ("user",), "run": ("run",),
}  # fmt: skip
_KEYS: Final[dict[str, Keyed]] = {
    "operation": lambda _, one: (operation(one.kind),),
    "layer": lambda _, __: (),
    "api": lambda _, one: (one.api,),
    "file": lambda recorded, one: what_file(recorded, one.target),
    "process": _by_process,
    "thread": _by_thread,
    "rank": _of_process("rank"),
    "host": _of_process("host"),
    "program": _of_process("program"),
    "user": _by_user,
    "run": lambda recorded, one: ((recorded.runs[one.run].id if one.run in recorded.runs else None),),
}
