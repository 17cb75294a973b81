"""Bottlenecks that a program's I/O as a whole shows: what was recorded in, findings out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from os.path import dirname
from statistics import median

from provio.reports.text import binary, elapsed, plural
from provio.stats.activity import POSIX, Activity
from provio.stats.bottlenecks import Bottleneck, took
from provio.stats.recorded import Recorded, process_of

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
    known: dict[str, list[int]] = {}  # the same sums by process
    ranked = {iri: process for iri, process in recorded.processes.items() if process.rank is not None}
    for one in recorded.activities:
        if one.process in ranked and one.layer == POSIX and recorded.file(one):
            if one.process not in known:
                process = ranked[one.process]
                known[one.process] = of_runs.setdefault(process.run, {}).setdefault(f"rank {process.rank}", [0, 0])
            _add(known[one.process], one)
    for ranks in of_runs.values():
        yield from _slowest("slow rank", "", ranks)


def slow_threads(recorded: Recorded) -> Iterator[Bottleneck]:
    """One thread of a process that takes much longer than those that do as much."""
    of_processes: dict[str, Times] = {}
    known: dict[tuple[str, str], list[int]] = {}  # the same sums by thread
    several = {process for process, number in Counter(map(process_of, recorded.threads)).items() if number > 1}
    for one in recorded.activities:
        if one.process in several and one.thread and one.process and one.layer == POSIX and recorded.file(one):
            place = one.process, one.thread
            if place not in known:
                name = f"thread {recorded.threads.get(one.thread, 0)}"
                known[place] = of_processes.setdefault(one.process, {}).setdefault(name, [0, 0])
            _add(known[place], one)
    for iri, threads in of_processes.items():
        process = recorded.processes[iri]
        yield from _slowest("slow thread", f" of {process.program or '?'} (process {process.pid})", threads)


def _add(sums: list[int], one: Activity) -> None:
    """Add what a `Tally` would of these two, in a quarter of its time."""
    if not one.errors:
        sums[0] += 0 if one.mirror else one.elapsed or 0
        sums[1] += (one.bytes or 0) if one.moves else 0


def _slowest(rule: str, behind: str, times: Times) -> Iterator[Bottleneck]:
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
    for one in recorded.activities:
        process = recorded.processes.get(one.process or "")
        if one.layer != POSIX or process is None:
            continue
        sums = programs.setdefault((process.run, process.program or "?"), [0, 0, 0, 0])
        if one.kind in DATA:
            sums[0] += one.count or 0
        else:
            sums[1] += one.count or 0
            sums[2] += one.errors
            sums[3] += one.elapsed or 0
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
    folders: dict[str, dict[str, tuple[int, int]]] = {}
    for one in recorded.activities:
        file = recorded.file(one)
        if one.kind == "Write" and one.layer == POSIX and file and not file.system:
            files = folders.setdefault(dirname(file.path), {})
            _, before = files.get(file.path, (0, 0))
            files[file.path] = file.content, before + (one.elapsed or 0)
    for folder, files in folders.items():
        middle = median(content for content, _ in files.values())
        if len(files) < FILES or middle > SMALL_FILE:
            continue
        spent = sum(time for _, time in files.values())
        yield Bottleneck(
            "small files", folder,
            f"{len(files):,} files were written there, half of them of {binary(middle)} or less{took(spent)}",
            "write fewer, larger ones (HDF5, an archive), or spread them over folders", spent,
        )  # fmt: skip


def wasted(recorded: Recorded) -> Iterator[Bottleneck]:
    """What was written, and deleted or replaced before anybody who was recorded read it."""
    written: dict[str, list[int]] = {}
    newest: dict[str, str] = {}
    read = {one.target for one in recorded.activities if one.kind in ("Read", "Map")}
    for one in recorded.activities:
        file = recorded.file(one)
        if one.kind == "Write" and one.layer == POSIX and file and not file.system and one.target:
            sums = written.setdefault(one.target, [0, 0])
            sums[0], sums[1] = sums[0] + (one.bytes or 0), sums[1] + (one.elapsed or 0)
            newest[file.path] = max(newest.get(file.path, ""), file.modified)
    for version, (moved, spent) in written.items():
        file = recorded.files[version]
        gone = "deleted" if version in recorded.deleted else "replaced" if file.modified < newest[file.path] else ""
        if moved < WASTED or not gone or version in read or version in recorded.kept:
            continue
        yield Bottleneck(
            "never read", file.path, f"{binary(moved)} were written, and {gone} unread{took(spent)}",
            "do not write it, or keep it in memory", spent,
        )  # fmt: skip


RULES = (slow_ranks, slow_threads, asking, small_files, wasted)
