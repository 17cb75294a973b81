"""Bottlenecks that a program's I/O as a whole shows: what was recorded in, findings out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from os.path import dirname
from statistics import median

from provio.reports.text import binary, elapsed, plural
from provio.stats.activity import POSIX, Activity
from provio.stats.bottlenecks import Bottleneck, took
from provio.stats.recorded import File, Recorded, process_of

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


RULES = (slow_ranks, slow_threads, asking, small_files, wasted)
