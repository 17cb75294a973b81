"""Observe an h5py whose calls of HDF5 the C layer does not see: the imported h5py in, its low-level functions wrapped.

If the C functions of HDF5 that this h5py calls are observed already, nothing is wrapped. Else each function and method
of h5py's low level, which calls one function of HDF5, is replaced by a wrapper that calls it and then reports the call
to the recorder: the shim in this process, or the writer in Python. h5py's high level is not changed.
"""

from __future__ import annotations

import functools
import gc
import os
import weakref
from collections.abc import Callable
from typing import Any

# Module or class: name of the function, the class of its calls, and the method of Calls that reports them.
WRAPPED: dict[str, tuple[tuple[str, str, str], ...]] = {
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
        ("get_space", "Stat", "stat"),
        ("get_type", "Stat", "stat"),
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


def follow(h5py: Any) -> None:
    """Wrap an h5py that was just imported, unless its calls are observed already."""
    wrapped = isinstance(h5py.h5f.open, type(follow))  # h5py's own functions are not written in Python
    setting = "off" if wrapped else os.environ.get("PROVIO_HDF5", "")
    recorder = None if setting == "off" else _recorder(h5py, forced=setting == "h5py")
    if recorder is None:
        return
    from .calls import Calls
    from .objects import Objects

    _Wrapper(h5py, recorder, Calls(h5py, Objects(h5py, recorder), recorder)).wrap()


def _recorder(h5py: Any, forced: bool) -> Any | None:
    """Return the recorder; None if nothing records, or if the C layer sees the calls of this h5py."""
    from .. import shim

    library = shim.found()
    if library is None:
        from ..writer import writer

        return writer.found()
    return None if not forced and _reaches_c_layer(library, h5py) else shim.Shim(library)


def _reaches_c_layer(library: Any, h5py: Any) -> bool:
    try:
        before = library.provio_hdf5_calls()
        h5py.h5.get_libversion()
        return bool(library.provio_hdf5_calls() != before)
    except AttributeError:
        return False


class _Wrapper:
    """Replaces h5py's functions."""

    def __init__(self, h5py: Any, recorder: Any, calls: Any) -> None:
        self.h5py = h5py
        self.recorder = recorder
        self.calls = calls
        self.phil = h5py._objects.phil

    def wrap(self) -> None:
        for where, rows in WRAPPED.items():
            owner = self.h5py
            for name in where.split("."):
                owner = getattr(owner, name, None)
            if where == "_selector.Reader" and owner is not None:
                owner = self.h5py._selector.Reader = _reader(owner)
            for name, term, method in rows:
                original = vars(owner).get(name) or getattr(owner, name, None) if owner else None
                if original is not None:
                    number = self.recorder.function(f"h5py.{where}.{name}", term)
                    _put(owner, name, self._wrapped(original, number, getattr(self.calls, method)))
        self._wrap_links()

    def _wrapped(self, original: Callable[..., Any], number: int, report: Callable[..., None]) -> Callable[..., Any]:
        now, phil, failed, call = self.recorder.now, self.phil, self._failed, self.calls.call
        before = getattr(self.calls, f"before_{report.__name__}", None)

        @functools.wraps(original)
        def wrapped(*arguments: Any, **keywords: Any) -> Any:
            started = now()
            if before is not None:
                before(*arguments, **keywords)
            try:
                result = original(*arguments, **keywords)
            except Exception as error:
                failed(arguments, number, error, started)
                # Without the line of this function; not kept in a variable, which would keep the caller's objects.
                error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
                raise
            try:
                with phil:
                    report(result, call(number, started), *arguments, **keywords)
            except Exception:  # noqa: S110 (an error of provio must not reach the program)
                pass
            return result

        return wrapped

    def _failed(self, arguments: tuple[Any, ...], number: int, error: Exception, started: int) -> None:
        """Record a call that HDF5 refused, not one that h5py itself refused."""
        if isinstance(error, (TypeError, IndexError)):
            return
        try:
            handle = self.calls.handle_of(arguments[0]) if arguments else None
            self.recorder.failed(handle, number, getattr(error, "errno", None) or 0, started)
        except Exception:
            return

    def _wrap_links(self) -> None:
        """Note the group of each proxy for links, which does not hold its group."""
        owner = self.h5py.h5g.GroupID
        original, groups = vars(owner)["links"], self.calls.groups

        def links(group: Any) -> Any:
            found = original.__get__(group)
            if len(groups) > 100:
                groups.clear()
            groups[id(found)] = weakref.ref(group)  # a strong reference would keep its file open
            return found

        _put(owner, "links", property(links, doc=original.__doc__))


def _reader(original: Any) -> Any:
    """Return h5py's reader of numbers, extended by the dataset that it reads."""

    class Reader(original):  # type: ignore[misc]
        __doc__ = original.__doc__

        def __init__(self, dataset: Any) -> None:
            self.provio_dataset = dataset

    Reader.__module__, Reader.__qualname__ = original.__module__, original.__qualname__
    Reader.read = original.read
    return Reader


def _put(owner: Any, name: str, value: Any) -> None:
    """Set an attribute of a module or a class, also of a class that C defines."""
    if not isinstance(owner, type):
        setattr(owner, name, value)
        return
    import ctypes

    namespace = gc.get_referents(owner.__dict__)[0]
    namespace[name] = value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))
