"""Lone files: files that one opening of a run read or wrote, and that nothing else in the run accesses or names.

A process may open a million of them: their records are in a temporary file, and their triples are made in batches. The
conclusions about a lone file depend on no other opening, except for the phase of the process that it belongs to. So the
conclusions about a run are drawn without them; in memory are only the moments of each.
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
from provio.trace.assemble import DETAILS, described
from provio.trace.decode import path_of
from provio.trace.facts import Process

Records = dict[str, Record]
# IRI and record of an opening, IRI and record of its access, and the records of the access's sizes.
Unit = tuple[str, Record, str, Record, Records]

OPENING = re.compile(r"https://.*/o[0-9]+")
ENTITY = re.compile(r"/[0-9]+\.[0-9]+\.[0-9a-z]+/e[0-9]+$")  # events of a thread have such names one level below
# Tasks, programs that were not watched, and declarations that may be about any file.
JOINING = frozenset({"Task", "Gap", "UsedSaid", "GeneratedSaid", "Checkpoint"})


@plain(slots=True)
class Moments:
    """The moments of a process's lone files, in ns since 1970: the first reads except noise (`news`), the last writes
    (`finished`), and the first read or write of each (`first`) with the index in `apis` of its open call (`api`)."""

    news: array[int]
    finished: array[int]
    first: array[int]
    api: array[int]
    apis: list[str]


class Units:
    """The candidates of one process."""

    def __init__(self) -> None:
        self.inodes = array("q")  # their hashes
        self.lone = bytearray()  # 1 for each lone one
        self.places: list[tuple[int, int]] = []  # offset and length of each batch, in bytes


class Lone:
    """The lone files of a run. `folder` has room for their records; `resolve` takes a process and a path that it
    opened, and returns that path without links."""

    def __init__(self, folder: Path, resolve: Callable[[Process, bytes], bytes]) -> None:
        self.folder, self.resolve = folder, resolve
        self.of: dict[str, Units] = {}  # by process
        # References of the other records: openings, inodes (by hash), old names of renames; and whether none of these
        # records can connect openings.
        self.met: set[str] = set()
        self.inodes: set[int] = set()
        self.moved: set[bytes] = set()
        self.simple = True
        self.parts: dict[str, Records] = {}  # by access: records that came too late
        self._file: IO[bytes] | None = None

    def __len__(self) -> int:
        return sum(sum(units.lone) for units in self.of.values())

    def __bool__(self) -> bool:
        return True

    def note_all(self, records: Records) -> None:
        """Note the references of the records of a file without candidates, and take out the details of accesses that
        may be candidates of an earlier file of the same thread."""
        for iri, record in list(records.items()):
            self.note(iri, record)
            kind = record.get("a", "")
            if kind in DETAILS and described(iri, kind) not in records:
                self.parts.setdefault(described(iri, kind), {})[iri] = records.pop(iri)

    def note(self, iri: str, record: Record) -> None:
        """Note the references of a record that does not belong to a candidate."""
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
            import tempfile  # slow to import, and rarely needed

            self._file = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115
        data = marshal.dumps(units)
        place = self._file.seek(0, os.SEEK_END)
        self._file.write(data)
        self._file.flush()  # raises now if there is no room
        return place, len(data)

    def batches(self, process: str) -> Iterator[list[Unit]]:
        """Yield all candidates of a process, in batches."""
        for offset, size in self.of[process].places if process in self.of else ():
            if self._file:
                self._file.seek(offset)
                yield marshal.loads(self._file.read(size))  # noqa: S302

    def units(self, process: str) -> Iterator[list[Unit]]:
        """Yield the lone files of a process, in batches."""
        number = 0
        for batch in self.batches(process):
            lone = self.of[process].lone
            units = [unit for at, unit in enumerate(batch, start=number) if lone[at]]
            number += len(batch)
            if units:
                yield units

    def moments(self, process: Process, noise: Callable[[bytes, bytes], bool]) -> Moments:
        """Return the moments of a process's lone files; `noise` decides about a file by its name and path."""
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
    """Return the epoch of each thread's moments, in ns since 1970."""
    return {thread.iri: thread.epoch for thread in process.threads}


def above(iri: str) -> str:
    """Return the parent of an IRI, with the slash."""
    return iri[: iri.rindex("/") + 1]
