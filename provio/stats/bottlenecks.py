"""What makes I/O slow, in words: what was recorded in, each finding with its evidence and a remedy out.

The rules are in `patterns` (what one file's calls look like) and `habits` (what a program does with many files, ranks
or threads); docs/statistics.md has their thresholds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain
from os.path import dirname
from statistics import median
from typing import TYPE_CHECKING

from provio.base.records import frozen
from provio.base.text import binary, elapsed, plural
from provio.stats.activity import HDF5, POSIX, SIZES, Activity, File, Recorded, process_of
from provio.stats.tally import what_file

if TYPE_CHECKING:
    from provio.stats.activity import Recorded


@frozen
class Bottleneck:
    """One finding: which rule, where, what shows it, what to do, and how long the calls took that it is about."""

    rule: str
    where: str
    evidence: str
    remedy: str
    nanoseconds: int = 0


def took(nanoseconds: int) -> str:
    """Return how long calls took, to stand behind a finding; nothing where that was not recorded."""
    return f", in {elapsed(nanoseconds)}" if nanoseconds else ""


def found(recorded: Recorded) -> list[Bottleneck]:
    """Return all findings, the dearest first."""
    did = gathered(recorded)
    every = [one for rule in PATTERN_RULES for one in rule(recorded, did)]
    every += [one for rule in PROGRAM_RULES for one in rule(recorded)]
    return sorted(every, key=lambda one: (-one.nanoseconds, one.rule, one.where))


# Bottlenecks that a program's I/O as a whole shows: what was recorded in, findings out.


SLOWER, SLOWER_BY = 2.0, 100_000_000  # times the median of the others, and so many nanoseconds more
LIKE = 0.1  # of the slowest one's bytes: who moved less does other work, and is not compared
ASKED = 1000  # calls about files, and more than reads and writes
FILES, SMALL_FILE = 1000, 64 << 10  # so many in one folder, half of them so small
WASTED = 1 << 20  # bytes that were written, and gone before anybody read them
DATA = frozenset({"Read", "Write", "SubmitRead", "SubmitWrite", "Fsync", "Flush"})

Times = dict[str, list[int]]  # who → nanoseconds, bytes


def slow_ranks(recorded: Recorded) -> Iterator[Bottleneck]:
    """One rank of a parallel program that takes much longer than the others."""
    of_runs: dict[str, Times] = {}
    ranked = {iri: process for iri, process in recorded.processes.items() if process.rank is not None}
    for some in recorded.alike:
        process = ranked.get(some[0].process or "")
        if process:
            _add(recorded, some, of_runs.setdefault(process.run, {}), f"rank {process.rank}")
    for ranks in of_runs.values():
        yield from _slowest("slow rank", "", ranks)


def slow_threads(recorded: Recorded) -> Iterator[Bottleneck]:
    """One thread of a process that takes much longer than those that do as much."""
    of_processes: dict[str, Times] = {}
    several = {process for process, number in Counter(map(process_of, recorded.threads)).items() if number > 1}
    for some in recorded.alike:
        process_iri, thread = some[0].process, some[0].thread
        if process_iri in several and process_iri and thread:
            threads = of_processes.setdefault(process_iri, {})
            _add(recorded, some, threads, f"thread {recorded.threads.get(thread, 0)}")
    for iri, threads in of_processes.items():
        process = recorded.processes[iri]
        yield from _slowest("slow thread", f" of {process.program or '?'} (process {process.pid})", threads)


def _add(recorded: Recorded, some: list[Activity], times: Times, name: str) -> None:
    """Add the time and the bytes of what was done to files; failed calls are in neither."""
    on_files = [one for one in some if recorded.file(one.target)] if some[0].layer == POSIX else []
    if not on_files:
        return
    sums = times.setdefault(name, [0, 0])
    if not some[0].errors and not some[0].mirror:
        sums[0] += sum(one.elapsed or 0 for one in on_files)
    if not some[0].errors and some[0].moves:
        sums[1] += sum(one.bytes or 0 for one in on_files)


def _slowest(rule: str, behind: str, times: Times) -> Iterator[Bottleneck]:
    if not times:
        return
    who = max(times, key=lambda name: times[name])
    spent, moved = times[who]
    others = [pair for name, pair in times.items() if name != who and pair[1] >= max(1, LIKE * moved)]
    if not others:
        return
    usual, bytes_of_others = median(pair[0] for pair in others), median(pair[1] for pair in others)
    if spent < SLOWER * usual or spent - usual < SLOWER_BY:
        return
    yield Bottleneck(
        rule, who + behind,
        f"its I/O took {elapsed(spent)} for {binary(moved)}; that of {plural(len(others), 'other')} took "
        f"{elapsed(usual)} for {binary(bytes_of_others)} (medians)",
        "share the work more evenly" if moved > SLOWER * bytes_of_others else "see what it does otherwise, and where "
        "it runs", int(spent - usual),
    )  # fmt: skip


def asking(recorded: Recorded) -> Iterator[Bottleneck]:
    """More calls about files than calls that move what is in them."""
    programs: dict[tuple[str, str], list[int]] = {}
    for some in recorded.alike:
        process = recorded.processes.get(some[0].process or "")
        if some[0].layer != POSIX or process is None:
            continue
        sums = programs.setdefault((process.run, process.program or "?"), [0, 0, 0, 0])
        calls = sum(one.count or 0 for one in some)
        if some[0].kind in DATA:
            sums[0] += calls
        else:
            sums[1] += calls
            sums[2] += sum(one.errors for one in some)
            sums[3] += sum(one.elapsed or 0 for one in some)
    for (_, program), (data, asked, failed, spent) in programs.items():
        if asked + failed < ASKED or asked + failed <= data:
            continue
        yield Bottleneck(
            "metadata", program,
            f"{asked + failed:,} opens and other calls about files ({failed:,} failed), {data:,} that read or wrote"
            f"{took(spent)}",
            "open fewer files, keep them open, search fewer folders", spent,
        )  # fmt: skip


def small_files(recorded: Recorded) -> Iterator[Bottleneck]:
    """Many small files in one folder."""
    folders: dict[str, dict[str, tuple[str, int]]] = {}
    for one, file in _written(recorded):
        if not file.system:
            files = folders.setdefault(dirname(file.path), {})
            _, before = files.get(file.path, ("", 0))
            files[file.path] = one.target or "", before + (one.elapsed or 0)
    for folder, files in folders.items():
        if len(files) < FILES:
            continue
        middle = median(recorded.contents.get(version, 0) for version, _ in files.values())
        if middle > SMALL_FILE:
            continue
        spent = sum(time for _, time in files.values())
        yield Bottleneck(
            "small files", folder,
            f"{len(files):,} files were written there, half of them of {binary(middle)} or less{took(spent)}",
            "write fewer, larger ones (HDF5, an archive), or spread them over folders", spent,
        )  # fmt: skip


def _written(recorded: Recorded) -> Iterator[tuple[Activity, File]]:
    """What the C library wrote into files."""
    for some in recorded.alike:
        if some[0].kind == "Write" and some[0].layer == POSIX:
            yield from ((one, file) for one in some if (file := recorded.file(one.target)))


def wasted(recorded: Recorded) -> Iterator[Bottleneck]:
    """What was written, and deleted or replaced before anybody who was recorded read it."""
    written: dict[str, list[int]] = {}
    newest: dict[str, str] = {}
    for one, file in _written(recorded):
        if not file.system and one.target:
            sums = written.setdefault(one.target, [0, 0])
            sums[0], sums[1] = sums[0] + (one.bytes or 0), sums[1] + (one.elapsed or 0)
            newest[file.path] = max(newest.get(file.path, ""), file.modified)
    large = {version: sums for version, sums in written.items() if sums[0] >= WASTED}
    read = {one.target for some in recorded.alike if large and some[0].kind in ("Read", "Map") for one in some}
    for version, (moved, spent) in large.items():
        file = recorded.files[version]
        gone = "deleted" if version in recorded.deleted else "replaced" if file.modified < newest[file.path] else ""
        if not gone or version in read or version in recorded.kept:
            continue
        yield Bottleneck(
            "never read", file.path, f"{binary(moved)} were written, and {gone} unread{took(spent)}",
            "do not write it, or keep it in memory", spent,
        )  # fmt: skip


PROGRAM_RULES = (slow_ranks, slow_threads, asking, small_files, wasted)


# Bottlenecks that the calls on one file show: what was recorded in, findings out.


TINY_CALLS, TINY_SHARE = 1000, 0.5  # so many accesses of 1 KiB at most, and so large a part of all
ONE_BY_ONE = 16  # bytes of a mean access that is no more than a number or a character
UNBUFFERED = 100  # ns of a mean call: what a stream serves from its buffer takes a few
JUMPS, JUMPED_SHARE, JUMP_SIZE = 100, 0.5, 1 << 20  # so many calls, so large a part of the bytes, no larger calls
READ_AGAIN, READ_BYTES = 4, 4 << 20  # times its size, and so many bytes
SYNCS, SYNCS_TO_WRITES = 100, 0.1  # so many, and so many for each write
OPENED = 100  # times in one run

FEWEST = min(TINY_CALLS, JUMPS, SYNCS, OPENED)  # calls on one file, or READ_BYTES: no rule speaks of less
KINDS = frozenset({"Read", "Write", "Open", "Fsync"})
DOES = {"Read": ("reads", "read"), "Write": ("writes", "written")}


class Touched:
    """All of one kind that one program did to one file, and to what is inside it, in one run."""

    def __init__(self) -> None:
        self.calls = self.bytes = self.time = self.jumped = 0
        self.sizes = [0] * SIZES
        self.processes: set[str | None] = set()

    def add(self, one: Activity) -> None:
        """Add an activity; a copy within the kernel is a call on either file."""
        self.calls += one.count or 0
        self.bytes += one.bytes or 0
        self.time += one.elapsed or 0
        self.jumped += one.jumped
        self.processes.add(one.process)
        if one.sizes:
            self.sizes = [known + more for known, more in zip(self.sizes, one.sizes, strict=True)]

    def join(self, other: Touched) -> None:
        """Add what was done elsewhere."""
        self.calls, self.bytes = self.calls + other.calls, self.bytes + other.bytes
        self.time, self.jumped = self.time + other.time, self.jumped + other.jumped
        self.sizes = [known + more for known, more in zip(self.sizes, other.sizes, strict=True)]
        self.processes |= other.processes

    @property
    def moving(self) -> int:
        """Calls that moved bytes."""
        return sum(self.sizes)

    @property
    def mean(self) -> int:
        """Bytes of such a call."""
        return self.bytes // self.moving if self.moving else 0


Key = tuple[str, str, str, str, str]  # file, program, kind, layer, run
All = dict[tuple[Key, bool], Touched]


def gathered(recorded: Recorded) -> All:
    """Return by key, and by whether the C library may have buffered it, what was done to files on which there were
    many calls or many bytes."""
    did = [some for some in recorded.alike if some[0].kind in KINDS and not some[0].errors]
    busy, found = _busy(recorded, did), All()
    for some in did:
        one = some[0]
        process = recorded.processes.get(one.process or "")
        common = (process.program or "") if process else "", one.kind, one.layer, one.run or ""
        streamed = one.by_stream
        for one in some:
            if one.target in busy:
                found.setdefault(((busy[one.target], *common), streamed), Touched()).add(one)
    return found


def _busy(recorded: Recorded, did: list[list[Activity]]) -> dict[str | None, str]:
    """The names, by target, of which a rule may speak: of many files most are touched once."""
    names = {target: named(recorded, target) for target in {one.target for some in did for one in some}}
    calls, moved = defaultdict[str, int](int), defaultdict[str, int](int)
    for one in chain.from_iterable(did):
        name = names[one.target]
        calls[name] += one.count or sum(one.sizes or ())
        moved[name] += one.bytes or 0
    busy = {name for name in calls if calls[name] >= FEWEST or moved[name] >= READ_BYTES}
    return {target: name for target, name in names.items() if name in busy}


def _of(did: All, *kinds: str) -> dict[Key, Touched]:
    """Those of some kinds, however they were called."""
    found: dict[Key, Touched] = {}
    for (key, _), one in did.items():
        if key[2] in kinds:
            found.setdefault(key, Touched()).join(one)
    return found


def named(recorded: Recorded, target: str | None) -> str:
    """What a finding calls the file that an activity touched, or that holds the object that it touched."""
    path, kind = what_file(recorded, target)
    if path is None:
        return {"pipe": "a pipe", "socket": "a connection"}.get(kind, "what has no name")
    return path


def _where(key: Key) -> str:
    return f"{key[0]} ({key[1]})" if key[1] else key[0]


def tiny(_: Recorded, did: All) -> Iterator[Bottleneck]:
    """Many accesses of a kilobyte at most; of those of a few bytes `unbuffered` speaks."""
    for (key, streamed), one in did.items():
        small, every = sum(one.sizes[:2]), one.moving
        few = small < TINY_CALLS or small < TINY_SHARE * every
        if few or streamed or key[2] not in DOES or (one.mean <= ONE_BY_ONE and key[3] != HDF5):
            continue
        remedy = (
            "select more of the dataset at once" if key[3] == HDF5 else "move more with each call: gather or buffer"
        )
        yield Bottleneck(
            "tiny accesses", _where(key),
            f"{small:,} of {every:,} {DOES[key[2]][0]} moved 1 KiB or less, {binary(one.mean)} in the mean"
            f"{took(one.time)}", remedy, one.time,
        )  # fmt: skip


def unbuffered(_: Recorded, did: All) -> Iterator[Bottleneck]:
    """A few bytes at a time, and a call of the kernel's for each."""
    for (key, streamed), one in did.items():
        served = streamed and one.time < UNBUFFERED * one.moving
        if key[3] != POSIX or key[2] not in DOES or one.moving < TINY_CALLS or one.mean > ONE_BY_ONE or served:
            continue
        yield Bottleneck(
            "unbuffered", _where(key),
            f"{one.moving:,} {DOES[key[2]][0]} of {plural(one.mean, 'byte')} in the mean{took(one.time)}",
            "let the stream have its buffer, or read and write blocks", one.time,
        )  # fmt: skip


def jumps(_: Recorded, did: All) -> Iterator[Bottleneck]:
    """Calls that begin elsewhere than where the one before ended."""
    for key, one in _of(did, *DOES).items():
        large = one.mean > JUMP_SIZE
        if key[3] != POSIX or one.moving < JUMPS or one.jumped < JUMPED_SHARE * one.bytes or large or not one.bytes:
            continue
        yield Bottleneck(
            "seeks", _where(key),
            f"{one.jumped / one.bytes:.0%} of {binary(one.bytes)} {DOES[key[2]][1]} did not begin where the call "
            f"before ended: {one.moving:,} calls{took(one.time)}",
            "go through the file in the order in which it lies, or keep together what is used together", one.time,
        )  # fmt: skip


def again(recorded: Recorded, did: All) -> Iterator[Bottleneck]:
    """A file that was read several times over."""
    contents: dict[str, int] = {}
    read = [(path, one) for path, one in _of_runs(recorded, did, "Read") if one.bytes >= READ_BYTES]
    for version, content in recorded.contents.items() if read else ():
        if version in recorded.files:
            path = recorded.files[version].path
            contents[path] = max(contents.get(path, 0), content)
    for path, one in read:
        content = contents.get(path, 0)
        if not content or one.bytes < READ_AGAIN * content:
            continue
        yield Bottleneck(
            "read again", path,
            f"{binary(one.bytes)} were read of its {binary(content)}, {one.bytes / content:.1f} times all of it, by "
            f"{plural(len(one.processes), 'process', 'processes')}{took(one.time)}",
            "read it once and keep it" if len(one.processes) == 1 else "let one process read it and hand it on",
            one.time,
        )  # fmt: skip


def opens(recorded: Recorded, did: All) -> Iterator[Bottleneck]:
    """A file that was opened again and again."""
    for path, one in _of_runs(recorded, did, "Open"):
        if one.calls < OPENED:
            continue
        yield Bottleneck(
            "many opens", path,
            f"it was opened {one.calls:,} times by {plural(len(one.processes), 'process', 'processes')}"
            f"{took(one.time)}",
            "keep it open" if len(one.processes) == 1 else "let fewer processes open it", one.time,
        )  # fmt: skip


def _of_runs(recorded: Recorded, did: All, kind: str) -> Iterator[tuple[str, Touched]]:
    """What was done to each file that is not the system's, in each run, by the C library."""
    own = {file.path for file in recorded.files.values() if not file.system}
    found: dict[tuple[str, str], Touched] = {}
    for key, one in _of(did, kind).items():
        if key[0] in own and key[3] == POSIX:
            found.setdefault((key[0], key[4]), Touched()).join(one)
    return ((path, one) for (path, _), one in found.items())


def syncs(_: Recorded, did: All) -> Iterator[Bottleneck]:
    """Writing that is made to wait for the disk again and again."""
    writes = _of(did, "Write")
    for key, one in _of(did, "Fsync").items():
        wrote = writes.get((key[0], key[1], "Write", key[3], key[4]), Touched()).calls
        if key[3] != POSIX or one.calls < SYNCS or one.calls < SYNCS_TO_WRITES * wrote:
            continue
        yield Bottleneck(
            "many syncs", _where(key),
            f"{one.calls:,} syncs for {plural(wrote, 'write')}{took(one.time)}",
            "sync once, when what must not be lost is whole", one.time,
        )  # fmt: skip


PATTERN_RULES = (tiny, unbuffered, jumps, again, opens, syncs)
