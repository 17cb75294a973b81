"""Report each call of h5py's low level to the recorder: the call's result and arguments in, records out.

Each method takes the result of the function that it reports, the call, and the function's own parameters.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from typing import Any, NamedTuple

from . import describe
from .objects import Known, Objects


class Call(NamedTuple):
    """A call that succeeded: the number of its function, and its start."""

    function: int
    started: int


class Calls:
    """Reports calls on files, objects, elements, attributes, links and dimension scales."""

    call = Call

    def __init__(self, h5py: Any, objects: Objects, recorder: Any) -> None:
        self.h5py = h5py
        self.objects = objects
        self.recorder = recorder
        self.descriptors: dict[int, int] = {}  # access property list -> the descriptor behind its file-like object
        self.groups: dict[int, Any] = {}  # proxy for links -> weak reference to its group
        self.files: set[Any] = set()
        self.unnamed: dict[int, list[Any]] = {}  # object without a name -> the writes to it

    def handle_of(self, subject: Any) -> Any:
        """Return the handle of the object of a failed call, or None."""
        known = self.objects.known.get(getattr(subject, "id", 0))
        return None if known is None else known.handle

    # ---- files

    def file_open(self, made: Any, call: Call, name: Any, flags: int = -1, fapl: Any = None) -> None:
        """`h5f.open`."""
        h5f = self.h5py.h5f
        writes = (h5f.ACC_RDWR if flags < 0 else flags) & h5f.ACC_RDWR
        self._file(made, call, name, os.O_RDWR if writes else os.O_RDONLY, fapl)

    def before_file_open(self, name: Any = None, *_: Any, **__: Any) -> None:
        """Have the writer read the file's version before HDF5 marks the file; the shim sees the system call."""
        look = getattr(self.recorder, "look", None)
        if look is not None:
            with contextlib.suppress(Exception):
                look(os.fsencode(name))

    def file_create(
        self, made: Any, call: Call, name: Any, flags: int = -1, fcpl: Any = None, fapl: Any = None
    ) -> None:
        """`h5f.create`."""
        excluding = flags >= 0 and flags & self.h5py.h5f.ACC_EXCL
        self._file(made, call, name, os.O_RDWR | os.O_CREAT | (os.O_EXCL if excluding else os.O_TRUNC), fapl)

    def _file(self, made: Any, call: Call, name: Any, flags: int, fapl: Any) -> None:
        fd = -1 if fapl is None else self.descriptors.get(fapl.id, -1)
        self.objects.file_opened(made, call.function, os.fsencode(name), flags, call.started, fd)
        self.files.add(weakref.ref(made, self.file_collected))

    def file_collected(self, reference: Any) -> None:
        """Note that an identifier of a file was garbage-collected."""
        try:
            self.files.discard(reference)
            self.objects.files_closed()
        except Exception:
            return

    def file_reopen(self, made: Any, call: Call, file: Any) -> None:
        """`FileID.reopen`."""
        self.objects.file_opened(made, call.function, self.h5py.h5f.get_name(file), os.O_RDWR, call.started, -1)

    def file_close(self, made: Any, call: Call, file: Any) -> None:
        """`FileID.close`."""
        self.objects.files_closed()

    def flush(self, made: Any, call: Call, location: Any, scope: int = 0) -> None:
        """`h5f.flush`, of the file that holds an object."""
        self.recorder.counted(self.objects.of(location).opening.handle, call.function, call.started)

    def file_like(self, made: Any, call: Call, fapl: Any, driver: Any, fileobj: Any) -> None:
        """`PropFAID.set_fileobj_driver`: only the file-like object knows the descriptor, if there is one."""
        self.descriptors.pop(fapl.id, None)
        try:
            if not hasattr(fileobj, "rollover"):  # fileno() would move a tempfile.SpooledTemporaryFile to disk
                self.descriptors[fapl.id] = fileobj.fileno()
        except Exception:
            return

    # ---- objects

    def create(self, made: Any, call: Call, location: Any, name: Any, *_: Any, **__: Any) -> None:
        """`h5d.create`, `h5g.create`."""
        if name is None:
            self.unnamed[made.id] = []
            return
        self.recorder.counted(self.objects.of(made, created=True).handle, call.function, call.started)

    def commit(self, made: Any, call: Call, kind: Any, location: Any, name: Any, *_: Any, **__: Any) -> None:
        """`TypeID.commit`."""
        self.recorder.counted(self.objects.of(kind, created=True).handle, call.function, call.started)

    def open(self, made: Any, call: Call, location: Any, name: Any, *_: Any, **__: Any) -> None:
        """`h5d.open`, `h5g.open`, `h5o.open`, `h5t.open`."""
        known = self.objects.opened_by_name(location, os.fsencode(name), made)
        self.recorder.counted(known.handle, call.function, call.started)

    def copy(self, made: Any, call: Call, source: Any, source_name: Any, target: Any, name: Any, *_: Any) -> None:
        """`h5o.copy`."""
        opening = self.objects.open_object
        known = self.objects.of(opening(source, source_name))
        copy = self.objects.of(opening(target, name), created=True)
        self.recorder.copied(known.handle, copy.handle, call.function, call.started)

    # ---- elements

    def read(self, made: Any, call: Call, dataset: Any, mspace: Any, fspace: Any, *_: Any, **__: Any) -> None:
        """`DatasetID.read`."""
        known = self.objects.of(dataset)
        size = known.size * describe.elements(self.h5py, fspace, dataset)
        self.recorder.read(known.handle, call.function, size, call.started)

    def fast_read(self, made: Any, call: Call, reader: Any, *_: Any) -> None:
        """`Reader.read`, only of datasets of numbers."""
        known = self.objects.of(reader.provio_dataset)
        self.recorder.read(known.handle, call.function, known.size * int(made.size), call.started)

    def write(self, made: Any, call: Call, dataset: Any, mspace: Any, fspace: Any, *_: Any, **__: Any) -> None:
        """`DatasetID.write`."""
        count = describe.elements(self.h5py, fspace, dataset)
        if dataset.id in self.unnamed:
            self.unnamed[dataset.id].append((call, count))
            return
        known = self.objects.of(dataset)
        self.recorder.write(known.handle, call.function, known.size * count, call.started)
        if not known.created and count == dataset.get_space().get_simple_extent_npoints():
            self._replaced(known, call)

    def _replaced(self, known: Known, call: Call) -> None:
        known.created = True
        self.recorder.replaced(known.handle, call.started)

    def read_chunk(self, made: Any, call: Call, dataset: Any, offsets: Any, *_: Any, **__: Any) -> None:
        """`DatasetID.read_direct_chunk`."""
        known = self.objects.of(dataset)
        self.recorder.read(known.handle, call.function, self._chunk(known, dataset), call.started)

    def write_chunk(self, made: Any, call: Call, dataset: Any, *_: Any, **__: Any) -> None:
        """`DatasetID.write_direct_chunk`."""
        known = self.objects.of(dataset)
        self.recorder.write(known.handle, call.function, self._chunk(known, dataset), call.started)

    def _chunk(self, known: Known, dataset: Any) -> int:
        size = known.size
        for length in dataset.get_create_plist().get_chunk():
            size *= length
        return size

    def resize(self, made: Any, call: Call, dataset: Any, shape: Any) -> None:
        """`DatasetID.set_extent`."""
        known = self.objects.of(dataset)
        self.recorder.resized(known.handle, call.function, " ".join(map(str, dataset.shape)).encode(), call.started)

    def stat(self, made: Any, call: Call, dataset: Any) -> None:
        """`DatasetID.get_space`, `DatasetID.get_type`: only failures are recorded, such as the first of a closed
        handle."""

    def flush_dataset(self, made: Any, call: Call, dataset: Any) -> None:
        """`DatasetID.flush`."""
        self.recorder.counted(self.objects.of(dataset).handle, call.function, call.started)

    # ---- attributes

    def _owner(self, location: Any, keywords: Any) -> Any:
        name = keywords.get("obj_name", b".")
        return location if name in (b".", ".") else self.objects.open_object(location, name)

    def create_attribute(self, made: Any, call: Call, location: Any, name: Any, *_: Any, **keywords: Any) -> None:
        """`h5a.create`."""
        known = self.objects.attribute(self._owner(location, keywords), made, created=True)
        self.recorder.counted(known.handle, call.function, call.started)

    def open_attribute(self, made: Any, call: Call, location: Any, *_: Any, **keywords: Any) -> None:
        """`h5a.open`."""
        known = self.objects.attribute(self._owner(location, keywords), made)
        self.recorder.counted(known.handle, call.function, call.started)

    def read_attribute(self, made: Any, call: Call, attribute: Any, *_: Any, **__: Any) -> None:
        """`AttrID.read`."""
        known = self.objects.known[attribute.id]
        size = known.size * attribute.get_space().get_simple_extent_npoints()
        self.recorder.read(known.handle, call.function, size, call.started)

    def write_attribute(self, made: Any, call: Call, attribute: Any, *_: Any, **__: Any) -> None:
        """`AttrID.write`."""
        known = self.objects.known[attribute.id]
        size = known.size * attribute.get_space().get_simple_extent_npoints()
        self.recorder.write(known.handle, call.function, size, call.started)
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
        self.recorder.deleted(owner.opening.handle, call.function, owner.path, name, call.started)

    def rename_attribute(self, made: Any, call: Call, location: Any, name: Any, new_name: Any, **keywords: Any) -> None:
        """`h5a.rename`."""
        owner = self.objects.of(self._owner(location, keywords))
        old, new = os.fsencode(name), os.fsencode(new_name)
        owner.opening.members.pop(("Attribute", owner.path, old), None)
        self.recorder.renamed(owner.opening.handle, call.function, owner.path, old, new, call.started)

    # ---- links

    def link_object(self, made: Any, call: Call, obj: Any, location: Any, name: Any, *_: Any, **__: Any) -> None:
        """`h5o.link`: the first name of an object without one, or a further name."""
        written = self.unnamed.pop(obj.id, None)
        known = self.objects.of(obj, created=written is not None)
        if written is None:
            opening, path = self.objects.place(location, os.fsencode(name))
            known = self.objects.link(opening, path, known.path, None, True)
        self.recorder.counted(known.handle, call.function, call.started)
        for write, count in written or ():
            self.recorder.write(known.handle, write.function, known.size * count, write.started)

    def create_soft(self, made: Any, call: Call, links: Any, name: Any, target: Any, *_: Any, **__: Any) -> None:
        """`LinkProxy.create_soft`."""
        opening, path = self.objects.place(self.groups[id(links)](), os.fsencode(name))
        whole = os.path.join(os.path.dirname(path), os.fsencode(target))
        known = self.objects.link(opening, path, whole, None, True)
        self.recorder.counted(known.handle, call.function, call.started)

    def create_external(
        self, made: Any, call: Call, links: Any, name: Any, file: Any, target: Any, *_: Any, **__: Any
    ) -> None:
        """`LinkProxy.create_external`."""
        opening, path = self.objects.place(self.groups[id(links)](), os.fsencode(name))
        known = self.objects.link(opening, path, os.fsencode(target), os.fsencode(file), True)
        self.recorder.counted(known.handle, call.function, call.started)

    def create_hard(
        self, made: Any, call: Call, links: Any, name: Any, location: Any, target: Any, *_: Any, **__: Any
    ) -> None:
        """`LinkProxy.create_hard`."""
        opening, path = self.objects.place(self.groups[id(links)](), os.fsencode(name))
        known = self.objects.of(self.objects.open_object(location, target))
        known = self.objects.link(opening, path, known.path, None, True)
        self.recorder.counted(known.handle, call.function, call.started)

    def move(self, made: Any, call: Call, links: Any, name: Any, location: Any, new: Any, *_: Any, **__: Any) -> None:
        """`LinkProxy.move`."""
        opening, old = self.objects.place(self.groups[id(links)](), os.fsencode(name))
        path = self.objects.place(location, os.fsencode(new))[1]
        self.objects.forget_name(opening, old)
        self.recorder.renamed(opening.handle, call.function, None, old, path, call.started)

    def unlink(self, made: Any, call: Call, group: Any, name: Any) -> None:
        """`GroupID.unlink`."""
        opening, path = self.objects.place(group, os.fsencode(name))
        self.objects.forget_name(opening, path)
        self.recorder.deleted(opening.handle, call.function, path, None, call.started)

    # ---- dimension scales, which HDF5 keeps in attributes that its own functions write

    def set_scale(self, made: Any, call: Call, dataset: Any, *_: Any, **__: Any) -> None:
        """`h5ds.set_scale`."""
        self._written(call, dataset, (b"CLASS", b"NAME"))

    def attach_scale(self, made: Any, call: Call, dataset: Any, scale: Any, *_: Any) -> None:
        """`h5ds.attach_scale`, `h5ds.detach_scale`."""
        self._written(call, dataset, (b"DIMENSION_LIST",))
        self._written(call, scale, (b"REFERENCE_LIST",))

    def set_label(self, made: Any, call: Call, dataset: Any, *_: Any) -> None:
        """`h5ds.set_label`."""
        self._written(call, dataset, (b"DIMENSION_LABELS",))

    def _written(self, call: Call, owner: Any, names: tuple[bytes, ...]) -> None:
        for name in names:
            if self.h5py.h5a.exists(owner, name):
                attribute = self.objects.open_attribute(owner, name)
                opening = self.objects.of(owner).opening
                known = ("Attribute", self.objects.of(owner).path, name) in opening.members
                self.objects.attribute(owner, attribute, created=opening.created and not known)
                self.write_attribute(None, call, attribute)
