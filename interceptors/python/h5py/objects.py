"""Map identifiers of h5py to objects of files: identifiers in, known files and members out.

One opening of a file holds each object once, with any number of identifiers and names. The path of an object is the
first one by which it was created or opened, with soft links resolved.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Any

from . import describe

ROOM = 10_000  # identifiers that are kept before the closed ones are removed


class Opening:
    """A file that this process has open."""

    def __init__(self, handle: Any, path: bytes, number: int, created: bool = False) -> None:
        self.handle = handle
        self.path = path
        self.number = number
        self.created = created  # by this process, and so is all of its content
        self.paths: dict[int, bytes] = {}  # address of an object -> its path
        self.members: dict[tuple[str, bytes, bytes], Known] = {}
        self.hard: set[bytes] = set()  # paths without a soft link
        self.identifiers: set[int] = set()  # of the file itself, not of its objects
        self.handles: list[Any] = []  # of its members


class Known:
    """A member of a file: its handle in the recorder, and the size of an element."""

    __slots__ = ("created", "handle", "opening", "path", "size")

    def __init__(self, opening: Opening, handle: Any, path: bytes, size: int, created: bool) -> None:
        self.opening = opening
        self.handle = handle
        self.path = path
        self.size = size
        self.created = created


class Objects:
    """All files and objects that this process has open. `h5py` is the module; callers hold h5py's lock."""

    def __init__(self, h5py: Any, recorder: Any) -> None:
        self.h5py = h5py
        self.recorder = recorder
        self.openings: dict[int, Opening] = {}
        self.known: dict[int, Known] = {}  # identifier -> member; HDF5 gives none twice
        self.most = ROOM
        self.open_object = h5py.h5o.open  # both before they are wrapped
        self.open_attribute = h5py.h5a.open

    # ---- files

    def file_opened(self, identifier: Any, function: int, path: bytes, flags: int, started: int, fd: int) -> None:
        """Record a file that was just opened or created; `fd` is the descriptor behind a file-like object, or -1."""
        number = self.h5py.h5o.get_info(identifier).fileno
        opening = self.openings.get(number)
        if opening is None:
            if fd >= 0:
                handle = self.recorder.file_of(function, fd, flags, started)
            else:
                handle = self.recorder.file(function, path, flags, started)
            opening = self.openings[number] = Opening(handle, path, number, bool(flags & os.O_CREAT))
        else:
            self.recorder.counted(opening.handle, function, started)
        opening.identifiers.add(identifier.id)

    def opening_of(self, identifier: Any, number: int) -> Opening:
        """Return the file that holds an object; record it if HDF5 itself opened it (by an external link)."""
        opening = self.openings.get(number)
        if opening is None:
            path = self.h5py.h5f.get_name(identifier)
            intent = self.h5py.h5i.get_file_id(identifier).get_intent()
            flags = os.O_RDWR if intent & self.h5py.h5f.ACC_RDWR else os.O_RDONLY
            function = self.recorder.function("h5py.h5o.open", "Open")
            handle = self.recorder.file(function, path, flags, self.recorder.now())
            opening = self.openings[number] = Opening(handle, path, number)
        return opening

    def files_closed(self) -> None:
        """Remove the files that no identifier holds open any more."""
        for opening in list(self.openings.values()):
            held = opening.identifiers or {n for n, known in self.known.items() if known.opening is opening}
            if not any(self._is_open(number) for number in held):
                self._forget(opening)

    def _is_open(self, number: int) -> bool:
        identifier = self.h5py.h5f.FileID(number)
        identifier.locked = True  # this object must not close it
        try:
            return int(self.h5py.h5i.get_type(identifier)) > 0
        except Exception:
            return False

    def _forget(self, opening: Opening) -> None:
        del self.openings[opening.number]
        self.known = {number: known for number, known in self.known.items() if known.opening is not opening}
        self.recorder.file_closed(opening.handle, self.recorder.now())
        for handle in opening.handles:
            self.recorder.release(handle)
        self.recorder.release(opening.handle)

    # ---- groups, datasets, committed datatypes

    def of(self, identifier: Any, created: bool = False) -> Known:
        """Return the member of an open object."""
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
            facts = describe.of_object(self.h5py, identifier, kind, creation, created)
            facts["token"] = format(info.addr, "x")
            known = self._member(opening, kind, path, b"", facts, created)
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

    def _member(self, opening: Opening, kind: str, path: bytes, name: bytes, facts: dict[str, Any], new: bool) -> Known:
        if name:
            facts["name"] = name
        handle = self.recorder.member(opening.handle, kind=kind, path=path, created=new, **facts)
        opening.handles.append(handle)
        known = Known(opening, handle, path, facts.get("element_size", 0), new)
        opening.members[kind, path, name] = known
        return known

    def real_path(self, opening: Opening, identifier: Any, path: bytes) -> bytes:
        """Return the path with every soft link resolved, up to an external link; record each link."""
        root, names, done, hops = None, deque(path.split(b"/")), b"", 0
        while names:
            name = names.popleft()
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
            names.extendleft(reversed(target.split(b"/")))
        return done or b"/"

    def _link(self, opening: Opening, links: Any, path: bytes) -> bytes | None:
        """Return the target of a soft link; None if the path is no soft link."""
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
        """Return the file and the absolute path of `name` at `location`."""
        opening, base = self._path(location, self.h5py.h5o.get_info(location), False)
        whole = name if name.startswith(b"/") else base + b"/" + name
        return opening, b"/" + b"/".join(part for part in whole.split(b"/") if part not in (b"", b"."))

    def place(self, location: Any, name: bytes) -> tuple[Opening, bytes]:
        """Return the file and the path of a name itself; links in its parent are resolved, the name is not."""
        opening, whole = self.joined(location, name)
        parent, _, last = whole.rpartition(b"/")
        return opening, self.real_path(opening, location, parent).rstrip(b"/") + b"/" + last

    def forget_name(self, opening: Opening, path: bytes) -> None:
        """Forget the objects whose path contains a removed name: under another name they are recorded again."""
        opening.hard.clear()
        below = path + b"/"
        opening.paths = {a: p for a, p in opening.paths.items() if p != path and not p.startswith(below)}
        opening.members = {
            key: member for key, member in opening.members.items() if key[1] != path and not key[1].startswith(below)
        }

    # ---- attributes, links, sources of virtual datasets

    def attribute(self, owner: Any, identifier: Any, created: bool = False) -> Known:
        """Return the member of an open attribute of `owner`."""
        holder = self.of(owner)
        name = identifier.name
        name = name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")
        known = None if created else holder.opening.members.get(("Attribute", holder.path, name))
        if known is None:
            facts = describe.of_attribute(self.h5py, identifier)
            known = self._member(holder.opening, "Attribute", holder.path, name, facts, created)
        self.known[identifier.id] = known
        return known

    def link(self, opening: Opening, path: bytes, target: bytes, target_file: bytes | None, created: bool) -> Known:
        """Return the member of a link, soft or external."""
        known = None if created else opening.members.get(("NamedLink", path, b""))
        if known is None:
            facts = {"target": target, "target_file": target_file} if target_file else {"target": target}
            known = self._member(opening, "NamedLink", path, b"", facts, created)
        return known

    def opened_by_name(self, location: Any, name: bytes, identifier: Any) -> Known:
        """Return an object that was opened by a name; record the name as a link if it is not the object's path."""
        opening, path = self.joined(location, name)
        real = path if path in opening.hard else self.real_path(opening, location, path)
        known = self.of(identifier)
        if opening is known.opening and real != known.path:
            self.link(opening, real, known.path, None, False)
        return known

    def _virtual_sources(self, creation: Any, known: Known) -> None:
        for path, name in describe.virtual_sources(self.h5py, creation, known.opening.path):
            if path is None:
                opening = known.opening
            else:
                function = self.recorder.function("h5py.h5d.open", "Open")
                handle = self.recorder.file(function, path, os.O_RDONLY, self.recorder.now())
                opening = Opening(handle, path, -1)
            source = opening.members.get(("Dataset", name, b""))
            source = source or self._member(opening, "Dataset", name, b"", {}, False)
            self.recorder.virtual(known.handle, source.handle)
