"""Which object of which file an identifier of h5py's stands for: identifiers in, known files and members out.

One opening of a file has each of its objects once, whatever the number of identifiers and names that lead to it. An
object's path is the first that it was created or opened by, with soft links followed.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Any

from . import facts

ROOM = 10_000  # identifiers kept in mind, before those that were closed are swept


class Opening:
    """A file as this process has it open."""

    def __init__(self, handle: Any, path: bytes, number: int, made: bool = False) -> None:
        self.handle = handle
        self.path = path
        self.number = number
        self.made = made  # by this process: all that is in it was made meanwhile
        self.paths: dict[int, bytes] = {}  # address of an object -> its path
        self.members: dict[tuple[str, bytes, bytes], Known] = {}
        self.hard: set[bytes] = set()  # paths known to lead through no soft link
        self.identifiers: set[int] = set()  # of the file itself
        self.handles: list[Any] = []  # of its members


class Known:
    """A member of a file: its handle in the writer, and what a read or a write of it takes."""

    __slots__ = ("created", "handle", "opening", "path", "size")

    def __init__(self, opening: Opening, handle: Any, path: bytes, size: int, created: bool) -> None:
        self.opening = opening
        self.handle = handle
        self.path = path
        self.size = size
        self.created = created


class Objects:
    """All that this process has open. `h5py` is the module, `writer` what records; callers hold h5py's own lock."""

    def __init__(self, h5py: Any, writer: Any) -> None:
        self.h5py = h5py
        self.writer = writer
        self.openings: dict[int, Opening] = {}
        self.known: dict[int, Known] = {}  # identifier -> member; HDF5 gives none twice
        self.most = ROOM
        self.open_object = h5py.h5o.open  # as they were before they were wrapped
        self.open_attribute = h5py.h5a.open

    # ---- files

    def file_opened(self, identifier: Any, function: int, path: bytes, flags: int, started: int, fd: int) -> None:
        """Note a file that was just opened or created; `fd` is the descriptor behind a file-like object, or -1."""
        number = self.h5py.h5o.get_info(identifier).fileno
        opening = self.openings.get(number)
        if opening is None:
            if fd >= 0:
                handle = self.writer.file_of(function, fd, flags, started)
            else:
                handle = self.writer.file(function, path, flags, started)
            opening = self.openings[number] = Opening(handle, path, number, bool(flags & os.O_CREAT))
        else:
            self.writer.counted(opening.handle, function, started)
        opening.identifiers.add(identifier.id)

    def opening_of(self, identifier: Any, number: int) -> Opening:
        """Return the file that holds an object; one that HDF5 opened by itself (an external link) is noted now."""
        opening = self.openings.get(number)
        if opening is None:
            path = self.h5py.h5f.get_name(identifier)
            intent = self.h5py.h5i.get_file_id(identifier).get_intent()
            flags = os.O_RDWR if intent & self.h5py.h5f.ACC_RDWR else os.O_RDONLY
            function = self.writer.function("h5py.h5o.open", "Open")
            handle = self.writer.file(function, path, flags, self.writer.now())
            opening = self.openings[number] = Opening(handle, path, number)
        return opening

    def files_closed(self) -> None:
        """Let go of the files that no identifier holds open any more."""
        for opening in list(self.openings.values()):
            held = opening.identifiers or {n for n, known in self.known.items() if known.opening is opening}
            if not any(self._is_open(number) for number in held):
                self._forget(opening)

    def _is_open(self, number: int) -> bool:
        identifier = self.h5py.h5f.FileID(number)
        identifier.locked = True  # it is not this one's to close
        try:
            return int(self.h5py.h5i.get_type(identifier)) > 0
        except Exception:
            return False

    def _forget(self, opening: Opening) -> None:
        del self.openings[opening.number]
        self.known = {number: known for number, known in self.known.items() if known.opening is not opening}
        self.writer.file_closed(opening.handle, self.writer.now())
        for handle in opening.handles:
            self.writer.release(handle)
        self.writer.release(opening.handle)

    # ---- groups, datasets, committed datatypes

    def of(self, identifier: Any, created: bool = False) -> Known:
        """Return the member that an open object is."""
        known = None if created else self.known.get(identifier.id)
        if known is None:
            if len(self.known) >= self.most:
                self.known = {number: one for number, one in self.known.items() if self._is_open(number)}
                self.most = max(ROOM, 2 * len(self.known))
            known = self.known[identifier.id] = self._look(identifier, created)
        return known

    def _look(self, identifier: Any, created: bool) -> Known:
        info = self.h5py.h5o.get_info(identifier)
        opening, path = self._path(identifier, info, created)
        kind = {0: "Group", 1: "Dataset", 2: "Datatype"}.get(info.type, "Group")
        known = None if created else opening.members.get((kind, path, b""))
        if known is None:
            creation = identifier.get_create_plist() if kind == "Dataset" else None
            told = facts.of_object(self.h5py, identifier, kind, creation, created)
            told["token"] = format(info.addr, "x")
            known = self._member(opening, kind, path, b"", told, created)
            if kind == "Dataset":
                self._virtual_sources(creation, known)
        return known

    def _path(self, identifier: Any, info: Any, created: bool) -> tuple[Opening, bytes]:
        opening = self.opening_of(identifier, info.fileno)
        path = None if created else opening.paths.get(info.addr)
        if path is None:
            name = self.h5py.h5i.get_name(identifier) or b""
            path = opening.paths[info.addr] = self.real_path(opening, identifier, name)
        return opening, path

    def _member(self, opening: Opening, kind: str, path: bytes, name: bytes, told: dict[str, Any], new: bool) -> Known:
        if name:
            told["name"] = name
        handle = self.writer.member(opening.handle, kind=kind, path=path, created=new, **told)
        opening.handles.append(handle)
        known = Known(opening, handle, path, told.get("element_size", 0), new)
        opening.members[kind, path, name] = known
        return known

    def real_path(self, opening: Opening, identifier: Any, path: bytes) -> bytes:
        """Return the path with every soft link on its way followed, and each said; up to an external link."""
        root, ways, done, hops = None, deque(path.split(b"/")), b"", 0
        while ways:
            name = ways.popleft()
            here = done + b"/" + name
            if name in (b"", b".") or here in opening.hard:
                done = done if name in (b"", b".") else here
                continue
            root = root or self.open_object(identifier, b"/")
            target = self._link(opening, root.links, here)
            if target is None or hops >= 16:
                opening.hard.add(here)
                done = here
                continue
            done, hops = b"", hops + 1
            ways.extendleft(reversed(target.split(b"/")))
        return done or b"/"

    def _link(self, opening: Opening, links: Any, path: bytes) -> bytes | None:
        """Return where the soft link of that path leads; None: it is none."""
        kind = links.get_info(path).type
        if kind == self.h5py.h5l.TYPE_SOFT:
            target = os.path.join(os.path.dirname(path), links.get_val(path))
            self.link(opening, path, target, None, False)
            return target
        if kind == self.h5py.h5l.TYPE_EXTERNAL:
            file, target = links.get_val(path)
            self.link(opening, path, target, file, False)
        return None

    def joined(self, location: Any, name: bytes) -> tuple[Opening, bytes]:
        """Return the file and the whole path that `name` means at `location`."""
        opening, base = self._path(location, self.h5py.h5o.get_info(location), False)
        whole = name if name.startswith(b"/") else base + b"/" + name
        return opening, b"/" + b"/".join(part for part in whole.split(b"/") if part not in (b"", b"."))

    def place(self, location: Any, name: bytes) -> tuple[Opening, bytes]:
        """Return the file and the path of a name itself, whatever it leads to; the way there is followed."""
        opening, whole = self.joined(location, name)
        parent, _, last = whole.rpartition(b"/")
        return opening, self.real_path(opening, location, parent).rstrip(b"/") + b"/" + last

    def unnamed(self, opening: Opening, path: bytes) -> None:
        """Forget what had its path through a name that is gone: under another name it is announced anew."""
        opening.hard.clear()
        below = path + b"/"
        opening.paths = {a: p for a, p in opening.paths.items() if p != path and not p.startswith(below)}
        opening.members = {
            key: member for key, member in opening.members.items() if key[1] != path and not key[1].startswith(below)
        }

    # ---- what is no object

    def attribute(self, owner: Any, identifier: Any, created: bool = False) -> Known:
        """Return the member that an open attribute of `owner` is."""
        holder = self.of(owner)
        name = identifier.name
        name = name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")
        known = None if created else holder.opening.members.get(("Attribute", holder.path, name))
        if known is None:
            told = facts.of_attribute(self.h5py, identifier)
            known = self._member(holder.opening, "Attribute", holder.path, name, told, created)
        self.known[identifier.id] = known
        return known

    def link(self, opening: Opening, path: bytes, target: bytes, target_file: bytes | None, created: bool) -> Known:
        """Return the member that a name is which leads elsewhere."""
        known = None if created else opening.members.get(("NamedLink", path, b""))
        if known is None:
            told = {"target": target, "target_file": target_file} if target_file else {"target": target}
            known = self._member(opening, "NamedLink", path, b"", told, created)
        return known

    def opened_by_name(self, location: Any, name: bytes, identifier: Any) -> Known:
        """Return an object that was opened by a name, and say the names that led to it where they are others."""
        opening, path = self.joined(location, name)
        real = path if path in opening.hard else self.real_path(opening, location, path)
        known = self.of(identifier)
        if opening is known.opening and real != known.path:
            self.link(opening, real, known.path, None, False)
        return known

    def _virtual_sources(self, creation: Any, known: Known) -> None:
        for path, name in facts.virtual_sources(self.h5py, creation, known.opening.path):
            if path is None:
                opening = known.opening
            else:
                function = self.writer.function("h5py.h5d.open", "Open")
                handle = self.writer.file(function, path, os.O_RDONLY, self.writer.now())
                opening = Opening(handle, path, -1)
            source = opening.members.get(("Dataset", name, b""))
            source = source or self._member(opening, "Dataset", name, b"", {}, False)
            self.writer.virtual(known.handle, source.handle)
