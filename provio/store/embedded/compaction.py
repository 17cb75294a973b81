"""Controls RocksDB's compactions: defers and awaits them, and rewrites tables that contain many removed rows."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import pyoxigraph as ox

from provio.system import proc

QUIET = 0.2  # seconds between two samples of the compaction threads' processor time
COMPACTED = "compacted"  # a file in the store with the size of its tables (bytes) after the last compaction
WASTE, LITTLE = 1.5, 1_000_000  # permitted size of the tables: this multiple of that size, plus these bytes


def compact(store: ox.Store, folder: Path) -> None:
    """Rewrite the tables without removed rows where these may be a third of all rows: the cost per row does not
    depend on the size of the store."""
    note = folder / COMPACTED
    before = int(note.read_text(encoding="ascii") or 0) if note.exists() else 0
    if _tables(folder) > WASTE * before + LITTLE:
        with contextlib.suppress(OSError):  # no room to compact: the size stays as it is
            store.optimize()
            note.write_text(str(_tables(folder)), encoding="ascii")


def _tables(folder: Path) -> int:
    """Return the size of a store's tables in bytes; a table that RocksDB deletes during the call counts as empty."""
    found = 0
    for table in folder.glob("*.sst"):
        with contextlib.suppress(FileNotFoundError):
            found += table.stat().st_size
    return found


def defer() -> None:
    """Restrict RocksDB's background threads to otherwise idle time; do nothing where the system does not permit it."""
    with contextlib.suppress(OSError):
        one = {_processor()}
        for thread in _own_threads():
            os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))
            os.sched_setaffinity(thread, one)
        os.sched_setaffinity(0, one)


def _processor() -> int:
    """Return the processor that runs this process: the system chose it among the permitted ones."""
    return int(proc.fields(proc.stat())[36])


def wait() -> None:
    """Wait until RocksDB has finished its compactions of a store that this process has open. (If the store is closed
    earlier, they start again at each opening.)"""
    before, now = -1, _spent()
    while now != before:
        time.sleep(QUIET)
        before, now = now, _spent()


def _spent() -> int:
    """Return the processor time of those threads, in ticks."""
    spent = 0
    for thread in _own_threads():
        with contextlib.suppress(OSError):
            spent += sum(map(int, proc.fields(proc.stat(f"self/task/{thread}"))[11:13]))
    return spent


def _own_threads() -> list[int]:
    """Return the ids of RocksDB's compaction threads."""
    return [int(entry.name) for entry in os.scandir("/proc/self/task") if _named(entry.path) == "rocksdb:low"]


def _named(task: str) -> str:
    with open(f"{task}/comm", encoding="ascii", errors="replace") as name:
        return name.read().strip()
