"""Lone files: files that a run only read, or that one opening after the other wrote from empty, and that are read in
between, and that nothing else in the run names or changes.

A process may open a million of them, or a few of them a million times: the records are in a temporary file, and their
triples are made in batches. The conclusions about an opening of a lone file depend on no other opening, except for the
phase of the process that it belongs to and for the first read of the file. So the conclusions about a run are drawn
without them; in memory are only the moments of each.
"""

from __future__ import annotations

import marshal
import os
import re
from array import array
from collections.abc import Callable, Iterator
from itertools import chain, groupby
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
SORTED = 200_000  # values that are sorted at once
# The relation of an opening of a lone file to the file's other openings. Those that describe a version: it needs none
# of them; it is the first of several that read a version which none of them wrote; it emptied the file and wrote it
# again. The others: a later one of such readers; it reads a version that another one wrote; some are no candidates.
ALONE, FIRST_READ, REPLACES, READ_AGAIN, READ_BACK, READ_BESIDE = range(1, 7)


@plain(slots=True)
class Read:
    """A version of a lone file that a process read, in one or several openings, with the moments of the first opening
    and of the first and last read (ns since 1970). `path` is its name, or None where a candidate describes it."""

    facts: Facts
    path: bytes | None
    opened: int
    first: int
    last: int
    noise: bool


@plain(slots=True)
class Moments:
    """The moments of a process's lone files, in ns since 1970: the first reads except noise (`news`), the last writes
    (`finished`, sorted), and the first read or write of each (`first`) with the index in `apis` of its open call
    (`api`). `inputs` are the files that other conclusions need, too; `last` is the last moment of each thread."""

    news: array[int]
    finished: array[int]
    first: array[int]
    api: array[int]
    apis: list[str]
    inputs: list[Read]
    last: dict[str, int]


class Units:
    """The candidates of one process. `inodes` and `seen` are hashes: of the inode, and of the version that was read or
    written together with its path; the first are only needed until the relations are known."""

    def __init__(self) -> None:
        self.inodes, self.seen = array("q"), array("q")
        self.lone = bytearray()  # for each its relation to others, 0 for one that is not lone
        self.places: list[tuple[int, int]] = []  # offset and length of each batch, in bytes


class Lone:
    """The lone files of a run. `folder` has room for their records; `resolve` takes a process and a path that it
    opened, and returns that path without links."""

    def __init__(self, folder: Path, resolve: Callable[[Process, bytes], bytes]) -> None:
        self.folder, self.resolve = folder, resolve
        self.of: dict[str, Units] = {}  # by process
        # References of the other records: openings; inodes (by hash), each with the hash of the version and path that
        # was opened for reading, or 0; old names of renames; and whether none of these records can connect openings.
        self.met: set[str] = set()
        self.inodes: dict[int, int] = {}
        self.moved: set[bytes] = set()
        self.simple = True
        self.parts: dict[str, Records] = {}  # by access: records that came too late
        self._file: IO[bytes] | None = None

    def __len__(self) -> int:
        """Return the number of files, except those that openings which are no candidates used, too."""
        return sum(units.lone.count(relation) for units in self.of.values() for relation in (ALONE, FIRST_READ))

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
            inode, seen = hash(Facts.of(record).lasting), seen_in(record) if _only_read(record) else 0
            self.inodes[inode] = seen if self.inodes.get(inode, seen) == seen else 0
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

    def units(self, process: str) -> Iterator[list[tuple[Unit, int, int]]]:
        """Yield the openings of lone files of a process, each with its relation to others and the hash of its version,
        in batches."""
        number = 0
        for batch in self.batches(process):
            of = self.of[process]
            units = [(unit, of.lone[at], of.seen[at]) for at, unit in enumerate(batch, start=number) if of.lone[at]]
            number += len(batch)
            if units:
                yield units

    def moments(self, process: Process, noise: Callable[[bytes, bytes], bool]) -> Moments:
        """Return the moments of a process's lone files; `noise` decides about a file by its name and path."""
        found = Moments(array("q"), array("q"), array("q"), array("H"), [], [], {})
        versions, reads = array("q"), array("q")  # that several openings may have read: the first read of each
        inputs: dict[int, Read] = {}
        epochs, numbers = epochs_of(process), dict[str, int]()
        for (_, record, access, counts, _), relation, seen in chain.from_iterable(self.units(process.iri)):
            thread, opened, wrote = above(access), int(record["openedNs"]), "firstWrite" in counts
            first, last, _ = (epochs[thread] + int(counts[name]) for name in moments_of(counts))
            found.last[thread] = max(last, found.last.get(thread, 0))
            path = path_of(record, "path") or b"/"
            silent = wrote or noise(path, path)
            if relation == READ_BESIDE or (relation == READ_BACK and silent):
                beside = path if relation == READ_BESIDE else None
                known = inputs.setdefault(seen, Read(Facts.of(record), beside, opened, first, last, silent))
                known.opened, known.first = min(known.opened, opened), min(known.first, first)
                known.last = max(known.last, last)
            elif not silent and relation == ALONE:
                found.news.append(first)
            elif not silent:
                versions.append(seen)
                reads.append(first)
            if wrote and last > opened:
                found.finished.append(last)
            if record.get("openApi"):
                found.first.append(first)
                found.api.append(numbers.setdefault(record["openApi"], len(numbers)))
        found.news.extend(min(reads[at] for at in same) for same in groups(versions))
        found.finished = array("q", sorted(found.finished))
        found.apis, found.inputs = list(numbers), list(inputs.values())
        return found


def described_elsewhere(units: list[tuple[Unit, int, int]]) -> dict[str, bool]:
    """Return those of the openings whose files another opening describes, with whether that one wrote it."""
    return {unit[0]: relation == READ_BACK for unit, relation, _ in units if relation > REPLACES}


def groups(values: array[int]) -> Iterator[list[int]]:
    """Yield the places of each value, in ascending order; about SORTED different values are sorted at once."""
    parts = [array("q") for _ in range(1 + len(values) // SORTED)]
    for at, one in enumerate(values):
        parts[one % len(parts)].append(at)
    for part in parts:
        places = sorted(part, key=values.__getitem__)
        yield from (list(same) for _, same in groupby(places, key=values.__getitem__))


def moments_of(counts: Record) -> tuple[str, str, str]:
    """Return the names of the moments of an access, in their order."""
    return ("firstWrite", "lastWrite", "closed") if "firstWrite" in counts else ("firstRead", "lastRead", "closed")


def is_read_only(record: Record) -> bool:
    """Return whether the record of an opening is of one that can only read."""
    return int(record.get("flags", 0)) & os.O_ACCMODE == os.O_RDONLY


def seen_in(record: Record, written: bool = False) -> int:
    """Return the hash of the version and path in the record of an opening: of the version that it found, or with
    `written` the one that it left."""
    facts = Facts.of(record)
    return hash(((facts.later(record, "closed") if written else facts).key, record.get("path")))


def _only_read(record: Record) -> bool:
    """Return whether a record is of an opening that could only read, of a file that did not change then."""
    return record.get("a") == "FileVersion" and is_read_only(record) and "closedMtimeNs" not in record


def epochs_of(process: Process) -> dict[str, int]:
    """Return the epoch of each thread's moments, in ns since 1970."""
    return {thread.iri: thread.epoch for thread in process.threads}


def above(iri: str) -> str:
    """Return the parent of an IRI, with the slash."""
    return iri[: iri.rindex("/") + 1]
