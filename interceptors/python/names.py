"""What calls on attributes and links tell the writer: more of the functions of calls.py, with the same parameters."""

from __future__ import annotations

import os
from typing import Any

from .calls import Call, Calls


class Names(Calls):
    """What is told of attributes and of names."""

    # ---- attributes

    def _owner(self, location: Any, keywords: Any) -> Any:
        name = keywords.get("obj_name", b".")
        return location if name in (b".", ".") else self.objects.open_object(location, name)

    def create_attribute(self, made: Any, call: Call, location: Any, name: Any, *_: Any, **keywords: Any) -> None:
        """`h5a.create`."""
        known = self.objects.attribute(self._owner(location, keywords), made, created=True)
        self.writer.counted(known.handle, call.function, call.started)

    def open_attribute(self, made: Any, call: Call, location: Any, *_: Any, **keywords: Any) -> None:
        """`h5a.open`."""
        known = self.objects.attribute(self._owner(location, keywords), made)
        self.writer.counted(known.handle, call.function, call.started)

    def read_attribute(self, made: Any, call: Call, attribute: Any, *_: Any, **__: Any) -> None:
        """`AttrID.read`."""
        known = self.objects.known[attribute.id]
        size = known.size * attribute.get_space().get_simple_extent_npoints()
        self.writer.read(known.handle, call.function, size, call.started)

    def write_attribute(self, made: Any, call: Call, attribute: Any, *_: Any, **__: Any) -> None:
        """`AttrID.write`."""
        known = self.objects.known[attribute.id]
        size = known.size * attribute.get_space().get_simple_extent_npoints()
        self.writer.write(known.handle, call.function, size, call.started)
        if not known.created:
            self._replaced(known, call)

    def delete_attribute(
        self, made: Any, call: Call, location: Any, name: Any = None, *_: Any, **keywords: Any
    ) -> None:
        """`h5a.delete`, by name."""
        if name is None:
            return
        owner = self.objects.of(self._owner(location, keywords))
        name = os.fsencode(name)
        owner.opening.members.pop(("Attribute", owner.path, name), None)
        self.writer.deleted(owner.opening.handle, call.function, owner.path, name, call.started)

    def rename_attribute(self, made: Any, call: Call, location: Any, name: Any, new_name: Any, **keywords: Any) -> None:
        """`h5a.rename`."""
        owner = self.objects.of(self._owner(location, keywords))
        old, new = os.fsencode(name), os.fsencode(new_name)
        owner.opening.members.pop(("Attribute", owner.path, old), None)
        self.writer.renamed(owner.opening.handle, call.function, owner.path, old, new, call.started)

    # ---- links

    def link_object(self, made: Any, call: Call, obj: Any, location: Any, name: Any, *_: Any, **__: Any) -> None:
        """`h5o.link`: the first name of what had none, or one more."""
        written = self.unnamed.pop(obj.id, None)
        known = self.objects.of(obj, created=written is not None)
        if written is None:
            opening, path = self.objects.place(location, os.fsencode(name))
            known = self.objects.link(opening, path, known.path, None, True)
        self.writer.counted(known.handle, call.function, call.started)
        for write, count in written or ():
            self.writer.write(known.handle, write.function, known.size * count, write.started)

    def create_soft(self, made: Any, call: Call, links: Any, name: Any, target: Any, *_: Any, **__: Any) -> None:
        """`LinkProxy.create_soft`."""
        opening, path = self.objects.place(self.groups[id(links)](), os.fsencode(name))
        whole = os.path.join(os.path.dirname(path), os.fsencode(target))
        known = self.objects.link(opening, path, whole, None, True)
        self.writer.counted(known.handle, call.function, call.started)

    def create_external(
        self, made: Any, call: Call, links: Any, name: Any, file: Any, target: Any, *_: Any, **__: Any
    ) -> None:
        """`LinkProxy.create_external`."""
        opening, path = self.objects.place(self.groups[id(links)](), os.fsencode(name))
        known = self.objects.link(opening, path, os.fsencode(target), os.fsencode(file), True)
        self.writer.counted(known.handle, call.function, call.started)

    def create_hard(
        self, made: Any, call: Call, links: Any, name: Any, location: Any, target: Any, *_: Any, **__: Any
    ) -> None:
        """`LinkProxy.create_hard`."""
        opening, path = self.objects.place(self.groups[id(links)](), os.fsencode(name))
        known = self.objects.of(self.objects.open_object(location, target))
        known = self.objects.link(opening, path, known.path, None, True)
        self.writer.counted(known.handle, call.function, call.started)

    def move(self, made: Any, call: Call, links: Any, name: Any, location: Any, new: Any, *_: Any, **__: Any) -> None:
        """`LinkProxy.move`."""
        opening, old = self.objects.place(self.groups[id(links)](), os.fsencode(name))
        path = self.objects.place(location, os.fsencode(new))[1]
        self.objects.unnamed(opening, old)
        self.writer.renamed(opening.handle, call.function, None, old, path, call.started)

    def unlink(self, made: Any, call: Call, group: Any, name: Any) -> None:
        """`GroupID.unlink`."""
        opening, path = self.objects.place(group, os.fsencode(name))
        self.objects.unnamed(opening, path)
        self.writer.deleted(opening.handle, call.function, path, None, call.started)
