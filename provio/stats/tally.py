"""Sums of I/O activities, their groups, and their rows for output. A figure is None if nothing of it was recorded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from provio.ask.document import command_line
from provio.base.records import plain
from provio.stats.activity import PIPE, SIZES, SOCKET, Activity, Process, Recorded, alike

if TYPE_CHECKING:
    from provio.stats import Figures

# The largest access of each of the ten sizes, in words.
SIZE_NAMES = (
    "100 B", "1 KiB", "10 KiB", "100 KiB", "1 MiB", "4 MiB", "10 MiB", "100 MiB", "1 GiB", "more",
)  # fmt: skip


class Tally:
    """The sums of some activities. Failed calls are counted only in `errors`."""

    def __init__(self, activities: Iterable[Activity] = ()) -> None:
        self._sums: dict[str, int] = {}
        self._lacks: set[str] = set()
        self.longest: int | None = None
        self.sizes = {"Read": [0] * SIZES, "Write": [0] * SIZES}
        self.errors = self.jumped = 0
        for some in alike(activities):
            self.add(some)

    def add(self, some: Sequence[Activity], mirrored: bool = False) -> None:
        """Add the figures of activities that are `alike`.

        The writing side of a copy in the kernel adds only its bytes, unless `mirrored`: if the two sides are in
        different groups, each has the calls and the time.
        """
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
        writes); None if there were values to add, but all are unknown."""
        return self._sums.get(name, None if name in self._lacks else 0)

    def partly(self, name: str) -> bool:
        """Return whether some of the values of a sum are unknown."""
        return name in self._lacks

    @property
    def bytes(self) -> int | None:
        """All bytes that were moved."""
        read, written = self.of("bytes_read"), self.of("bytes_written")
        return None if read is None and written is None else (read or 0) + (written or 0)

    @property
    def _bytes_in_calls(self) -> int | None:
        """The bytes that calls moved before they returned."""
        moved = self.bytes
        return None if moved is None else moved - (self.of("bytes_later") or 0)

    @property
    def bandwidth(self) -> int | None:
        """Bytes per second of the time in reads and writes alone."""
        moved, took = self._bytes_in_calls, self.of("moving")
        return moved * 1_000_000_000 // took if moved and took and not self.partly("moving") else None

    @property
    def mean_size(self) -> int | None:
        """Mean bytes of the reads and writes that moved any."""
        calls = sum(map(sum, self.sizes.values()))
        moved = self._bytes_in_calls
        return moved // calls if calls and moved is not None else None

    @property
    def consecutive(self) -> float | None:
        """The share of the bytes of calls that started at the end of the previous call."""
        moved = self._bytes_in_calls
        return 1 - self.jumped / moved if moved else None


# Tallies by group.


Value = str | int | bool | None
Key = tuple[Value, ...]
Keyed = Callable[[Recorded, Activity], Key]


@plain()
class Group:
    """The tally of a layer's activities that have the `key` in common; `columns` names its parts."""

    key: Key
    layer: str
    tally: Tally


def key_columns(ways: Sequence[str]) -> list[str]:
    """Return the columns that name the groups of these groupings together."""
    return list(dict.fromkeys(name for way in ways for name in BY[way]))


def by(recorded: Recorded, ways: Sequence[str]) -> list[Group]:
    """Return a group for each combination of values of these groupings, the longest time first, then the most bytes."""
    names, keyed = key_columns(ways), [(BY[way], _KEYS[way]) for way in ways]
    mirrored = not {"file", "operation"}.isdisjoint(ways)  # each side of a copy in the kernel counts as a call
    found: dict[tuple[Key, str], Tally] = {}
    for some in recorded.alike:
        for key, same in _keyed(recorded, some, keyed, names, not {"file", "task"}.isdisjoint(ways)):
            found.setdefault((key, some[0].layer), Tally()).add(same, mirrored)
    groups = [Group(key, layer, tally) for (key, layer), tally in found.items()]
    return sorted(groups, key=lambda group: (
        -(group.tally.of("nanoseconds") or 0), -(group.tally.bytes or 0), str(group.key), group.layer))  # fmt: skip


def _keyed(
    recorded: Recorded, some: list[Activity], keyed: Sequence[tuple[tuple[str, ...], Keyed]], names: list[str],
    one_by_one: bool,
) -> Iterable[tuple[Key, list[Activity]]]:  # fmt: skip
    """Return activities that are `alike` by their key; they differ only in their file and Task."""
    if not one_by_one:
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


def file_of(recorded: Recorded, target: str | None) -> tuple[str | None, str]:
    """Return the path and the kind of an activity's target: file, system, pipe, socket, messages, other."""
    file = recorded.file(target)
    if file:
        return file.path, "system" if file.system else "file"
    target = target or ""
    kinds = {PIPE: "pipe", SOCKET: "socket"}
    kind = next((kind for start, kind in kinds.items() if target.startswith(start)), "other")
    if target.endswith("/messages"):
        kind = "messages"
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


# The groupings of figures, each with the columns that name a group.
BY: Final[dict[str, tuple[str, ...]]] = {
    "operation": ("operation",), "layer": (), "api": ("api",), "file": ("file", "kind"),
    "process": ("process", "host", "pid", "command"), "thread": ("thread", "pid", "tid", "program"),
    "task": ("task",), "rank": ("rank",), "host": ("host",), "program": ("program",),
    "user": ("user",), "run": ("run",),
}  # fmt: skip
_KEYS: Final[dict[str, Keyed]] = {
    "operation": lambda _, one: (operation(one.kind),),
    "layer": lambda _, __: (),
    "api": lambda _, one: (one.api,),
    "file": lambda recorded, one: file_of(recorded, one.target),
    "process": _by_process,
    "thread": _by_thread,
    "task": lambda recorded, one: (recorded.tasks.get(one.iri.removesuffix("/open")),),
    "rank": _of_process("rank"),
    "host": _of_process("host"),
    "program": _of_process("program"),
    "user": _by_user,
    "run": lambda recorded, one: ((recorded.runs[one.run].id if one.run in recorded.runs else None),),
}


# Figures as rows of named columns, the same for every output format.

Cell = Value | float
Row = dict[str, Cell]

MEASURES = (
    "calls", "errors", "reads", "bytes_read", "writes", "bytes_written", "nanoseconds", "longest", "bytes_per_second",
    "mean_size", "consecutive",
)  # fmt: skip
SORTS: dict[str, Callable[[Tally], int]] = {
    "time": lambda one: one.of("nanoseconds") or 0,
    "calls": lambda one: one.of("calls") or 0,
    "bytes": lambda one: one.bytes or 0,
    "errors": lambda one: one.errors,
}
ALONE: dict[str, tuple[str, ...]] = {  # groupings that cannot be combined with others
    "size": ("layer", "up_to", "reads", "writes"),
    "latency": (
        "api",
        "layer",
        "calls",
        "median",
        "percentile_95",
        "percentile_99",
        "longest",
        "consecutive",
        "forward",
        "backward",
    ),
    "bottleneck": ("rule", "where", "evidence", "remedy", "nanoseconds"),
}


def columns(ways: Sequence[str]) -> list[str]:
    """Return the columns of groupings: of some of `BY`, or one of `ALONE`."""
    return [*ALONE[ways[0]]] if ways[0] in ALONE else [*key_columns(ways), "layer", *MEASURES]


def rows(figures: Figures, ways: Sequence[str], sort: str = "time") -> list[Row]:
    """Return the rows of groupings."""
    if ways[0] == "size":
        return [row for group in figures.totals() for row in _sizes(group)]
    if ways[0] == "bottleneck":
        return [{name: getattr(one, name) for name in ALONE["bottleneck"]} for one in figures.bottlenecks()]
    names = key_columns(ways)
    return [_row(names, group) for group in sorted_groups(figures.by(*ways), sort)]


def sorted_groups(every: Sequence[Group], sort: str) -> list[Group]:
    """Return groups in the order of one of `SORTS`, the largest first, or by name."""
    if sort == "name":
        return sorted(every, key=_name)
    return sorted(every, key=lambda group: (-SORTS[sort](group.tally), _name(group)))


def _name(group: Group) -> str:
    return " ".join(f"{part:020}" if isinstance(part, int) else str(part or "") for part in (*group.key, group.layer))


def _row(names: list[str], group: Group) -> Row:
    tally = group.tally
    sums = ("calls", "reads", "bytes_read", "writes", "bytes_written", "nanoseconds")
    measures: Row = {
        **{name: tally.of(name) for name in sums},
        "errors": tally.errors, "longest": tally.longest, "bytes_per_second": tally.bandwidth,
        "mean_size": tally.mean_size,
        "consecutive": None if tally.consecutive is None else round(tally.consecutive, 4),
    }  # fmt: skip
    head: Row = dict(zip(names, group.key, strict=True))
    return head | {"layer": group.layer} | {name: measures[name] for name in MEASURES}


def _sizes(group: Group) -> list[Row]:
    reads, writes = group.tally.sizes["Read"], group.tally.sizes["Write"]
    if not any(reads) and not any(writes):
        return []
    return [
        {"layer": group.layer, "up_to": name, "reads": read, "writes": wrote}
        for name, read, wrote in zip(SIZE_NAMES, reads, writes, strict=True)
    ]
