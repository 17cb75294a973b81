"""What each call of h5py's low level tells the writer: the call's result and arguments in, records out.

Every function has the parameters of the one that it follows, behind that one's result and what is known of the call.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from typing import Any, NamedTuple

from . import facts
from .objects import Known, Objects


class Call(NamedTuple):
    """A call that succeeded: the number of its function, and when it began."""

    function: int
    started: int


class Calls:
    """What is told of files, objects and their names."""

    def __init__(self, h5py: Any, objects: Objects, writer: Any) -> None:
        self.h5py = h5py
        self.objects = objects
        self.writer = writer
        self.behind: dict[int, int] = {}  # a list of access properties -> the descriptor behind its file-like object
        self.groups: dict[int, Any] = {}  # a proxy for links -> its group, held weakly
        self.files: set[Any] = set()
        self.unnamed: dict[int, list[Any]] = {}  # an object without a name -> what was written to it

    # ---- files

    def file_open(self, made: Any, call: Call, name: Any, flags: int = -1, fapl: Any = None) -> None:
        """`h5f.open`."""
        h5f = self.h5py.h5f
        writes = (h5f.ACC_RDWR if flags < 0 else flags) & h5f.ACC_RDWR
        self._file(made, call, name, os.O_RDWR if writes else os.O_RDONLY, fapl)

    def before_file_open(self, name: Any = None, *_: Any, **__: Any) -> None:
        """Where the shim is not, nobody else says what the file was before."""
        look = getattr(self.writer, "look", None)
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
        fd = -1 if fapl is None else self.behind.get(fapl.id, -1)
        self.objects.file_opened(made, call.function, os.fsencode(name), flags, call.started, fd)
        self.files.add(weakref.ref(made, self.file_gone))

    def file_gone(self, reference: Any) -> None:
        """Note that an identifier of a file was collected."""
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
        self.writer.counted(self.objects.of(location).opening.handle, call.function, call.started)

    def file_like(self, made: Any, call: Call, fapl: Any, driver: Any, fileobj: Any) -> None:
        """`PropFAID.set_fileobj_driver`: the descriptor, where there is one, is known to the file-like object alone."""
        self.behind.pop(fapl.id, None)
        try:
            if not hasattr(fileobj, "rollover"):  # tempfile.SpooledTemporaryFile goes from memory to disk when asked
                self.behind[fapl.id] = fileobj.fileno()
        except Exception:
            return

    # ---- objects

    def create(self, made: Any, call: Call, location: Any, name: Any, *_: Any, **__: Any) -> None:
        """`h5d.create`, `h5g.create`."""
        if name is None:
            self.unnamed[made.id] = []
            return
        self.writer.counted(self.objects.of(made, created=True).handle, call.function, call.started)

    def commit(self, made: Any, call: Call, kind: Any, location: Any, name: Any, *_: Any, **__: Any) -> None:
        """`TypeID.commit`."""
        self.writer.counted(self.objects.of(kind, created=True).handle, call.function, call.started)

    def open(self, made: Any, call: Call, location: Any, name: Any, *_: Any, **__: Any) -> None:
        """`h5d.open`, `h5g.open`, `h5o.open`, `h5t.open`."""
        known = self.objects.opened_by_name(location, os.fsencode(name), made)
        self.writer.counted(known.handle, call.function, call.started)

    def copy(self, made: Any, call: Call, source: Any, source_name: Any, target: Any, name: Any, *_: Any) -> None:
        """`h5o.copy`."""
        opening = self.objects.open_object
        known = self.objects.of(opening(source, source_name))
        copy = self.objects.of(opening(target, name), created=True)
        self.writer.copied(known.handle, copy.handle, call.function, call.started)

    # ---- elements

    def read(self, made: Any, call: Call, dataset: Any, mspace: Any, fspace: Any, *_: Any, **__: Any) -> None:
        """`DatasetID.read`."""
        known = self.objects.of(dataset)
        size = known.size * facts.elements(self.h5py, fspace, dataset)
        self.writer.read(known.handle, call.function, size, call.started)

    def fast_read(self, made: Any, call: Call, reader: Any, *_: Any) -> None:
        """`Reader.read`, of datasets of numbers alone."""
        known = self.objects.of(reader.provio_dataset)
        self.writer.read(known.handle, call.function, known.size * int(made.size), call.started)

    def write(self, made: Any, call: Call, dataset: Any, mspace: Any, fspace: Any, *_: Any, **__: Any) -> None:
        """`DatasetID.write`."""
        count = facts.elements(self.h5py, fspace, dataset)
        if dataset.id in self.unnamed:
            self.unnamed[dataset.id].append((call, count))
            return
        known = self.objects.of(dataset)
        self.writer.write(known.handle, call.function, known.size * count, call.started)
        if not known.created and count == dataset.get_space().get_simple_extent_npoints():
            self._replaced(known, call)

    def _replaced(self, known: Known, call: Call) -> None:
        known.created = True
        self.writer.replaced(known.handle, call.started)

    def read_chunk(self, made: Any, call: Call, dataset: Any, offsets: Any, *_: Any, **__: Any) -> None:
        """`DatasetID.read_direct_chunk`."""
        known = self.objects.of(dataset)
        self.writer.read(known.handle, call.function, self._chunk(known, dataset), call.started)

    def write_chunk(self, made: Any, call: Call, dataset: Any, *_: Any, **__: Any) -> None:
        """`DatasetID.write_direct_chunk`."""
        known = self.objects.of(dataset)
        self.writer.write(known.handle, call.function, self._chunk(known, dataset), call.started)

    def _chunk(self, known: Known, dataset: Any) -> int:
        size = known.size
        for length in dataset.get_create_plist().get_chunk():
            size *= length
        return size

    def resize(self, made: Any, call: Call, dataset: Any, shape: Any) -> None:
        """`DatasetID.set_extent`."""
        known = self.objects.of(dataset)
        self.writer.resized(known.handle, call.function, " ".join(map(str, dataset.shape)).encode(), call.started)

    def asked(self, made: Any, call: Call, dataset: Any) -> None:
        """`DatasetID.get_space`, `DatasetID.get_type`: followed for their failures, the first of a closed handle."""

    def flush_dataset(self, made: Any, call: Call, dataset: Any) -> None:
        """`DatasetID.flush`."""
        self.writer.counted(self.objects.of(dataset).handle, call.function, call.started)
