"""Records what h5py does, where the C layer does not: the imported h5py in, its low-level functions followed out.

Where the C functions of HDF5 that this h5py calls are watched already, nothing is touched. Else the functions and
methods of h5py's low level, which each call one function of HDF5, are replaced by ones that call them and then say so
to the writer: the shim in this process, or the one in Python where it is not. h5py's high level stays as it is.
"""

from __future__ import annotations

import functools
import gc
import os
import weakref
from collections.abc import Callable
from typing import Any

# Module or class: name of the function, the class of its calls, and which method of Names is told of them.
FOLLOWED: dict[str, tuple[tuple[str, str, str], ...]] = {
    "h5f": (("open", "Open", "file_open"), ("create", "Create", "file_create"), ("flush", "Flush", "flush")),
    "h5f.FileID": (("close", "Close", "file_close"), ("reopen", "Open", "file_reopen")),
    "h5p.PropFAID": (("set_fileobj_driver", "Open", "file_like"),),
    "h5g": (("create", "Create", "create"), ("open", "Open", "open")),
    "h5g.GroupID": (("unlink", "Delete", "unlink"),),
    "h5l.LinkProxy": (
        ("create_soft", "Link", "create_soft"),
        ("create_hard", "Link", "create_hard"),
        ("create_external", "Link", "create_external"),
        ("move", "Rename", "move"),
    ),
    "h5o": (("open", "Open", "open"), ("copy", "Copy", "copy"), ("link", "Link", "link_object")),
    "h5t": (("open", "Open", "open"),),
    "h5t.TypeID": (("commit", "Create", "commit"),),
    "h5d": (("create", "Create", "create"), ("open", "Open", "open")),
    "h5d.DatasetID": (
        ("read", "Read", "read"),
        ("write", "Write", "write"),
        ("read_direct_chunk", "Read", "read_chunk"),
        ("write_direct_chunk", "Write", "write_chunk"),
        ("set_extent", "Resize", "resize"),
        ("flush", "Flush", "flush_dataset"),
        ("get_space", "Stat", "asked"),
        ("get_type", "Stat", "asked"),
    ),
    "_selector.Reader": (("read", "Read", "fast_read"),),
    "h5a": (
        ("create", "Create", "create_attribute"),
        ("open", "Open", "open_attribute"),
        ("delete", "Delete", "delete_attribute"),
        ("rename", "Rename", "rename_attribute"),
    ),
    "h5a.AttrID": (("read", "Read", "read_attribute"), ("write", "Write", "write_attribute")),
    "h5ds": (
        ("set_scale", "Write", "set_scale"),
        ("attach_scale", "Write", "attach_scale"),
        ("detach_scale", "Write", "attach_scale"),
        ("set_label", "Write", "set_label"),
    ),
}


def watch(h5py: Any) -> None:
    """Follow an h5py that was just imported, unless its calls are seen already."""
    followed = isinstance(h5py.h5f.open, type(watch))  # h5py's own are not written in Python
    way = "off" if followed else os.environ.get("PROVIO_HDF5", "")
    writer = None if way == "off" else _writer(h5py, forced=way == "h5py")
    if writer is None:
        return
    from .python.objects import Objects
    from .python.scales import Scales

    objects = Objects(h5py, writer)
    _Follower(h5py, writer, Scales(h5py, objects, writer)).follow()


def _writer(h5py: Any, forced: bool) -> Any | None:
    """Return what records here; None: nothing does, or the C layer sees this h5py's calls."""
    from .python import shim

    library = shim.found()
    if library is None:
        from .python import writer

        return writer.found()
    return None if not forced and _in_front(library, h5py) else shim.Shim(library)


def _in_front(library: Any, h5py: Any) -> bool:
    """Whether a call of this h5py's reaches the C layer."""
    try:
        before = library.provio_hdf5_calls()
        h5py.h5.get_libversion()
        return bool(library.provio_hdf5_calls() != before)
    except AttributeError:
        return False


class _Follower:
    """Puts functions in the place of h5py's own."""

    def __init__(self, h5py: Any, writer: Any, calls: Any) -> None:
        self.h5py = h5py
        self.writer = writer
        self.calls = calls
        self.phil = h5py._objects.phil

    def follow(self) -> None:
        for where, rows in FOLLOWED.items():
            owner = self.h5py
            for name in where.split("."):
                owner = getattr(owner, name, None)
            if where == "_selector.Reader" and owner is not None:
                owner = self.h5py._selector.Reader = _reader(owner)
            for name, term, told in rows:
                original = vars(owner).get(name) or getattr(owner, name, None) if owner else None
                if original is not None:
                    number = self.writer.function(f"h5py.{where}.{name}", term)
                    _put(owner, name, self._followed(original, number, getattr(self.calls, told)))
        self._follow_links()

    def _followed(self, original: Callable[..., Any], number: int, tell: Callable[..., None]) -> Callable[..., Any]:
        now, phil, failed, call = self.writer.now, self.phil, self._failed, self.calls.call
        before = getattr(self.calls, f"before_{tell.__name__}", None)

        @functools.wraps(original)
        def followed(*arguments: Any, **keywords: Any) -> Any:
            started = now()
            if before is not None:
                before(*arguments, **keywords)
            try:
                result = original(*arguments, **keywords)
            except Exception as error:
                failed(arguments, number, error, started)
                # Without this function's own line; in no variable, which would hold all that the caller has.
                error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
                raise
            try:
                with phil:
                    tell(result, call(number, started), *arguments, **keywords)
            except Exception:  # noqa: S110 (whatever goes wrong here is not the program's)
                pass
            return result

        return followed

    def _failed(self, arguments: tuple[Any, ...], number: int, error: Exception, started: int) -> None:
        """Record a call that HDF5 refused; what h5py refuses by itself is none."""
        if isinstance(error, (TypeError, IndexError)):
            return
        try:
            handle = self.calls.handle_of(arguments[0]) if arguments else None
            self.writer.failed(handle, number, getattr(error, "errno", None) or 0, started)
        except Exception:
            return

    def _follow_links(self) -> None:
        """Remember whose links a proxy stands for: it does not say so itself."""
        owner = self.h5py.h5g.GroupID
        original, groups = vars(owner)["links"], self.calls.groups

        def links(group: Any) -> Any:
            found = original.__get__(group)
            if len(groups) > 100:
                groups.clear()
            groups[id(found)] = weakref.ref(group)  # which alone would keep its file open
            return found

        _put(owner, "links", property(links, doc=original.__doc__))


def _reader(original: Any) -> Any:
    """Return h5py's reader of numbers, which also says of which dataset it reads."""

    class Reader(original):  # type: ignore[misc]
        __doc__ = original.__doc__

        def __init__(self, dataset: Any) -> None:
            self.provio_dataset = dataset

    Reader.__module__, Reader.__qualname__ = original.__module__, original.__qualname__
    Reader.read = original.read
    return Reader


def _put(owner: Any, name: str, value: Any) -> None:
    """Set an attribute of a module or a class, also of one that C defines."""
    if not isinstance(owner, type):
        setattr(owner, name, value)
        return
    import ctypes

    namespace = gc.get_referents(owner.__dict__)[0]
    namespace[name] = value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))
