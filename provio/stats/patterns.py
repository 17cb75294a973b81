"""Bottlenecks that the calls on one file show: what was recorded in, findings out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from provio.reports.text import binary, elapsed, plural
from provio.stats.activity import HDF5, Activity
from provio.stats.bottlenecks import Bottleneck
from provio.stats.groups import what_file
from provio.stats.recorded import Recorded
from provio.stats.tally import Tally

TINY_CALLS, TINY_SHARE = 1000, 0.5  # so many accesses of 1 KiB at most, and so large a part of all
ONE_BY_ONE = 16  # bytes of a mean access that is no more than a number or a character
UNBUFFERED = 100  # ns of a mean call: what a stream serves from its buffer takes a few
JUMPS, JUMPED_SHARE, JUMP_SIZE = 100, 0.5, 1 << 20  # so many calls, so large a part of the bytes, no larger calls
READ_AGAIN, READ_BYTES = 4, 4 << 20  # times its size, and so many bytes
SYNCS, SYNCS_TO_WRITES = 100, 0.1  # so many, and so many for each write
OPENED = 100  # times in one run

DOES = {"Read": ("reads", "read"), "Write": ("writes", "written")}


class Touched:
    """All of one kind that one program did to one file, and to what is inside it, in one run."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.processes: set[str | None] = set()

    def add(self, one: Activity) -> None:
        """Add an activity; a copy within the kernel is a call on either file."""
        self.tally.add(one, mirrored=True)
        self.processes.add(one.process)

    @property
    def time(self) -> int:
        """Nanoseconds of all calls, as far as they are known."""
        return self.tally.of("nanoseconds") or 0

    @property
    def calls(self) -> int:
        """Calls, as far as they are known."""
        return self.tally.of("calls") or 0


Key = tuple[str, ...]


def gathered(recorded: Recorded, kinds: Iterable[str], *, streams: bool | None = None) -> dict[Key, Touched]:
    """Return by (file, program, kind, layer, run) what was done; `streams`: only by what the C library buffers, or only
    by the kernel's own calls."""
    wanted, found = set(kinds), dict[Key, Touched]()
    for one in recorded.activities:
        if one.kind not in wanted or one.errors or (streams is not None and one.by_stream is not streams):
            continue
        process = recorded.processes.get(one.process or "")
        key = named(recorded, one), process.program if process else "", one.kind, one.layer, one.run or ""
        found.setdefault(key, Touched()).add(one)
    return found


def named(recorded: Recorded, one: Activity) -> str:
    """What a finding calls the file that an activity touched; of what is inside a file, that too."""
    path, kind = what_file(recorded, one)
    if path is None:
        return {"pipe": "a pipe", "socket": "a connection"}.get(kind, "what has no name")
    return path


def _where(key: Key) -> str:
    return f"{key[0]} ({key[1]})" if key[1] else key[0]


def tiny(recorded: Recorded) -> Iterator[Bottleneck]:
    """Many accesses of a kilobyte at most; of those of a few bytes `unbuffered` speaks."""
    for key, did in gathered(recorded, DOES, streams=False).items():
        sizes, mean = did.tally.sizes[key[2]], did.tally.mean_size or 0
        small, every = sum(sizes[:2]), sum(sizes)
        if small < TINY_CALLS or small < TINY_SHARE * every or (mean <= ONE_BY_ONE and key[3] != HDF5):
            continue
        remedy = (
            "select more of the dataset at once" if key[3] == HDF5 else "move more with each call: gather or buffer"
        )
        yield Bottleneck(
            "tiny accesses", _where(key),
            f"{small:,} of {every:,} {DOES[key[2]][0]} moved 1 KiB or less, {binary(mean)} in the mean, "
            f"in {elapsed(did.time)}", remedy, did.time,
        )  # fmt: skip


def unbuffered(recorded: Recorded) -> Iterator[Bottleneck]:
    """A few bytes at a time, and a call of the kernel's for each."""
    for streams in (False, True):
        for key, did in gathered(recorded, DOES, streams=streams).items():
            mean, calls = did.tally.mean_size, sum(did.tally.sizes[key[2]])
            served = streams and did.time < UNBUFFERED * calls
            if key[3] == HDF5 or calls < TINY_CALLS or mean is None or mean > ONE_BY_ONE or served:
                continue
            yield Bottleneck(
                "unbuffered", _where(key),
                f"{calls:,} {DOES[key[2]][0]} of {plural(mean, 'byte')} in the mean, in {elapsed(did.time)}",
                "let the stream have its buffer, or read and write blocks", did.time,
            )  # fmt: skip


def jumps(recorded: Recorded) -> Iterator[Bottleneck]:
    """Calls that begin elsewhere than where the one before ended."""
    for key, did in gathered(recorded, DOES).items():
        share, calls = 1 - (did.tally.consecutive or 1), sum(did.tally.sizes[key[2]])
        if key[3] == HDF5 or calls < JUMPS or share < JUMPED_SHARE or (did.tally.mean_size or 0) > JUMP_SIZE:
            continue
        yield Bottleneck(
            "seeks", _where(key),
            f"{share:.0%} of {binary(did.tally.bytes or 0)} {DOES[key[2]][1]} did not begin where the call before "
            f"ended: {calls:,} calls, {elapsed(did.time)}",
            "go through the file in the order in which it lies, or keep together what is used together", did.time,
        )  # fmt: skip


def again(recorded: Recorded) -> Iterator[Bottleneck]:
    """A file that was read several times over."""
    contents: dict[str, int] = {}
    for file in recorded.files.values():
        contents[file.path] = max(contents.get(file.path, 0), file.content)
    for (path, _), did in _of_runs(recorded, "Read").items():
        content, read = contents.get(path, 0), did.tally.bytes or 0
        if not content or read < READ_AGAIN * content or read < READ_BYTES:
            continue
        yield Bottleneck(
            "read again", path,
            f"{binary(read)} were read of its {binary(content)}, {read / content:.1f} times all of it, by "
            f"{plural(len(did.processes), 'process', 'processes')}, in {elapsed(did.time)}",
            "read it once and keep it" if len(did.processes) == 1 else "let one process read it and hand it on",
            did.time,
        )  # fmt: skip


def opens(recorded: Recorded) -> Iterator[Bottleneck]:
    """A file that was opened again and again."""
    for (path, _), did in _of_runs(recorded, "Open").items():
        if did.calls < OPENED:
            continue
        yield Bottleneck(
            "many opens", path,
            f"it was opened {did.calls:,} times by {plural(len(did.processes), 'process', 'processes')}, "
            f"in {elapsed(did.time)}",
            "keep it open" if len(did.processes) == 1 else "let fewer processes open it", did.time,
        )  # fmt: skip


def _of_runs(recorded: Recorded, kind: str) -> dict[tuple[str, str], Touched]:
    """What was done to each file that is not the system's, in each run, below HDF5."""
    found: dict[tuple[str, str], Touched] = {}
    for one in recorded.activities:
        file = recorded.file(one)
        if one.kind == kind and file and not file.system and not one.errors and one.layer != HDF5:
            found.setdefault((file.path, one.run or ""), Touched()).add(one)
    return found


def syncs(recorded: Recorded) -> Iterator[Bottleneck]:
    """Writing that is made to wait for the disk again and again."""
    writes = gathered(recorded, ("Write",))
    for key, did in gathered(recorded, ("Fsync",)).items():
        wrote = writes.get((*key[:2], "Write", *key[3:]))
        calls = wrote.calls if wrote else 0
        if key[3] == HDF5 or did.calls < SYNCS or did.calls < SYNCS_TO_WRITES * calls:
            continue
        yield Bottleneck(
            "many syncs", _where(key),
            f"{did.calls:,} syncs for {plural(calls, 'write')}, in {elapsed(did.time)}",
            "sync once, when what must not be lost is whole", did.time,
        )  # fmt: skip


RULES = (tiny, unbuffered, jumps, again, opens, syncs)
