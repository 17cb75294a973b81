"""Causes of slow I/O. In: recorded activities. Out: findings, each with its evidence and a remedy.

Some rules examine a program as a whole (many files, ranks or threads), others the calls on one file;
docs/statistics.md lists their thresholds.
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
from provio.stats.tally import file_of

if TYPE_CHECKING:
    from provio.stats.activity import Recorded


@frozen
class Bottleneck:
    """A finding: the rule, the place, the evidence, the remedy, and the time of the affected calls."""

    rule: str
    where: str
    evidence: str
    remedy: str
    nanoseconds: int = 0


def took(nanoseconds: int) -> str:
    """Return the time of calls as the end of a sentence; empty if it was not recorded."""
    return f", in {elapsed(nanoseconds)}" if nanoseconds else ""


def find(recorded: Recorded) -> list[Bottleneck]:
    """Return all findings, the longest time first."""
    calls = calls_by_key(recorded)
    every = [one for rule in PATTERN_RULES for one in rule(recorded, calls)]
    every += [one for rule in PROGRAM_RULES for one in rule(recorded)]
    return sorted(every, key=lambda one: (-one.nanoseconds, one.rule, one.where))


# Rules for the I/O of a program as a whole.


SLOWER, SLOWER_BY = 2.0, 100_000_000  # least ratio to the median of the others, and least difference (ns)
COMPARABLE = 0.1  # of the slowest one's bytes: a rank or thread with fewer has other work and is not compared
METADATA_CALLS = 1000  # least number, if also more than reads and writes
FILES, SMALL_FILE = 1000, 64 << 10  # least number of files in one folder, and the greatest median of their sizes
WASTED = 1 << 20  # bytes that were written, and deleted or replaced before they were read
DATA = frozenset({"Read", "Write", "SubmitRead", "SubmitWrite", "Fsync", "Flush"})

Times = dict[str, list[int]]  # rank or thread → nanoseconds, bytes


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
    """Add the time and the bytes of calls on files, without failed calls."""
    on_files = [one for one in some if recorded.file(one.target)] if some[0].layer == POSIX else []
    if not on_files:
        return
    sums = times.setdefault(name, [0, 0])
    if not some[0].errors and not some[0].mirror:
        sums[0] += sum(one.elapsed or 0 for one in on_files)
    if not some[0].errors and some[0].moves:
        sums[1] += sum(one.bytes or 0 for one in on_files)


def _slowest(rule: str, suffix: str, times: Times) -> Iterator[Bottleneck]:
    if not times:
        return
    slowest = max(times, key=lambda name: times[name])
    spent, moved = times[slowest]
    others = [pair for name, pair in times.items() if name != slowest and pair[1] >= max(1, COMPARABLE * moved)]
    if not others:
        return
    usual, bytes_of_others = median(pair[0] for pair in others), median(pair[1] for pair in others)
    if spent < SLOWER * usual or spent - usual < SLOWER_BY:
        return
    yield Bottleneck(
        rule, slowest + suffix,
        f"its I/O took {elapsed(spent)} for {binary(moved)}; that of {plural(len(others), 'other')} took "
        f"{elapsed(usual)} for {binary(bytes_of_others)} (medians)",
        "share the work more evenly" if moved > SLOWER * bytes_of_others
        else "compare its calls and its node with those of the others", int(spent - usual),
    )  # fmt: skip


def metadata_calls(recorded: Recorded) -> Iterator[Bottleneck]:
    """More metadata calls than calls that move data."""
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
    for (_, program), (data, done, failed, spent) in programs.items():
        if done + failed < METADATA_CALLS or done + failed <= data:
            continue
        yield Bottleneck(
            "metadata", program,
            f"{done + failed:,} opens and other calls about files ({failed:,} failed), {data:,} that read or wrote"
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
    """Yield the writes of the C library with their files."""
    for some in recorded.alike:
        if some[0].kind == "Write" and some[0].layer == POSIX:
            yield from ((one, file) for one in some if (file := recorded.file(one.target)))


def wasted(recorded: Recorded) -> Iterator[Bottleneck]:
    """Data that were written, and deleted or replaced before a recorded process read them."""
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
        end = "deleted" if version in recorded.deleted else "replaced" if file.modified < newest[file.path] else ""
        if not end or version in read or version in recorded.kept:
            continue
        yield Bottleneck(
            "never read", file.path, f"{binary(moved)} were written, and {end} unread{took(spent)}",
            "do not write it, or keep it in memory", spent,
        )  # fmt: skip


PROGRAM_RULES = (slow_ranks, slow_threads, metadata_calls, small_files, wasted)


# Rules for the calls on one file.


TINY_CALLS, TINY_SHARE = 1000, 0.5  # least number of accesses of at most 1 KiB, and their least share of all accesses
ONE_BY_ONE = 16  # greatest mean access (bytes) of single numbers or characters
UNBUFFERED = 100  # ns of a mean call: an access to a stream's buffer takes a few
JUMPS, JUMPED_SHARE, JUMP_SIZE = 100, 0.5, 1 << 20  # least calls, least share of the bytes, greatest mean access
READ_AGAIN, READ_BYTES = 4, 4 << 20  # least multiple of a file's size, and least bytes
SYNCS, SYNCS_TO_WRITES = 100, 0.1  # least number, and least number per write
OPENED = 100  # least number in one run

FEWEST = min(TINY_CALLS, JUMPS, SYNCS, OPENED)  # no rule applies to files with fewer calls and less than READ_BYTES
KINDS = frozenset({"Read", "Write", "Open", "Fsync"})
DOES = {"Read": ("reads", "read"), "Write": ("writes", "written")}


class Touched:
    """The calls of one kind by one program on one file, and on the objects inside it, in one run."""

    def __init__(self) -> None:
        self.calls = self.bytes = self.time = self.longest = self.jumped = 0
        self.sizes = [0] * SIZES
        self.processes: set[str | None] = set()

    def add(self, one: Activity) -> None:
        """Add an activity; a copy in the kernel counts as a call on both files."""
        self.calls += one.count or 0
        self.bytes += one.bytes or 0
        self.time += one.elapsed or 0
        self.longest = max(self.longest, one.longest or 0)
        self.jumped += one.jumped
        self.processes.add(one.process)
        if one.sizes:
            self.sizes = [known + more for known, more in zip(self.sizes, one.sizes, strict=True)]

    def join(self, other: Touched) -> None:
        """Add the calls of another instance."""
        self.calls, self.bytes = self.calls + other.calls, self.bytes + other.bytes
        self.time, self.longest = self.time + other.time, max(self.longest, other.longest)
        self.jumped += other.jumped
        self.sizes = [known + more for known, more in zip(self.sizes, other.sizes, strict=True)]
        self.processes |= other.processes

    @property
    def moving(self) -> int:
        """The number of calls that moved bytes."""
        return sum(self.sizes)

    @property
    def mean(self) -> int:
        """The mean bytes of such a call."""
        return self.bytes // self.moving if self.moving else 0


Key = tuple[str, str, str, str, str]  # file, program, kind, layer, run
All = dict[tuple[Key, bool], Touched]


def calls_by_key(recorded: Recorded) -> All:
    """Return the calls on files with many calls or bytes, by key and by whether a buffer may have served them."""
    calls = [some for some in recorded.alike if some[0].kind in KINDS and not some[0].errors]
    busy, found = _busy(recorded, calls), All()
    for some in calls:
        one = some[0]
        process = recorded.processes.get(one.process or "")
        common = (process.program or "") if process else "", one.kind, one.layer, one.run or ""
        streamed = one.by_stream
        for one in some:
            if one.target in busy:
                found.setdefault(((busy[one.target], *common), streamed), Touched()).add(one)
    return found


def _busy(recorded: Recorded, activities: list[list[Activity]]) -> dict[str | None, str]:
    """Return the names, by target, of the files to which a rule may apply; most of many files are accessed once. The
    messages of a framework have no order that a user could change."""
    all_targets = {one.target for some in activities for one in some}
    names = {one: named(recorded, one) for one in all_targets if file_of(recorded, one)[1] != "messages"}
    calls, moved = defaultdict[str, int](int), defaultdict[str, int](int)
    for one in chain.from_iterable(activities):
        name = names.get(one.target)
        if name is None:
            continue
        calls[name] += one.count or sum(one.sizes or ())
        moved[name] += one.bytes or 0
    busy = {name for name in calls if calls[name] >= FEWEST or moved[name] >= READ_BYTES}
    return {target: name for target, name in names.items() if name in busy}


def _of(calls: All, *kinds: str) -> dict[Key, Touched]:
    """Return the calls of some kinds, with and without buffer together."""
    found: dict[Key, Touched] = {}
    for (key, _), one in calls.items():
        if key[2] in kinds:
            found.setdefault(key, Touched()).join(one)
    return found


def named(recorded: Recorded, target: str | None) -> str:
    """Return the name of an activity's file, or of the file that contains its object."""
    path, kind = file_of(recorded, target)
    if path is None:
        return {"pipe": "a pipe", "socket": "a connection"}.get(kind, "(no name)")
    return path


def _where(key: Key) -> str:
    return f"{key[0]} ({key[1]})" if key[1] else key[0]


def tiny(_: Recorded, calls: All) -> Iterator[Bottleneck]:
    """Many accesses of at most a kilobyte; `unbuffered` covers those of a few bytes."""
    for (key, streamed), one in calls.items():
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


def unbuffered(_: Recorded, calls: All) -> Iterator[Bottleneck]:
    """Accesses of a few bytes, each with a call of the kernel."""
    for (key, streamed), one in calls.items():
        # without the longest call, in which the system may have run another program
        served = streamed and one.time - one.longest < UNBUFFERED * one.moving
        if key[3] != POSIX or key[2] not in DOES or one.moving < TINY_CALLS or one.mean > ONE_BY_ONE or served:
            continue
        yield Bottleneck(
            "unbuffered", _where(key),
            f"{one.moving:,} {DOES[key[2]][0]} of {plural(one.mean, 'byte')} in the mean{took(one.time)}",
            "let the stream have its buffer, or read and write blocks", one.time,
        )  # fmt: skip


def jumps(_: Recorded, calls: All) -> Iterator[Bottleneck]:
    """Calls that do not start at the end of the previous call."""
    for key, one in _of(calls, *DOES).items():
        large = one.mean > JUMP_SIZE
        if key[3] != POSIX or one.moving < JUMPS or one.jumped < JUMPED_SHARE * one.bytes or large or not one.bytes:
            continue
        yield Bottleneck(
            "seeks", _where(key),
            f"{one.jumped / one.bytes:.0%} of {binary(one.bytes)} {DOES[key[2]][1]} did not begin where the call "
            f"before ended: {one.moving:,} calls{took(one.time)}",
            "access the file in storage order, or store data next to each other that are used together", one.time,
        )  # fmt: skip


def again(recorded: Recorded, calls: All) -> Iterator[Bottleneck]:
    """A file that was read completely several times."""
    contents: dict[str, int] = {}
    read = [(path, one) for path, one in _of_runs(recorded, calls, "Read") if one.bytes >= READ_BYTES]
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


def opens(recorded: Recorded, calls: All) -> Iterator[Bottleneck]:
    """A file that was opened very often."""
    for path, one in _of_runs(recorded, calls, "Open"):
        if one.calls < OPENED:
            continue
        yield Bottleneck(
            "many opens", path,
            f"it was opened {one.calls:,} times by {plural(len(one.processes), 'process', 'processes')}"
            f"{took(one.time)}",
            "keep it open" if len(one.processes) == 1 else "let fewer processes open it", one.time,
        )  # fmt: skip


def _of_runs(recorded: Recorded, calls: All, kind: str) -> Iterator[tuple[str, Touched]]:
    """Yield the calls of the C library on each file except system files, for each run."""
    own = {file.path for file in recorded.files.values() if not file.system}
    found: dict[tuple[str, str], Touched] = {}
    for key, one in _of(calls, kind).items():
        if key[0] in own and key[3] == POSIX:
            found.setdefault((key[0], key[4]), Touched()).join(one)
    return ((path, one) for (path, _), one in found.items())


def syncs(_: Recorded, calls: All) -> Iterator[Bottleneck]:
    """Writes that wait for the disk very often."""
    writes = _of(calls, "Write")
    for key, one in _of(calls, "Fsync").items():
        wrote = writes.get((key[0], key[1], "Write", key[3], key[4]), Touched()).calls
        if key[3] != POSIX or one.calls < SYNCS or one.calls < SYNCS_TO_WRITES * wrote:
            continue
        yield Bottleneck(
            "many syncs", _where(key),
            f"{one.calls:,} syncs for {plural(wrote, 'write')}{took(one.time)}",
            "sync once, after all data that must not be lost are written", one.time,
        )  # fmt: skip


PATTERN_RULES = (tiny, unbuffered, jumps, again, opens, syncs)
