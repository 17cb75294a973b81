"""The tables of a store are rewritten where they contain many removed rows; its compactions are deferred and awaited.

Files, threads and samples of a stand-in for the system in; the calls and the files after them out.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pyoxigraph as ox
import pytest

from provio.store.embedded import compaction
from provio.system import proc

LIMIT = 3 * 2_000_000 // 2 + 1_000_000  # the permitted size after a compaction that left 2,000,000 bytes


class Tables:
    """A stand-in for a store: its rewritten tables take `after` bytes, or there is no room for them."""

    def __init__(self, folder: Path, after: int | None) -> None:
        self.folder, self.after = folder, after
        self.calls = 0

    def optimize(self) -> None:
        self.calls += 1
        if self.after is None:
            raise OSError("no room")
        os.truncate(self.folder / "1.sst", self.after)


@pytest.mark.parametrize(
    ("note", "sizes", "after", "left"),
    [
        (None, (500_000, 500_000), 7, (0, None)),
        (None, (500_000, 500_001), 7, (1, "500008")),
        ("", (1_000_001, 0), 7, (1, "7")),
        ("2000000", (LIMIT - 1, 1), 7, (0, "2000000")),
        ("2000000", (LIMIT, 1), 7, (1, "8")),
        ("2000000", (LIMIT, 1), None, (1, "2000000")),
    ],
)
def test_tables_are_rewritten_above_a_size(
    tmp_path: Path, note: str | None, sizes: tuple[int, int], after: int | None, left: tuple[int, str | None]
) -> None:
    """One that depends on the size after the last time; other files and deleted tables do not count."""
    for name, size in zip(("1.sst", "2.sst", "3.log"), (*sizes, LIMIT), strict=True):
        (tmp_path / name).touch()
        os.truncate(tmp_path / name, size)
    (tmp_path / "4.sst").symlink_to("deleted")
    if note is not None:
        (tmp_path / compaction.COMPACTED).write_text(note)
    store = Tables(tmp_path, after)
    compaction.compact(cast("ox.Store", store), tmp_path)
    noted = tmp_path / compaction.COMPACTED
    assert (store.calls, noted.read_text() if noted.exists() else None) == left


@pytest.mark.parametrize(("samples", "waits"), [((0, 0), 1), ((0, 3, 3), 2), ((5, 7, 6, 9, 9, 9), 4)])
def test_the_end_of_the_compactions(monkeypatch: pytest.MonkeyPatch, samples: tuple[int, ...], waits: int) -> None:
    """It is there when two samples of the processor time are equal."""
    spent, slept = iter(samples), list[float]()
    monkeypatch.setattr(compaction, "_spent", lambda: next(spent))
    monkeypatch.setattr(compaction, "time", SimpleNamespace(sleep=slept.append))
    compaction.wait()
    assert slept == [compaction.QUIET] * waits


def test_the_threads_of_the_compactions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """They are found by their names; their processor time counts, except that of a thread that has ended."""
    tasks = {"11": "rocksdb:low", "12": "rocksdb:high", "13": "rocksdb:low", "14": "python"}
    for thread, name in tasks.items():
        (tmp_path / thread).mkdir()
        (tmp_path / thread / "comm").write_text(f"{name}\n")
    entries = os.scandir
    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", lambda path: entries(tmp_path if path == "/proc/self/task" else path))
        found = sorted(compaction._own_threads())
    assert found == [11, 13]
    asked = list[int | str]()

    def stat(task: int | str = "self") -> str:
        asked.append(task)
        if task == "self/task/2":
            raise FileNotFoundError(task)
        return " ".join(["7 (a) b) S", *(str(1 << place) for place in range(1, 50))])

    monkeypatch.setattr(proc, "stat", stat)
    monkeypatch.setattr(compaction, "_own_threads", lambda: [1, 2, 3])
    assert (compaction._spent(), asked) == (2 * ((1 << 11) + (1 << 12)), ["self/task/1", "self/task/2", "self/task/3"])
    asked.clear()
    assert (compaction._processor(), asked) == (1 << 36, ["self"])


@pytest.mark.parametrize("refused", [False, True])
def test_compactions_are_deferred(monkeypatch: pytest.MonkeyPatch, refused: bool) -> None:
    """Their threads get the idle time of one processor; a system that refuses this is accepted."""
    calls = list[tuple[object, ...]]()

    def scheduled(thread: int, policy: int, how: os.sched_param) -> None:
        calls.append((thread, policy, how.sched_priority))
        if refused:
            raise PermissionError

    monkeypatch.setattr(compaction, "_processor", lambda: 5)
    monkeypatch.setattr(compaction, "_own_threads", lambda: [11, 12])
    monkeypatch.setattr(os, "sched_setscheduler", scheduled)
    monkeypatch.setattr(os, "sched_setaffinity", lambda thread, places: calls.append((thread, set(places))))
    compaction.defer()
    idle = os.SCHED_IDLE
    every = [(11, idle, 0), (11, {5}), (12, idle, 0), (12, {5}), (0, {5})]
    assert calls == (every[:1] if refused else every)
