"""Find which versions of the objects inside files one process read, and follow the moves and links of these objects.

A read of an object is a read of the version of the file that the process read at that moment, by the rules of phases.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import itemgetter

from provio.base.records import plain
from provio.lineage.model import Conclusions, Input, MemberVersion, inode_of
from provio.trace.decode import path_of
from provio.trace.facts import Event, Member, Opening, Process

# Names of objects over time.


Name = tuple[bytes, bytes | None]  # an object's path, and an attribute's name
MOST = 1_000  # moves of one object


class Moves:
    """The renames and deletions in one opening of a file: a move of an object also moves the objects inside it."""

    def __init__(self, events: Iterable[Event] = (), linked: Mapping[bytes, bytes] | None = None) -> None:
        """Read the events; `linked` maps an object to the second name from a hard link, under which it remains after
        deletion."""
        linked = linked or {}
        self.removed: dict[Name, list[tuple[int, Name | None]]] = {}
        self.added: dict[Name, list[tuple[int, Name]]] = {}
        self.renames: list[tuple[int, Name, Name]] = []
        for event in sorted(events, key=lambda event: event.at):
            path = event.text("path")
            if event.kind == "Delete" and path and path in linked and event.text("name") is None:
                self._moved(event.at, (path, None), (linked[path], None))
            elif event.kind == "Delete" and path:
                self.removed.setdefault((path, event.text("name")), []).append((event.at, None))
            elif event.kind == "Rename":
                old, new = event.text("from"), event.text("to")
                if old and new:
                    self._moved(event.at, (path, old) if path else (old, None), (path, new) if path else (new, None))

    def _moved(self, moment: int, old: Name, new: Name) -> None:
        self.removed.setdefault(old, []).append((moment, new))
        self.added.setdefault(new, []).append((moment, old))
        self.renames.append((moment, old, new))

    def later(self, name: Name, since: int) -> Name | None:
        """Return the final name of an object that had a name at a moment; None where it was deleted."""
        for _ in range(MOST if self.removed else 0):
            found = []
            for holder in holders(name):
                known = self.removed.get(holder, ())
                place = bisect_right(known, since, key=itemgetter(0))
                if place < len(known):
                    found.append((*known[place], holder))
            if not found:
                break
            since, new, holder = min(found, key=itemgetter(0))
            if new is None:
                return None
            name = below(name, holder, new)
        return name

    def earlier(self, name: Name, moment: int) -> Name:
        """Return the initial name of an object that has a name at a moment."""
        for _ in range(MOST if self.added else 0):
            found = []
            for holder in holders(name):
                known = self.added.get(holder, ())
                place = bisect_left(known, moment, key=itemgetter(0))
                if place:
                    found.append((*known[place - 1], holder))
            if not found:
                break
            moment, old, holder = max(found, key=itemgetter(0))
            name = below(name, holder, old)
        return name


def holders(name: Name) -> Iterator[Name]:
    """Yield a name and those of the objects that contain it, the nearest first, without the root."""
    path, attribute = name
    if attribute is not None:
        yield name
    while path and path != b"/":
        yield path, None
        path = path.rpartition(b"/")[0]


def below(name: Name, holder: Name, other: Name) -> Name:
    """Return the name with the same place below `other` as `name` has below its holder."""
    if holder[1] is not None:
        return other
    return other[0] + name[0][len(holder[0]) :], name[1]


def leads_to(link: Member) -> tuple[bytes | None, bytes | None]:
    """Return the path that a link leads to, and the other file that contains it; (None, None) for a link without a
    target."""
    path, file = path_of(link.record, "target"), path_of(link.record, "targetFile")
    if path is None:
        return None, None
    if file is not None:
        return os.path.normpath(b"/" + path.lstrip(b"/")), os.path.normpath(
            os.path.join(os.path.dirname(link.file.path or b"/"), file)
        )
    return os.path.normpath(os.path.join(os.path.dirname(link.path), path)), None


@plain(slots=True)
class Use:
    """An object of a version that a process read, with the moments of the first and the last read."""

    member: MemberVersion
    first: int
    last: int
    noise: bool


def _linked(members: Sequence[Member]) -> dict[bytes, bytes]:
    """Return the objects with a second name from a hard link. A hard link is recorded on the object, a soft link on
    the file."""
    hard = {member.path for member in members if any(one.operation == "Link" for one in member.accesses)}
    links = (member for member in members if member.kind == "NamedLink" and member.created)
    pairs = [(path_of(link.record, "target"), link) for link in links if "targetFile" not in link.record]
    return {path: link.path for path, link in pairs if path in hard}


class ProcessObjects:
    """The objects inside files that one process accessed: their names over time, and the versions of them that it
    read."""

    def __init__(self, process: Process, conclusions: Conclusions) -> None:
        self.process, self.out = process, conclusions
        events: dict[str, list[int]] = {}
        for place, event in enumerate(process.within):
            events.setdefault(event.record.get("inFile", ""), []).append(place)
        self.moves = {
            file.iri: Moves((process.within[place] for place in events[file.iri]), _linked(file.members))
            if file.iri in events
            else Moves()
            for file in process.containers
        }
        self.inodes = {inode_of(file.facts) for file in process.containers}
        self.copied: dict[str, dict[bytes, tuple[int, Member]]] = {}
        for member in self.members():
            for source, access in member.copied_from:
                if member.name is None:
                    self.copied.setdefault(member.file.iri, {})[member.path] = access.moments()[0], source
        self._read: dict[tuple[str, int, int], list[Input]] = {}
        for found in conclusions.inputs[process.iri]:
            version = conclusions.versions.get(found.version)
            if version and inode_of(version.facts) in self.inodes:
                self._read.setdefault(inode_of(version.facts), []).append(found)
        for inputs in self._read.values():
            inputs.sort(key=lambda one: one.first)
        self._latest = {key: list(accumulate((one.last for one in known), max)) for key, known in self._read.items()}

    def members(self) -> Iterator[Member]:
        """Yield every object that the process accessed in a file."""
        for file in self.process.containers:
            yield from file.members

    def uses(self) -> Iterator[Use]:
        """Yield the reads of objects that existed before."""
        for member in self.members():
            for first, last in member.stretches("read"):
                yield from self.read(member, first, last)

    def read(self, member: Member, first: int, last: int) -> Iterator[Use]:
        """Yield the versions that were read in a stretch of time: of an object, or of the objects that it maps or was
        copied from."""
        for source in member.shows:
            yield from self.read(source, first, last)
        origin = self._copied_from(member, first) if member.file.iri in self.copied else None
        if origin:
            yield from self.read(origin, first, last)
        elif not (member.created or member.file.truncated or 0 < member.replaced <= first):
            for found in self._inputs(member.file, first, last):
                before = self.moves[member.file.iri].earlier((member.path, member.name), first)
                known = self.out.member(found.version, member.kind, *before, member.record)
                known.noise = self.out.versions[found.version].noise
                self.out.read_as[member.iri] = known.iri
                yield Use(known, max(first, found.first), max(last, found.first), found.noise)

    def _copied_from(self, member: Member, moment: int) -> Member | None:
        """Return the source of an object that was copied here, or is inside a copied one; None if there is none."""
        copied = self.copied[member.file.iri]
        for holder in holders((member.path, None)):
            at, source = copied.get(holder[0], (moment + 1, None))
            if source and at <= moment and source is not member:
                path, _ = below((member.path, None), holder, (source.path, None))
                same = source if path == source.path and member.name is None else None
                return same or Member("", member.kind, source.file, path, member.name, {})
        return None

    def found(self, file: Opening) -> list[Input]:
        """Return the inputs from a file while the process had it open."""
        return self._inputs(file, file.opened, file.closed or file.process.ended)

    def _inputs(self, file: Opening, first: int, last: int) -> list[Input]:
        """Return the inputs from a file in a stretch of time; if there are none, the last one before, which a library
        had cached."""
        known = self._read.get(inode_of(file.facts), [])
        place = bisect_right(known, last, key=lambda one: one.first)
        found, latest = [], self._latest.get(inode_of(file.facts), [])
        for number in range(place - 1, -1, -1):
            if latest[number] < first:
                break
            if known[number].last >= first:
                found.append(known[number])
        return found or known[max(0, place - 1) : place]
