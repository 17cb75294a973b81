"""Lone files: what one opening of a run read or wrote, and nothing else in the run touched or names. A process may open
a million of them: their records lie in a file without a name, and what follows from them is stated in batches.

Nothing that follows from a lone file depends on another opening but which phase of its process read or wrote it. So a
run is concluded from without them; of each only the moments are held. Openings that may be lone are taken out of a
thread file as it is read (`trace_lone`).
"""

from __future__ import annotations

import marshal
import os
import re
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from provio.base.records import plain
from provio.system.statx import Facts, Record
from provio.trace.decode import path_of
from provio.trace.facts import Process

Records = dict[str, Record]
# The IRI and the record of an opening, those of its access, and the records of the access's sizes.
Unit = tuple[str, Record, str, Record, Records]

OPENING = re.compile(r"https://.*/o[0-9]+")
ENTITY = re.compile(r"/[0-9]+\.[0-9]+\.[0-9a-z]+/e[0-9]+$")  # a thread's events have such names, too, one level below
# Tasks, programs that were not watched, and words of a program that may be about any file.
JOINING = frozenset({"Task", "Gap", "UsedSaid", "GeneratedSaid", "Checkpoint"})


@plain(slots=True)
class Moments:
    """Of the lone files of a process: when each was first read that is no noise (`news`), when each was last written
    (`finished`), and when each was first read or written and by which of `apis` it was opened; in ns since 1970."""

    news: array[int]
    finished: array[int]
    first: array[int]
    api: array[int]
    apis: list[str]


class Units:
    """The units of one process."""

    def __init__(self) -> None:
        self.inodes = array("q")  # their hashes
        self.lone = bytearray()  # 1 for each that is lone
        self.places: list[tuple[int, int]] = []  # of each batch: its offset and length, in bytes


class Lone:
    """The lone files of a run. `beside` is a folder with room for their records; `resolve` takes a process and a path
    that it opened, and returns that path without links."""

    def __init__(self, beside: Path, resolve: Callable[[Process, bytes], bytes]) -> None:
        self.beside, self.resolve = beside, resolve
        self.of: dict[str, Units] = {}  # by process
        # Of what the rest of the run speaks: openings, inodes (by their hash), names that became others; and whether it
        # has nothing by which openings concern each other.
        self.met: set[str] = set()
        self.inodes: set[int] = set()
        self.moved: set[bytes] = set()
        self.simple = True
        self.parts: dict[str, Records] = {}  # by access: what was said of it too late
        self._file: IO[bytes] | None = None

    def __len__(self) -> int:
        return sum(sum(units.lone) for units in self.of.values())

    def __bool__(self) -> bool:
        return True

    def note(self, iri: str, record: Record) -> None:
        """Note of what a record speaks that is not of an opening that may be lone."""
        kind = record.get("a")
        if "inode" in record:
            self.inodes.add(hash(Facts.of(record).lasting))
        if kind == "Rename":
            self.moved.add(os.path.normpath(path_of(record, "from") or b"."))
        if kind in JOINING or ENTITY.search(iri):
            self.simple = False
        self.met.update(one for one in (iri, *record.values()) if OPENING.fullmatch(one))

    def write(self, units: list[Unit]) -> tuple[int, int]:
        """Write a batch; return its offset and length. Raises OSError."""
        if self._file is None:
            import tempfile  # slow to import, and seldom wanted

            self._file = tempfile.TemporaryFile(dir=self.beside)  # noqa: SIM115
        data = marshal.dumps(units)
        place = self._file.seek(0, os.SEEK_END)
        self._file.write(data)
        self._file.flush()  # whether there is room shows now
        return place, len(data)

    def batches(self, process: str) -> Iterator[list[Unit]]:
        """Yield all units of a process."""
        for offset, size in self.of[process].places if process in self.of else ():
            if self._file:
                self._file.seek(offset)
                yield marshal.loads(self._file.read(size))  # noqa: S302

    def units(self, process: str) -> Iterator[list[Unit]]:
        """Yield the lone units of a process, in batches."""
        number = 0
        for batch in self.batches(process):
            lone = self.of[process].lone
            units = [unit for at, unit in enumerate(batch, start=number) if lone[at]]
            number += len(batch)
            if units:
                yield units

    def moments(self, process: Process, noise: Callable[[bytes, bytes], bool]) -> Moments:
        """Return what is held of a process; `noise` tells whether a file is noise, by its name and the path."""
        found = Moments(array("q"), array("q"), array("q"), array("H"), [])
        epochs, numbers = epochs_of(process), dict[str, int]()
        for batch in self.units(process.iri):
            for _, record, access, counts, _ in batch:
                epoch, reads = epochs[above(access)], "firstRead" in counts
                first = epoch + int(counts["firstRead" if reads else "firstWrite"])
                path = path_of(record, "path") or b"/"
                if reads and not noise(path, path):
                    found.news.append(first)
                last = 0 if reads else epoch + int(counts["lastWrite"])
                if last > int(record["openedNs"]):
                    found.finished.append(last)
                if record.get("openApi"):
                    found.first.append(first)
                    found.api.append(numbers.setdefault(record["openApi"], len(numbers)))
        found.apis = list(numbers)
        return found


def epochs_of(process: Process) -> dict[str, int]:
    """Return what the moments of each thread count from, in ns since 1970."""
    return {thread.iri: thread.epoch for thread in process.threads}


def above(iri: str) -> str:
    """Return the IRI that another lies below."""
    return iri[: iri.rindex("/") + 1]
