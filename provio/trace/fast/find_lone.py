"""Finds the lone files of a run (`lone_files`): `Gatherer` takes candidates out of a thread file as it is read;
`divide` decides which of them are lone, once the whole run is read.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterator
from itertools import chain

from provio.base.folders import folders
from provio.system.statx import Facts, Record
from provio.trace.assemble import described
from provio.trace.decode import path_of
from provio.trace.facts import Process
from provio.trace.fast import line_shapes
from provio.trace.fast.lone_files import (
    ALONE,
    FIRST_READ,
    READ_AGAIN,
    READ_BACK,
    READ_BESIDE,
    REPLACES,
    Lone,
    Records,
    Unit,
    Units,
    above,
    epochs_of,
    groups,
    is_read_only,
    moments_of,
    seen_in,
)
from provio.trace.run_facts import Trace
from provio.trace.trust import LONGEST, rejection

FIRST = 500  # openings of a process that are not lone if they read: they include its script and its settings files
BATCH = 500  # units
LATEST = 1 << 62  # ns since 1970
WINDOW = 4_000  # openings of a file that may get further records
OPENED = frozenset("a path device inode birthNs mtimeNs ctimeNs size flags openedNs openApi openElapsed".split())
NEEDED = frozenset({"path", "inode", "openedNs"})
CLOSED = frozenset("closedNs closedMtimeNs closedCtimeNs closedSize closedLinks".split())
READ = frozenset(
    "a object closed readApi reads readBytes readElapsed readLongest emptyReads firstRead lastRead".split()
)
WRITTEN = frozenset("a object closed writeApi writes writeBytes writeElapsed writeLongest firstWrite lastWrite".split())
ACCESS = re.compile(r"/a[0-9]+$")
# Files with a meaning by their names: programs, settings of interpreters, histories, values (the
# default of `record.parameter_files` and `record.metric_files`), files by which processes of a
# library find each other (`lineage.ranks`); and paths with links.
SOUGHT = re.compile(
    rb"\.py$|/__pycache__/|/pyvenv\.cfg$|/history\.sqlite|^/(?:dev|proc|sys)/|/\.\.?/|/(?:ompi|prte|openmpi-sessions)[.-]|"
    rb"pmix|/hsperfdata_|/lock\.mdb$|"
    rb"/(?:params|parameters|config|hparams|metrics|scores|results)\.(?:ya?ml|json|toml)$"
)


class Gatherer:
    """Takes the records of openings that may be lone out of one thread file, as they are read; the IRIs of the file are
    below `own`."""

    def __init__(self, lone: Lone, own: str) -> None:
        self.lone, self.own = lone, own
        self.parts: dict[str, Records] = {}
        self._label = re.compile(rf"({re.escape(own)}[^/]+/)o([0-9]+)")
        self._waiting: dict[
            str, Unit | None
        ] = {}  # by opening: units that may get further records; None: no access yet
        self._opened: Records = {}
        self._of: dict[str, str] = {}  # access → opening, of these
        self._full: dict[str, list[Unit]] = {}  # by process
        self._written: list[tuple[str, array[int], array[int], tuple[int, int]]] = []  # process, hashes, place

    def takes(self, iri: str, record: Record, found: Records) -> bool:
        """Return whether a record was taken. `found` holds the records of the file that were not: records of openings
        that turn out not to be lone are returned to it. Raises OSError, and Unusual for a second record of an access,
        which no shim writes."""
        kind = record.get("a", "")
        if iri in self._of or (not kind and iri not in found and ACCESS.search(iri)):
            raise line_shapes.Unusual
        take = {"FileVersion": self._opening, "Access": self._access, "AccessSizes": self._part, "Turn": self._part}
        if take.get(kind, self._close)(iri, record, found):
            return True
        for one in (iri, *record.values()):
            if one in self._opened:
                self._give_back(one, found)
        return False

    def _opening(self, iri: str, record: Record, found: Records) -> bool:
        label, mode = self._label.fullmatch(iri), int(record.get("flags", 0)) & os.O_ACCMODE
        if label is None or iri in found or iri in self._opened:
            return False
        if mode == os.O_RDONLY and int(label[2]) <= FIRST:
            return False
        if mode == os.O_RDWR or not (NEEDED <= record.keys() <= OPENED and self._is_usual(record)):
            return False
        if mode == os.O_WRONLY and int(record.get("size", 0)):  # earlier content may remain, or have the same key
            return False
        self._opened[iri], self._waiting[iri] = record, None
        if len(self._waiting) > 2 * WINDOW:
            self._complete(WINDOW, found)
        return True

    def _access(self, iri: str, record: Record, _: Records) -> bool:
        """Take the only access of an opening: a read or a write."""
        opening = record.get("object", "")
        if opening not in self._opened or self._waiting[opening] or not iri.startswith(above(opening)):
            return False
        only_read = is_read_only(self._opened[opening])
        whole = all(int(record.get(name, 0)) for name in moments_of(record))
        if not (whole and record.keys() <= (READ if only_read else WRITTEN) and self._is_usual(record)):
            return False
        self._waiting[opening], self._of[iri] = (opening, self._opened[opening], iri, record, {}), opening
        return True

    def _part(self, iri: str, record: Record, found: Records) -> bool:
        """Take the sizes of an access that was taken; those that come too late are stored in case it is not lone."""
        if rejection(record, self.own, self.own):
            return False
        sizes = record["a"] == "AccessSizes"
        access = described(iri, record["a"])
        unit = self._waiting.get(self._of.get(access, ""))
        if unit and sizes:
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
        return not rejection(record, self.own, self.own) and max(map(len, record.values())) <= LONGEST

    def _give_back(self, opening: str, found: Records) -> None:
        """Return the records of an opening to the others: it is not lone."""
        unit = self._waiting.pop(opening)
        dict.__setitem__(found, opening, self._opened.pop(opening))
        if unit:
            del self._of[unit[2]]
            dict.__setitem__(found, unit[2], unit[3])
            dict.update(found, unit[4])

    def _complete(self, count: int, found: Records) -> None:
        """Store the oldest openings: no further records of them are expected."""
        for opening in list(self._waiting)[:count]:
            unit = self._waiting[opening]
            if unit is None or ("lastWrite" in unit[3]) != ("closedMtimeNs" in unit[1]):
                self._give_back(opening, found)
                continue
            del self._waiting[opening], self._opened[opening], self._of[unit[2]]
            process = above(opening)
            units = self._full.setdefault(process, [])
            units.append(unit)
            if len(units) == BATCH:
                self._write(process)

    def _write(self, process: str) -> None:
        units = self._full.pop(process)
        inodes = array("q", (hash(Facts.of(record).lasting) for _, record, *_ in units))
        seen = array("q", (seen_in(record, "firstWrite" in counts) for _, record, _, counts, _ in units))
        self._written.append((process, inodes, seen, self.lone.write(units)))

    def end(self, found: Records) -> None:
        """At the end of the file, store the units and note the references of the other records. Raises OSError."""
        self._complete(len(self._waiting), found)
        for iri, record in found.items():
            self.lone.note(iri, record)
        for process in list(self._full):
            self._write(process)
        for process, inodes, seen, place in self._written:
            units = self.lone.of.setdefault(process, Units())
            units.inodes.extend(inodes)
            units.seen.extend(seen)
            units.places.append(place)
        for access, parts in self.parts.items():  # another file of the thread may have more
            self.lone.parts.setdefault(access, {}).update(parts)


def divide(lone: Lone, trace: Trace) -> Iterator[Records]:
    """Decide which units are lone; yield the records of the others."""
    _decide(lone, trace)
    for iri, units in lone.of.items():
        process, relations, latest = trace.processes.get(iri), iter(units.lone), 0
        epochs = epochs_of(process) if process else {}
        for batch in lone.batches(iri):
            rest: Records = {}
            for unit, relation in zip(batch, relations, strict=False):
                if relation:
                    latest = max(latest, epochs[above(unit[2])] + int(unit[3]["closed"]))
                else:
                    rest |= {unit[0]: unit[1], unit[2]: unit[3], **unit[4], **lone.parts.pop(unit[2], {})}
            if rest:
                yield rest
        if process:  # it was alive at least until then
            process.last_declared[""] = max(process.last_declared.get("", 0), latest)
    yield from lone.parts.values()  # of accesses in other files, which are no candidates
    lone.met, lone.inodes, lone.parts = set(), {}, {}


NOT_LONE, READS, FILLS, EMPTIES = range(4)  # kinds of candidates: the last two write, EMPTIES after it emptied the file


class _Candidates:
    """The candidates of all processes: hashes of their inodes, of the versions and paths that they read or wrote, and
    of their paths; their kinds; when they were opened and closed (ns since 1970)."""

    def __init__(self) -> None:
        self.inodes, self.seen, self.paths = array("q"), array("q"), array("q")
        self.kinds, self.opened, self.closed = bytearray(), array("q"), array("q")

    def add(self, lone: Lone, process: Process, named: set[bytes]) -> None:
        """Add the candidates of a process, except their inodes and versions. `named` are the paths on command lines."""
        epochs = epochs_of(process) if "startedNs" in process.record else {}
        for unit in chain.from_iterable(lone.batches(process.iri)):
            path, epoch = path_of(unit[1], "path") or b"", epochs.get(above(unit[2]), 0)
            joined = unit[0] in lone.met or unit[2] in lone.parts or path in named or SOUGHT.search(path)
            moved = lone.moved and not lone.moved.isdisjoint(folders(path))
            usual = not (joined or moved) and _is_in_order(unit, epoch) and lone.resolve(process, path) == path
            empties = int(unit[1].get("flags", 0)) & os.O_TRUNC
            kind = READS if "firstRead" in unit[3] else EMPTIES if empties else FILLS
            self.kinds.append(kind if usual else NOT_LONE)
            self.opened.append(int(unit[1]["openedNs"]) if usual else 0)
            self.closed.append(epoch + int(unit[3]["closed"]) if usual else 0)
            self.paths.append(hash(path))

    def relations(self, same: list[int], beside: int | None) -> list[int]:
        """Return the relations of the openings of one inode, at the places `same`, to each other: none for any that is
        not lone. One opening after the other writes the file, and its content is read in between. `beside` is the hash
        of the version and path in openings that are no candidates; None without these."""
        if beside == 0 or not all(self.kinds[at] for at in same) or len({self.paths[at] for at in same}) > 1:
            return []
        found, versions, current, written, read = dict[int, int](), set[int](), beside, 0, 0
        for at in sorted(same, key=self.opened.__getitem__):
            if self.kinds[at] == READS:
                if self.opened[at] <= written or self.seen[at] != (current or self.seen[at]):
                    return []  # it may have read another content
                found[at] = READ_BACK if written else READ_BESIDE if beside else READ_AGAIN if found else FIRST_READ
                read = max(read, self.closed[at])
            else:
                again = beside is not None or (found and self.kinds[at] == FILLS) or self.seen[at] in versions
                if again or self.opened[at] <= max(written, read):
                    return []
                found[at] = REPLACES if found else ALONE
                written = self.closed[at]
            current = self.seen[at]
            versions.add(current)
        if list(found.values()) == [FIRST_READ]:
            return [ALONE]
        return [found[at] for at in same]


def _decide(lone: Lone, trace: Trace) -> None:
    """Set the relation of each unit to the other openings of its file: 0 where any of them cannot be lone."""
    candidates, simple = _Candidates(), lone.simple and _is_simple(trace)
    named = {path for process in trace.processes.values() for path in process.named()} if simple else set()
    held = [units for iri, units in lone.of.items() if simple and iri in trace.processes]
    for iri, units in lone.of.items():
        if simple and iri in trace.processes:
            candidates.inodes.extend(units.inodes)
            candidates.seen.extend(units.seen)
            candidates.add(lone, trace.processes[iri], named)
        else:
            units.lone = bytearray(len(units.inodes))
    relations = bytearray(len(candidates.inodes))
    for same in groups(candidates.inodes):
        beside = lone.inodes.get(candidates.inodes[same[0]])
        for at, relation in zip(same, candidates.relations(same, beside), strict=False):
            relations[at] = relation
    start = 0
    for units in held:
        end = start + len(units.inodes)
        units.lone, units.inodes, start = relations[start:end], array("q"), end


def _is_in_order(unit: Unit, epoch: int) -> bool:
    """Return whether the moments of a unit are possible and in order."""
    opened, (first, last, closed) = int(unit[1]["openedNs"]), (int(unit[3][name]) for name in moments_of(unit[3]))
    return epoch > 0 and 0 < opened <= epoch + first <= epoch + last <= epoch + closed < LATEST


def _is_simple(trace: Trace) -> bool:
    """Return whether a run took place on one machine, without containers and unwatched programs, and without records of
    objects in files: reads and writes of these are reported a second time."""
    inside = any(process.containers for process in trace.processes.values())
    return not (trace.unwatched or trace.contained or trace.image or inside or len(trace.hosts) > 1)
