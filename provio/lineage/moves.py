"""What the objects of a file were called when: the renames and deletions that one opening of it saw in, names out; and
where a link leads."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter

from provio.facts import Event, Member
from provio.literals import path_of

Name = tuple[bytes, bytes | None]  # an object's path, and an attribute's name
MOST = 1_000  # moves of one object


class Moves:
    """The moves in one opening of a file: an object's move takes along all that lies in it."""

    def __init__(self, events: Iterable[Event] = (), linked: Mapping[bytes, bytes] | None = None) -> None:
        """`linked` are the second names that hard links gave to objects: under these they live on."""
        linked = linked or {}
        self.gone: dict[Name, list[tuple[int, Name | None]]] = {}
        self.come: dict[Name, list[tuple[int, Name]]] = {}
        self.renames: list[tuple[int, Name, Name]] = []
        for event in sorted(events, key=lambda event: event.at):
            path = event.text("path")
            if event.kind == "Delete" and path and path in linked and event.text("name") is None:
                self._moved(event.at, (path, None), (linked[path], None))
            elif event.kind == "Delete" and path:
                self.gone.setdefault((path, event.text("name")), []).append((event.at, None))
            elif event.kind == "Rename":
                old, new = event.text("from"), event.text("to")
                if old and new:
                    self._moved(event.at, (path, old) if path else (old, None), (path, new) if path else (new, None))

    def _moved(self, moment: int, old: Name, new: Name) -> None:
        self.gone.setdefault(old, []).append((moment, new))
        self.come.setdefault(new, []).append((moment, old))
        self.renames.append((moment, old, new))

    def later(self, name: Name, since: int) -> Name | None:
        """Return what an object that had a name at a moment was called at the end; None where it was deleted."""
        for _ in range(MOST if self.gone else 0):
            found = []
            for holder in holders(name):
                known = self.gone.get(holder, ())
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
        """Return what an object that has a name at a moment was called in the beginning."""
        for _ in range(MOST if self.come else 0):
            found = []
            for holder in holders(name):
                known = self.come.get(holder, ())
                place = bisect_left(known, moment, key=itemgetter(0))
                if place:
                    found.append((*known[place - 1], holder))
            if not found:
                break
            moment, old, holder = max(found, key=itemgetter(0))
            name = below(name, holder, old)
        return name


def holders(name: Name) -> Iterator[Name]:
    """Yield a name and those of the objects that hold it, the nearest first; not the root."""
    path, attribute = name
    if attribute is not None:
        yield name
    while path and path != b"/":
        yield path, None
        path = path.rpartition(b"/")[0]


def below(name: Name, holder: Name, other: Name) -> Name:
    """Return the name that has the place in `other` that `name` has in its holder."""
    if holder[1] is not None:
        return other
    return other[0] + name[0][len(holder[0]) :], name[1]


def leads_to(link: Member) -> tuple[bytes | None, bytes | None]:
    """The path that a link leads to, and the file, where that is another one."""
    path, file = path_of(link.record, "target"), path_of(link.record, "targetFile")
    if path is None:
        return None, None
    if file is not None:
        return os.path.normpath(b"/" + path.lstrip(b"/")), os.path.normpath(
            os.path.join(os.path.dirname(link.file.path or b"/"), file)
        )
    return os.path.normpath(os.path.join(os.path.dirname(link.path), path)), None
