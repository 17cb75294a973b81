"""Lone files: what one opening of a run read or wrote, and nothing else in the run touched or names. A process may open
a million of them: their records lie in a file without a name, and what follows from them is stated in batches.

Nothing that follows from a lone file depends on another opening but which phase of its process read or wrote it. So a
run is concluded from without them; of each only the moments are held. `Gatherer` takes openings that may be lone out of
a thread file as it is read; `Lone` tells afterwards which are.
"""

from __future__ import annotations

import marshal
import os
import re
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO

from provio.admit import LONGEST, wrong
from provio.facts import Process
from provio.folders import folders
from provio.literals import path_of
from provio.plain import plain
from provio.run_facts import Trace
from provio.statx import Facts, Record

Records = dict[str, Record]
# The IRI and the record of an opening, those of its access, and the records of the access's sizes.
Unit = tuple[str, Record, str, Record, Records]

FIRST = 500  # openings of a process, which are never lone: among them are its script and its settings
BATCH = 500  # units
WINDOW = 4_000  # openings of a file of which more may be said
OPENED = frozenset("a path device inode birthNs mtimeNs ctimeNs size flags openedNs openApi openElapsed".split())
CLOSED = frozenset("closedNs closedMtimeNs closedCtimeNs closedSize closedLinks".split())
READ = frozenset(
    "a object closed readApi reads readBytes readElapsed readLongest emptyReads firstRead lastRead".split()
)
WRITTEN = frozenset("a object closed writeApi writes writeBytes writeElapsed writeLongest firstWrite lastWrite".split())
OPENING = re.compile(r"https://.*/o[0-9]+")
# Files that are looked for by their names: programs, settings of interpreters, histories; and paths with links in them.
SOUGHT = re.compile(rb"\.py$|/__pycache__/|/pyvenv\.cfg$|/history\.sqlite|^/(?:dev|proc|sys)/|/\.\.?/")


@plain(slots=True)
class Moments:
    """Of the lone files of a process: when each was first read that is no noise (`news`), when each was last written
    (`finished`), and when each was first read or written and by which of `apis` it was opened; in ns since 1970."""

    news: array[int]
    finished: array[int]
    first: array[int]
    api: array[int]
    apis: list[str]


class _Units:
    """The units of one process."""

    def __init__(self) -> None:
        self.inodes = array("q")  # their hashes
        self.lone = bytearray()  # 1 for each that is lone
        self.places: list[tuple[int, int, int]] = []  # of each batch: its offset, bytes, units


class Lone:
    """The lone files of a run; `beside` is a folder with room for their records, `resolve` returns a path that a process
    opened without links in it."""

    def __init__(self, beside: Path, resolve: Callable[[Process, bytes], bytes]) -> None:
        self.beside, self.resolve = beside, resolve
        self.of: dict[str, _Units] = {}  # by process
        self.met: set[str] = set()  # openings of which something else in the run speaks
        self.parts: dict[str, Records] = {}  # by access: what was said of it too late
        self._file: IO[bytes] | None = None

    def __len__(self) -> int:
        return sum(sum(units.lone) for units in self.of.values())

    def __bool__(self) -> bool:
        return True

    def note(self, records: Records) -> None:
        """Note of which openings some records speak."""
        for iri, record in records.items():
            self.met.update(one for one in (iri, *record.values()) if OPENING.fullmatch(one))

    def write(self, units: list[Unit]) -> tuple[int, int, int]:
        """Write a batch; return its place. Raises OSError."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self.beside)  # noqa: SIM115
        data = marshal.dumps(units)
        place = self._file.seek(0, os.SEEK_END)
        self._file.write(data)
        return place, len(data), len(units)

    def _batches(self, process: str) -> Iterator[list[Unit]]:
        for offset, size, _ in self.of[process].places if process in self.of else ():
            if self._file:
                self._file.seek(offset)
                yield marshal.loads(self._file.read(size))  # noqa: S302

    def units(self, process: str) -> Iterator[list[Unit]]:
        """Yield the lone units of a process, in batches."""
        number = 0
        for batch in self._batches(process):
            lone = self.of[process].lone
            units = [unit for at, unit in enumerate(batch, start=number) if lone[at]]
            number += len(batch)
            if units:
                yield units

    def divide(self, trace: Trace) -> Iterator[tuple[str, Records]]:
        """Tell which units are lone; yield the records of the others, with their process."""
        known = _inodes(trace) | _repeated(units.inodes for units in self.of.values())
        moved = _moved(trace)
        named = {path for process in trace.processes.values() for path in process.named()}
        for iri, units in self.of.items():
            process = trace.processes.get(iri)
            simple = process is not None and "startedNs" in process.record and _is_simple(trace)
            units.lone, number = bytearray(len(units.inodes)), 0
            for batch in self._batches(iri):
                rest: Records = {}
                for unit in batch:
                    path = path_of(unit[1], "path") or b""
                    apart = unit[0] in self.met or unit[2] in self.parts or units.inodes[number] in known
                    apart |= path in named or bool(SOUGHT.search(path)) or any(one in moved for one in folders(path))
                    if process and simple and not apart and self.resolve(process, path) == path:
                        units.lone[number] = 1
                    else:
                        rest |= {unit[0]: unit[1], unit[2]: unit[3], **unit[4], **self.parts.get(unit[2], {})}
                    number += 1
                if rest:
                    yield iri, rest
            units.inodes = array("q")
            if process:
                process.told[""] = max(process.told.get("", 0), self._last(process))
        self.met, self.parts = set(), {}

    def _last(self, process: Process) -> int:
        """When the process was last seen to read, write or close a lone file."""
        epochs, found = _epochs(process), 0
        for batch in self.units(process.iri):
            for _, _, access, counts, _ in batch:
                latest = max(int(counts.get(name, 0)) for name in ("closed", "lastRead", "lastWrite"))
                found = max(found, epochs[_above(access)] + latest)
        return found

    def moments(self, process: Process, noise: Callable[[bytes], bool]) -> Moments:
        """Return what is held of a process; `noise` tells whether the file of a path is noise."""
        found = Moments(array("q"), array("q"), array("q"), array("H"), [])
        epochs, numbers = _epochs(process), dict[str, int]()
        for batch in self.units(process.iri):
            for _, record, access, counts, _ in batch:
                epoch, reads = epochs[_above(access)], "firstRead" in counts
                first = epoch + int(counts["firstRead" if reads else "firstWrite"])
                if reads and not noise(path_of(record, "path") or b"/"):
                    found.news.append(first)
                last = 0 if reads else epoch + int(counts["lastWrite"])
                if last > int(record["openedNs"]):
                    found.finished.append(last)
                if "openApi" in record:
                    found.first.append(first)
                    found.api.append(numbers.setdefault(record["openApi"], len(numbers)))
        found.apis = list(numbers)
        return found


class Gatherer:
    """Takes of the records of one thread file, as they are met, those of openings that may be lone; `own` is the IRI
    that all of the file is below."""

    def __init__(self, lone: Lone, own: str) -> None:
        self.lone, self.own = lone, own
        self.met: set[str] = set()
        self.parts: dict[str, Records] = {}
        self._label = re.compile(rf"({re.escape(own)}[^/]+/)o([0-9]+)")
        self._waiting: dict[str, Unit | None] = {}  # by the opening: of what more may be said; None: no access yet
        self._opened: Records = {}
        self._of: dict[str, str] = {}  # access → the opening, among these
        self._full: dict[str, list[Unit]] = {}  # by process
        self._written: list[tuple[str, list[int], tuple[int, int, int]]] = []  # process, inodes, place

    def takes(self, iri: str, record: Record, found: Records) -> bool:
        """Take a record, or not. `found` are the records of the file that were not taken: what turns out not to be
        lone is given back to them. Raises OSError."""
        kind = record.get("a", "")
        take = {"FileVersion": self._opening, "Access": self._access, "AccessSizes": self._part, "Turn": self._part}
        if take.get(kind, self._close)(iri, record, found):
            return True
        for one in (iri, *record.values()):
            if OPENING.fullmatch(one):
                if one in self._opened:
                    self._give_back(one, found)
                self.met.add(one)
        return False

    def _opening(self, iri: str, record: Record, found: Records) -> bool:
        label = self._label.fullmatch(iri)
        if label is None or int(label[2]) <= FIRST or iri in found or iri in self._opened:
            return False
        mode = int(record.get("flags", 0)) & os.O_ACCMODE
        if mode == os.O_RDWR or "path" not in record or not (record.keys() <= OPENED and self._is_usual(record)):
            return False
        self._opened[iri], self._waiting[iri] = record, None
        if len(self._waiting) > 2 * WINDOW:
            self._pass_on(WINDOW, found)
        return True

    def _access(self, iri: str, record: Record, _: Records) -> bool:
        """Take an access that is all that was done to an opening: it was read, or else written."""
        opening = record.get("object", "")
        if opening not in self._opened or self._waiting[opening] or not iri.startswith(_above(opening)):
            return False
        reads = int(self._opened[opening].get("flags", 0)) & os.O_ACCMODE == os.O_RDONLY
        moments = ("firstRead", "lastRead") if reads else ("firstWrite", "lastWrite")
        whole = all(int(record.get(name, 0)) for name in (*moments, "closed"))
        if not (whole and record.keys() <= (READ if reads else WRITTEN) and self._is_usual(record)):
            return False
        self._waiting[opening], self._of[iri] = (opening, self._opened[opening], iri, record, {}), opening
        return True

    def _part(self, iri: str, record: Record, found: Records) -> bool:
        """Take the sizes of an access that was taken; what comes too late is kept for when that turns out not to be
        lone."""
        sizes = record["a"] == "AccessSizes"
        access = iri.rsplit("/", 1 if sizes else 2)[0]
        unit = self._waiting.get(self._of.get(access, ""))
        if unit and sizes and not wrong(record, self.own, self.own):
            unit[4][iri] = record
        elif access in self._of:
            self._give_back(self._of[access], found)
            return False
        elif access in found:
            return False
        else:
            self.parts.setdefault(access, {})[iri] = record
        return True

    def _close(self, iri: str, record: Record, _: Records) -> bool:
        if not self._waiting.get(iri) or not record.keys() <= CLOSED:
            return False
        self._opened[iri].update(record)
        return True

    def _is_usual(self, record: Record) -> bool:
        return not wrong(record, self.own, self.own) and max(map(len, record.values())) <= LONGEST

    def _give_back(self, opening: str, found: Records) -> None:
        """Let the records of an opening be among the others: it is not lone."""
        unit = self._waiting.pop(opening)
        dict.__setitem__(found, opening, self._opened.pop(opening))
        if unit:
            del self._of[unit[2]]
            dict.__setitem__(found, unit[2], unit[3])
            dict.update(found, unit[4])

    def _pass_on(self, count: int, found: Records) -> None:
        """Keep the oldest openings of which more might have been said."""
        for opening in list(self._waiting)[:count]:
            unit = self._waiting[opening]
            if unit is None or ("lastWrite" in unit[3]) != ("closedMtimeNs" in unit[1]):
                self._give_back(opening, found)
                continue
            del self._waiting[opening], self._opened[opening], self._of[unit[2]]
            process = _above(opening)
            units = self._full.setdefault(process, [])
            units.append(unit)
            if len(units) == BATCH:
                self._write(process)

    def _write(self, process: str) -> None:
        units = self._full.pop(process)
        inodes = [hash(Facts.of(record).lasting) for _, record, *_ in units]
        self._written.append((process, inodes, self.lone.write(units)))

    def end(self, found: Records) -> None:
        """Keep what was taken: the file is read. Raises OSError."""
        self._pass_on(len(self._waiting), found)
        for process in list(self._full):
            self._write(process)
        for process, inodes, place in self._written:
            units = self.lone.of.setdefault(process, _Units())
            units.inodes.extend(inodes)
            units.places.append(place)
        self.lone.met |= self.met
        self.lone.parts |= self.parts


def _is_simple(trace: Trace) -> bool:
    """Whether a run has nothing by which its openings concern each other: Tasks, words of programs, other machines,
    containers, programs that were not watched."""
    said = trace.said
    told = said.uses or said.entities or said.checkpoints
    return not (told or trace.tasks or trace.unwatched or trace.contained or trace.image or len(trace.hosts) > 1)


def _inodes(trace: Trace) -> set[int]:
    """The inodes (by their hash) of which the rest of a run speaks."""
    found: set[int] = set()
    for process in trace.processes.values():
        if "inode" in process.record:
            found.add(hash(Facts.of(process.record).lasting))
        found.update(hash(opening.facts.lasting) for opening in (*process.openings, *process.containers))
        found.update(hash(facts.lasting) for event in process.events if (facts := event.facts()))
    return found


def _repeated(inodes: Iterable[array[int]]) -> set[int]:
    """Those that occur twice."""
    together = array("q")
    for one in inodes:
        together.extend(one)
    ordered = sorted(together)
    return {one for one, other in pairwise(ordered) if one == other}


def _moved(trace: Trace) -> set[bytes]:
    """What was renamed; of a folder, what lies in it had another name."""
    events = (event for process in trace.processes.values() for event in process.events if event.kind == "Rename")
    return {os.path.normpath(path) for event in events if (path := event.text("from"))}


def _epochs(process: Process) -> dict[str, int]:
    return {thread.iri: thread.epoch for thread in process.threads}


def _above(iri: str) -> str:
    return iri[: iri.rindex("/") + 1]
