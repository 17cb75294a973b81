"""Group the processes of a large run that must be in the same partition, because conclusions about one need the other.

In: the files, pipes and connections that each process used, its renames and its declarations.
Out: sets of process numbers.

Two processes are in one group if one of them wrote or renamed a file that the other used, if both used the same pipe
or connection, or if a declaration of one is about a file of the other. A file that processes only read joins none: the
conclusions about each reader need only the reader.
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
ATTRIBUTES = frozenset({"GetAttribute", "SetAttribute"})
SINGLE_GROUP = 0  # stands for a process in the group of all declarations that need each other


@plain()
class Groups:
    """The groups, as sets of process numbers (from 1); inodes are represented by their hashes.

    `common` are the inodes that several groups read. `wide` are those that more than `limit` processes used and at
    least one wrote: they join no processes, because they are evaluated before the partitions
    (`lineage.shared_inodes`).
    """

    limit: int
    sets: Disjoint = field(default_factory=lambda: Disjoint(1))
    wide: set[int] = field(default_factory=set)
    excluded: set[int] = field(default_factory=set)  # processes; an inode that one of them used is never `wide`
    excluded_inodes: set[int] = field(default_factory=set)  # other inodes that are never `wide`
    common: set[int] = field(default_factory=set)
    users: dict[int, list[int] | int] = field(default_factory=dict)  # inode → processes that used it
    written: set[int] = field(default_factory=set)
    folder_users: dict[bytes, list[int] | int] = field(default_factory=dict)  # folder → processes that used its files
    channels: dict[int, int] = field(default_factory=dict)  # pipe, or end of a connection → its first user
    changed: list[tuple[int, int]] = field(default_factory=list)  # (inode, process that changed it)
    renamed: list[tuple[int, int, bytes, bytes]] = field(default_factory=list)  # (inode, process, from, to)
    declarers: set[int] = field(default_factory=set)  # processes that declared configurations or metrics
    folder_renamed: bool = False  # whether a folder with used files was renamed
    checkpoints: list[tuple[int, bytes]] = field(default_factory=list)  # (process that declared it, path)

    def add_use(self, facts: Facts, number: int, written: bool) -> None:
        """Add the use of a file; `written` if it affects all other users of the file."""
        key = inode_hash(facts)
        _add(self.users, key, number)
        if written:
            self.written.add(key)

    def add_path(self, path: bytes | None, number: int) -> None:
        """Add the path of a used file."""
        if path:
            above = path.rpartition(b"/")[0]  # equals `dirname`, except for consecutive slashes
            _add(self.folder_users, os.path.dirname(path) if above[-1:] in b"/" else above, number)

    def add_event(self, event: Event, number: int) -> None:
        """Add a call on a file or on a name."""
        facts, old, new = event.facts(), event.text("from"), event.text("to")
        for path in (event.text("path"), old, new):
            self.add_path(path, number)
        if facts and event.kind == "Rename" and old and new:
            self.renamed.append((inode_hash(facts), number, old, new))
        if facts:
            self.changed.append((inode_hash(facts), number))
        if facts and event.kind in ATTRIBUTES:  # their states have one order
            self.excluded_inodes.add(inode_hash(facts))

    def add_channel(self, opening: Opening, number: int) -> None:
        """Add the use of a pipe or connection."""
        host, device, known = opening.process.host, opening.facts.device, opening.connection
        keys: list[object] = [(host, device, opening.facts.inode)]
        if known.local and known.peer:
            keys = [tuple(sorted((known.local, known.peer)))]
        elif known.peer_inode:
            keys.append((host, device, known.peer_inode))
        elif known.peer_pid:  # possibly only the peer's process id is known
            keys += [(pid, opening.path) for pid in (opening.process.pid, known.peer_pid)]
        for key in map(hash, keys):
            self.sets.join(self.channels.setdefault(key, number), number)

    def join(self) -> None:
        """Join the processes that must be in one group, after all uses were added."""
        moved = [one for one in self.renamed if one[0] not in self.users]  # possibly folders
        below = sorted(self.folder_users) if moved or self.checkpoints else []
        for key, number in self.changed:
            _add(self.users, key, number)
            self.written.add(key)
        places = (self._users_below(below, path) for _, _, *paths in moved for path in paths)
        self.folder_renamed = any(map(any, places))
        if not self.checkpoints and not self.folder_renamed:
            self.wide = {key for key in self.written - self.excluded_inodes if self._is_wide(self.users[key])}
        for key, known in self.users.items():
            if isinstance(known, list) and key not in self.wide:
                if key in self.written:
                    self._join(known[0], known)
                else:
                    self.common.add(key)
        for _, number, old, new in moved:
            self._join(number, self._users_below(below, old))
            self._join(number, self._users_below(below, new))
        if self.checkpoints:  # a checkpoint refers to the configurations and metrics in force in the whole run
            self._join(SINGLE_GROUP, self.declarers)
        for number, path in self.checkpoints:
            self._join(SINGLE_GROUP, [number])
            self._join(number, self._users_below(below, os.path.normpath(path), in_parent=True))

    def _is_wide(self, known: list[int] | int) -> bool:
        return isinstance(known, list) and len(set(known)) > self.limit and self.excluded.isdisjoint(known)

    def users_of_wide(self) -> dict[int, set[int]]:
        """Return the processes that used wide inodes, each with these inodes."""
        found: dict[int, set[int]] = {}
        for key in self.wide:
            known = self.users[key]
            for number in known if isinstance(known, list) else ():
                found.setdefault(number, set()).add(key)
        return found

    def is_wide_so_far(self, key: int) -> bool:
        """Return whether an inode is wide by the uses added so far."""
        known = self.users.get(key)
        return isinstance(known, list) and len(known) > self.limit and key in self.written

    def _join(self, number: int, others: Iterable[int]) -> None:
        for other in others:
            self.sets.join(number, other)

    def _users_below(self, folders: list[bytes], path: bytes, in_parent: bool = False) -> Iterator[int]:
        """Yield the processes that used files below a path; if it is no folder and `in_parent`, files in its parent."""
        found: list[bytes] = []
        place = bisect_left(folders, path)
        while place < len(folders) and folders[place].startswith(path):
            if folders[place] == path or folders[place].startswith(path.rstrip(b"/") + b"/"):
                found.append(folders[place])
            place += 1
        for folder in found or ([os.path.dirname(path)] if in_parent else []):
            known = self.folder_users.get(folder, [])
            yield from known if isinstance(known, list) else [known]


def _add(known: dict[Key, list[int] | int], key: Key, number: int) -> None:
    """Add a process number to a mapping in which most keys have a single number."""
    found = known.get(key)
    if found is None:
        known[key] = number
    elif isinstance(found, list):
        if found[-1] != number:
            found.append(number)
    elif found != number:
        known[key] = [found, number]


# ---- reduced copies of a process, for the time after its files are released


RELATIONS = frozenset({"Fork", "Spawn", "Exec", "ExecFailed", "ChildEnd"})  # events that concern other processes


def outline(process: Process, script: Opening | None) -> Process:
    """Return a copy of a process with only the facts that conclusions about other processes need."""
    record = {name: sys.intern(value) for name, value in process.record.items()}
    found = Process(process.iri, process.host, process.pid, process.tick, process.image_number, record)
    found._started, found._ended = process.started, process.ended
    thread = Thread("", found, 0, 0)
    for event in process.events:
        if event.kind in RELATIONS:
            found.events.append(Event(event.iri, event.kind, found, thread, event.at, event.packed.packed()))
    prefixes = [one for one in process.openings if one.path and one.path.endswith(b"/pyvenv.cfg")]
    for opening in ([script] if script else []) + prefixes:
        kept = replace(opening, process=found, accesses=[], copied_from=(), copied_to=(), members=())
        found.openings.append(kept)
    return found


def restrict(process: Process, files: frozenset[int]) -> Process:
    """Remove from a process everything but its accesses to some files, given by the hashes of their inodes; return
    the process."""
    process._started, process._ended = process.started, process.ended
    process.openings = [one for one in process.openings if inode_hash(one.facts) in files]
    process.containers = [one for one in process.containers if inode_hash(one.facts) in files]
    known = {one.iri for one in process.openings}
    maps = {e.iri for e in process.events if e.record.get("object") in known}
    process.events = [e for e in process.events if _is_about(e, files, known, maps)]
    process.failures, process.within, process.summed = [], [], []
    process.record = {name: process.record[name] for name in ("image", "rank") if name in process.record}
    _compact(process)
    for member in (member for file in process.containers for member in file.members):
        member.record = {name: member.record[name] for name in ("created",) if name in member.record}
    return process


def _compact(process: Process) -> None:
    """Compact all records of a process."""
    for event in process.events:
        event.packed = event.packed.packed()
    for opening in (*process.openings, *process.containers):
        for access in (*opening.accesses, *(access for member in opening.members for access in member.accesses)):
            access.packed = access.packed.packed()


def _is_about(event: Event, files: frozenset[int], openings: set[str], maps: set[str]) -> bool:
    if event.kind in HANDS_ON or event.record.get("object") in openings or event.record.get("map") in maps:
        return True
    facts = event.facts()
    return facts is not None and inode_hash(facts) in files


# ---- the ancestors of process images


def origins_of(whole: Trace) -> dict[str, Origin]:
    """Return the origin of each process image; if a process launched others within a Task, the Task is the origin."""
    divided = divide(whole).trace
    for iri, process in whole.processes.items():
        divided.processes[iri]._started = process.started
    return origins(divided)


@plain()
class Ancestry:
    """The process images of a run with their origins and their numbers in `groups`."""

    origins: dict[str, Origin]
    number_of: Mapping[str, int]
    groups: Groups

    def script(self, iri: str, scripts: dict[str, Facts | None]) -> Facts | None:
        """Return the script that a process runs: a fork runs the script of its parent."""
        line, origin = [iri], self.origins.get(iri)
        while line[-1] not in scripts and origin and origin.fork and len(line) < len(self.number_of):
            line.append(without_task(origin.process.iri))
            origin = self.origins.get(line[-1])
        found = scripts.get(line[-1])
        for one in line if found else ():
            scripts[one] = found
        return found

    def join(self, channel_users: Iterable[str], object_users: set[str], unwatched: set[int]) -> None:
        """Join processes with their ancestors in three cases.

        The users of one channel need the processes between them; a fork has its parent's data from objects in files
        in memory; a program that could not be watched has its parent's inputs.
        """
        for iri in dict.fromkeys(channel_users):
            self._join_ancestors(iri, self._same_channel(iri), forks=False)
        for iri, origin in self.origins.items() if object_users else ():
            if origin.fork:
                self._join_ancestors(iri, object_users.__contains__, forks=True)
        for iri, origin in self.origins.items() if unwatched else ():
            if self.number_of[iri] in unwatched:
                self.groups.sets.join(self.number_of[iri], self.number_of[without_task(origin.process.iri)])

    def _same_channel(self, iri: str) -> Callable[[str], bool]:
        find, number = self.groups.sets.find, self.number_of[iri]
        return lambda above: find(self.number_of[above]) == find(number)

    def _join_ancestors(self, iri: str, ends: Callable[[str], bool], forks: bool) -> None:
        """Join a process with its ancestors, up to the last one for which `ends` is true."""
        line, known, origin = [iri], {iri}, self.origins.get(iri)
        while origin and (origin.fork or not forks):
            above = without_task(origin.process.iri)
            if above in known:
                break
            known.add(above)
            line.append(above)
            if ends(above):
                for one in line:
                    self.groups.sets.join(self.number_of[above], self.number_of[one])
                line = [above]
            origin = self.origins.get(above)
