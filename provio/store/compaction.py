"""Holds RocksDB's compaction back while a large run is loaded.

RocksDB compacts all tables of an index for every second table that is added, as soon as a processor is free: of twenty
pieces each is rewritten ten times. Here its threads get the lowest priority, on the one processor on which this thread
loads, so that they wait until all is loaded. What it saves: docs/merge.md.
"""

from __future__ import annotations

import contextlib
import os
import time

QUIET = 0.2  # seconds without any processor time of a compaction, after which it has ended


class Hold:
    """Holds compaction back from `begin` to `end`. (The threads keep their priority: raising it takes a privilege.)"""

    def __init__(self) -> None:
        self._before: set[int] = set()  # the processors of this thread, while it holds

    def begin(self) -> None:
        """Hold compaction back from here on; where the system does not allow it, nothing changes."""
        if self._before:
            return
        with contextlib.suppress(OSError):
            before, one = os.sched_getaffinity(0), {_processor()}
            for thread in compacting():
                os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))
                os.sched_setaffinity(thread, one)
            os.sched_setaffinity(0, one)
            self._before = before

    def end(self, wait: bool = False) -> None:
        """Let compaction go on, where it was held back; `wait` until it has ended, or gets no processor time: one that
        is cut off starts again when the store is opened."""
        if not self._before:
            return
        with contextlib.suppress(OSError):
            for thread in (0, *compacting()):
                os.sched_setaffinity(thread, self._before)
        self._before = set()
        before, now = -1, _spent()
        while wait and now != before:
            time.sleep(QUIET)
            before, now = now, _spent()


def _processor() -> int:
    """The processor that this process is on: the system chose it among those that may be used."""
    with open("/proc/self/stat", encoding="utf-8") as stat:
        return int(stat.read().rpartition(")")[2].split()[36])


def _spent() -> int:
    """The processor time that the compacting threads have taken, in ticks."""
    spent = 0
    for thread in compacting():
        with contextlib.suppress(OSError), open(f"/proc/self/task/{thread}/stat", encoding="utf-8") as stat:
            spent += sum(map(int, stat.read().rpartition(")")[2].split()[11:13]))
    return spent


def compacting() -> list[int]:
    """Return RocksDB's threads that compact, by id."""
    return [int(entry.name) for entry in os.scandir("/proc/self/task") if _named(entry.path) == "rocksdb:low"]


def _named(task: str) -> str:
    with contextlib.suppress(OSError), open(f"{task}/comm", encoding="ascii", errors="replace") as name:
        return name.read().strip()
    return ""
