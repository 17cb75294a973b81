"""The new records of all thread files of a run, in the order of time.

In: a run folder. Out: rows with the thread file of each. A file is opened when its time comes, and closed when it has
no more new rows: a run may have more files than a process can have open.
"""

from __future__ import annotations

import contextlib
import heapq
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from provio.follow.thread_tail import Row, ThreadTail
from provio.system.statx import Record
from provio.trace import run_source
from provio.trace.run_source import LIST, THREAD_FILE
from provio.trace.thread_files import NAME

Image = tuple[str, int, int]  # host, pid and start tick
Next = tuple[int, int, Row, ThreadTail, Iterator[Row]]  # a file by the time of its next row


class RunRows:
    """The rows of a run that are not yielded yet; `record` is the run's record in `run.ttl`."""

    def __init__(self, folder: Path, record: Record) -> None:
        self.folder, self.record = folder, record
        self.tails: dict[Image, list[ThreadTail]] = {}
        self._open: Counter[Image] = Counter()  # files of each process that are being read
        self._known: set[Path] = set()
        self._listed: dict[Path, int] = {}  # the bytes of each host's list that were read

    def __iter__(self) -> Iterator[tuple[ThreadTail, Row]]:
        self._find()
        waiting = sorted(((tail.time or tail.start(), tail) for tail in self._changed()), key=lambda one: -one[0])
        heap: list[Next] = []
        while heap or waiting:
            while waiting and not (heap and heap[0][0] < waiting[-1][0]):
                tail = waiting.pop()[1]
                self._open[_image(tail)] += 1
                self._push(heap, len(waiting), tail, tail.rows())
            if heap:
                _, number, row, tail, rows = heapq.heappop(heap)
                yield tail, row
                self._push(heap, number, tail, rows)

    def has_more(self, image: Image) -> bool:
        """Return whether a process has recorded something that was not yielded."""
        self._find()
        return self._open[image] > 0 or any(True for _ in self._changed(image))

    def forget(self, image: Image) -> None:
        """Read the files of a process no more."""
        self.tails.pop(image, None)
        del self._open[image]

    def _changed(self, image: Image | None = None) -> Iterator[ThreadTail]:
        for tails in [self.tails.get(image, ())] if image else list(self.tails.values()):
            for tail in tails:
                with contextlib.suppress(OSError):
                    if tail.has_changed():
                        yield tail

    def _find(self) -> None:
        """Note the thread files that are new."""
        listed = self.record.get("listed") == "true"
        for place in sorted(run_source.folders_of(self.folder, self.record)):
            for name in self._new_names(place) if listed else filter(THREAD_FILE.fullmatch, os.listdir(place)):
                if place / name not in self._known:
                    self._known.add(place / name)
                    tail = ThreadTail(place / name)
                    self.tails.setdefault(_image(tail), []).append(tail)

    def _new_names(self, place: Path) -> list[str]:
        """Return the new names in the list of a host's thread files."""
        at = self._listed.get(place, 0)
        try:
            with (place / LIST).open("rb") as file:
                file.seek(at)
                whole, newline, _ = file.read().rpartition(b"\n")
        except OSError:
            return []
        self._listed[place] = at + len(whole) + len(newline)
        return [f"{name.decode()}.ttl" for name in whole.split(b"\n") if NAME.fullmatch(name)]

    def _push(self, heap: list[Next], number: int, tail: ThreadTail, rows: Iterator[Row]) -> None:
        """Add the next row of a file to a heap, if it has one; `number` orders files with rows of one time."""
        with contextlib.suppress(OSError):
            row = next(rows, None)
            if row is not None:
                heapq.heappush(heap, (row.time, number, row, tail, rows))
                return
        self._open[_image(tail)] -= 1


def _image(tail: ThreadTail) -> Image:
    pid, tick, _ = tail.path.name.split(".", 2)
    return tail.path.parent.name, int(pid), int(tick)
