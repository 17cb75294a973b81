"""Which processes of a run have to do with each other: what each touched, wrote, moved and told of in, sets of their
numbers out.

Two have to do with each other where one of them wrote or moved a file that the other touched, where both used one pipe
or connection, or where what one told of is said of what the other did. What all of them read and none wrote ties no
two: that it was read each says by itself.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from provio.base.algorithms import Disjoint
from provio.base.records import field, plain, replace
from provio.lineage.identity import without_task
from provio.lineage.model import inode_hash
from provio.lineage.phases import Origin, origins
from provio.lineage.spans import HANDS_ON
from provio.lineage.tasks import divide
from provio.system.statx import Facts
from provio.trace.facts import Event, Opening, Process, Thread
from provio.trace.run_facts import Trace

Key = TypeVar("Key", int, bytes)
TOGETHER = 0  # the number in the place of all that is told together


@plain()
class Ties:
    """Who has to do with whom, by the numbers that processes have from 1 on; `common` are the inodes (by their hash)
    that several sets of them read, `wide` those that more than `many` touched and one wrote: these tie none, where what
    became of them can be told before anything else is (`lineage.shared`)."""

    many: int
    sets: Disjoint = field(default_factory=lambda: Disjoint(1))
    wide: set[int] = field(default_factory=set)
    bound: set[int] = field(default_factory=set)  # processes of which nothing is told before the rest
    tied: set[int] = field(default_factory=set)  # inodes of which nothing is
    common: set[int] = field(default_factory=set)
    touched: dict[int, list[int] | int] = field(default_factory=dict)  # inode → who touched it
    written: set[int] = field(default_factory=set)
    folders: dict[bytes, list[int] | int] = field(default_factory=dict)  # folder → who touched what lies in it
    channels: dict[int, int] = field(default_factory=dict)  # pipe, or end of a connection → who used it first
    changed: list[tuple[int, int]] = field(default_factory=list)  # (inode, who changed it)
    renamed: list[tuple[int, int, bytes, bytes]] = field(default_factory=list)  # (inode, who, from, to)
    told: set[int] = field(default_factory=set)  # who told of configurations or metrics
    moved: bool = False  # whether a folder in which something was touched was renamed
    saved: list[tuple[int, bytes]] = field(default_factory=list)  # (who told of a checkpoint, where)

    def touch(self, facts: Facts, number: int, written: bool) -> None:
        """Note that a file was touched, and whether in a way that concerns all others that touch it."""
        key = inode_hash(facts)
        _add(self.touched, key, number)
        if written:
            self.written.add(key)

    def lies(self, path: bytes | None, number: int) -> None:
        """Note the path of something that was touched."""
        if path:
            above = path.rpartition(b"/")[0]  # what `dirname` says, but for slashes that follow each other
            _add(self.folders, os.path.dirname(path) if above[-1:] in b"/" else above, number)

    def change(self, event: Event, number: int) -> None:
        """Note a call on a file, or on a name."""
        facts, old, new = event.facts(), event.text("from"), event.text("to")
        for path in (event.text("path"), old, new):
            self.lies(path, number)
        if facts and event.kind == "Rename" and old and new:
            self.renamed.append((inode_hash(facts), number, old, new))
        if facts:
            self.changed.append((inode_hash(facts), number))

    def channel(self, opening: Opening, number: int) -> None:
        """Note a pipe or connection that was used."""
        host, device, known = opening.process.host, opening.facts.device, opening.connection
        keys: list[object] = [(host, device, opening.facts.inode)]
        if known.local and known.peer:
            keys = [tuple(sorted((known.local, known.peer)))]
        elif known.peer_inode:
            keys.append((host, device, known.peer_inode))
        elif known.peer_pid:  # whose other end it is may be told by the process alone
            keys += [(pid, opening.path) for pid in (opening.process.pid, known.peer_pid)]
        for key in map(hash, keys):
            self.sets.join(self.channels.setdefault(key, number), number)

    def close(self) -> None:
        """Put together all that has to do with each other by what was noted."""
        moved = [one for one in self.renamed if one[0] not in self.touched]  # a folder, perhaps
        below = sorted(self.folders) if moved or self.saved else []
        for key, number in self.changed:
            _add(self.touched, key, number)
            self.written.add(key)
        places = (self._within(below, path) for _, _, *paths in moved for path in paths)
        self.moved = any(map(any, places))
        if not self.saved and not self.moved:
            self.wide = {key for key in self.written - self.tied if self._is_wide(self.touched[key])}
        for key, known in self.touched.items():
            if isinstance(known, list) and key not in self.wide:
                if key in self.written:
                    self._join(known[0], known)
                else:
                    self.common.add(key)
        for _, number, old, new in moved:
            self._join(number, self._within(below, old))
            self._join(number, self._within(below, new))
        if self.saved:  # with what was in force in all of the run
            self._join(TOGETHER, self.told)
        for number, path in self.saved:
            self._join(TOGETHER, [number])
            self._join(number, self._within(below, os.path.normpath(path), beside=True))

    def _is_wide(self, known: list[int] | int) -> bool:
        return isinstance(known, list) and len(set(known)) > self.many and self.bound.isdisjoint(known)

    def touched_wide(self) -> dict[int, set[int]]:
        """Return who touched such files, and which."""
        found: dict[int, set[int]] = {}
        for key in self.wide:
            known = self.touched[key]
            for number in known if isinstance(known, list) else ():
                found.setdefault(number, set()).add(key)
        return found

    def is_hot(self, key: int) -> bool:
        """Tell whether a file (by its inode's hash) is likely to be wide, as far as is known by now."""
        known = self.touched.get(key)
        return isinstance(known, list) and len(known) > self.many and key in self.written

    def _join(self, number: int, others: Iterable[int]) -> None:
        for other in others:
            self.sets.join(number, other)

    def _within(self, folders: list[bytes], path: bytes, beside: bool = False) -> Iterator[int]:
        """Who touched what lies below a path; of what is no folder, what lies `beside` it."""
        found: list[bytes] = []
        place = bisect_left(folders, path)
        while place < len(folders) and folders[place].startswith(path):
            if folders[place] == path or folders[place].startswith(path.rstrip(b"/") + b"/"):
                found.append(folders[place])
            place += 1
        for folder in found or ([os.path.dirname(path)] if beside else []):
            known = self.folders.get(folder, [])
            yield from known if isinstance(known, list) else [known]


def _add(known: dict[Key, list[int] | int], key: Key, number: int) -> None:
    """Add a number to what most have one of."""
    found = known.get(key)
    if found is None:
        known[key] = number
    elif isinstance(found, list):
        if found[-1] != number:
            found.append(number)
    elif found != number:
        known[key] = [found, number]


# What is kept of a process when its files are let go: what others need of it, or what it did to some files; a process
# in, another one or less of it out.


TIES = frozenset({"Fork", "Spawn", "Exec", "ExecFailed", "ChildEnd"})  # events that concern other processes


def outline(process: Process, script: Opening | None) -> Process:
    """Return what there is to know of a process for others."""
    record = {name: sys.intern(value) for name, value in process.record.items()}
    found = Process(process.iri, process.host, process.pid, process.tick, process.image_number, record)
    found._started, found._ended = process.started, process.ended
    thread = Thread("", found, 0, 0)
    for event in process.events:
        if event.kind in TIES:
            found.events.append(Event(event.iri, event.kind, found, thread, event.at, event.packed.packed()))
    prefixes = [one for one in process.openings if one.path and one.path.endswith(b"/pyvenv.cfg")]
    for opening in ([script] if script else []) + prefixes:
        kept = replace(opening, process=found, accesses=[], copied_from=(), copied_to=(), members=())
        found.openings.append(kept)
    return found


def concerning(process: Process, files: frozenset[int]) -> Process:
    """Leave of a process what concerns some files alone, by the hash of their inodes."""
    process._started, process._ended = process.started, process.ended
    process.openings = [one for one in process.openings if inode_hash(one.facts) in files]
    process.containers = [one for one in process.containers if inode_hash(one.facts) in files]
    known = {one.iri for one in process.openings}
    maps = {e.iri for e in process.events if e.record.get("object") in known}
    process.events = [e for e in process.events if _concerns(e, files, known, maps)]
    process.failures, process.within, process.summed = [], [], []
    process.record = {name: process.record[name] for name in ("image", "rank") if name in process.record}
    _pack(process)
    for member in (member for file in process.containers for member in file.members):
        member.record = {name: member.record[name] for name in ("created",) if name in member.record}
    return process


def _pack(process: Process) -> None:
    """Have small what is kept of a process."""
    for event in process.events:
        event.packed = event.packed.packed()
    for opening in (*process.openings, *process.containers):
        for access in (*opening.accesses, *(access for member in opening.members for access in member.accesses)):
            access.packed = access.packed.packed()


def _concerns(event: Event, files: frozenset[int], openings: set[str], maps: set[str]) -> bool:
    if event.kind in HANDS_ON or event.record.get("object") in openings or event.record.get("map") in maps:
        return True
    facts = event.facts()
    return facts is not None and inode_hash(facts) in files


# What each image of a run comes from: the processes of the run in; the script that each runs, and who is told
# together with its parents, out.


def origins_of(whole: Trace) -> dict[str, Origin]:
    """What each image comes from: a Task is where its process launched others."""
    divided = divide(whole).trace
    for iri, process in whole.processes.items():
        divided.processes[iri]._started = process.started
    return origins(divided)


@plain()
class Descent:
    """The images of a run by what each comes from, and by the numbers that they have in `ties`."""

    origins: dict[str, Origin]
    number_of: Mapping[str, int]
    ties: Ties

    def script(self, iri: str, scripts: dict[str, Facts | None]) -> Facts | None:
        """What a process has of a script: a fork runs its parent's."""
        line, origin = [iri], self.origins.get(iri)
        while line[-1] not in scripts and origin and origin.fork and len(line) < len(self.number_of):
            line.append(without_task(origin.process.iri))
            origin = self.origins.get(line[-1])
        found = scripts.get(line[-1])
        for one in line if found else ():
            scripts[one] = found
        return found

    def join_lines(self, piped: Iterable[str], inside: set[str], unwatched: set[int]) -> None:
        """Put together lines of parents. Between who asks by a pipe and who answers there may be others; a fork has
        what its parent has in memory of what lies in a file; a program that could not be watched has what it was
        started with."""
        for iri in dict.fromkeys(piped):
            self._join_line(iri, self._hears(iri), forks=False)
        for iri, origin in self.origins.items() if inside else ():
            if origin.fork:
                self._join_line(iri, inside.__contains__, forks=True)
        for iri, origin in self.origins.items() if unwatched else ():
            if self.number_of[iri] in unwatched:
                self.ties.sets.join(self.number_of[iri], self.number_of[without_task(origin.process.iri)])

    def _hears(self, iri: str) -> Callable[[str], bool]:
        find, number = self.ties.sets.find, self.number_of[iri]
        return lambda above: find(self.number_of[above]) == find(number)

    def _join_line(self, iri: str, ends: Callable[[str], bool], forks: bool) -> None:
        """Put a process together with those that it comes from, up to the last at which the line ends."""
        line, known, origin = [iri], {iri}, self.origins.get(iri)
        while origin and (origin.fork or not forks):
            above = without_task(origin.process.iri)
            if above in known:
                break
            known.add(above)
            line.append(above)
            if ends(above):
                for one in line:
                    self.ties.sets.join(self.number_of[above], self.number_of[one])
                line = [above]
            origin = self.origins.get(above)
