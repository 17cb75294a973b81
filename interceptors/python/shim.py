"""The preloaded shim as a recorder: Python values in, records in the thread's file out."""

from __future__ import annotations

import ctypes

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from typing import Any

TEXTS = (
    "kind",
    "path",
    "name",
    "target",
    "target_file",
    "shape",
    "max_shape",
    "datatype",
    "chunks",
    "filters",
    "token",
)


class Member(ctypes.Structure):
    """`struct provio_member` of provio.h."""

    _fields_ = [
        *((name, ctypes.c_char_p) for name in TEXTS),
        ("element_size", ctypes.c_uint64),
        ("created", ctypes.c_int),
    ]


class Task(ctypes.Structure):
    """`struct provio_task` of provio.h."""

    _fields_ = [
        *((name, ctypes.c_char_p) for name in ("name", "kind", "source")),
        ("number", ctypes.c_uint64),
    ]


_pointer, _text, _int = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
_time = _bytes = _handle = ctypes.c_uint64
_integer, _real = ctypes.c_int64, ctypes.c_double
# Name: result, parameters; as in provio.h and layer.h.
FUNCTIONS: dict[str, Any] = {
    "task_begin": (_handle, ctypes.POINTER(Task)),
    "task_enter": (_handle, _handle),
    "task_now": (_handle,),
    "task_end": (None, _handle, _text),
    "task_in": (_handle, _text, _text),
    "task_out": (None, _handle, _handle, _text),
    "configuration": (_handle, _text, _text),
    "configuration_end": (None, _handle),
    "setting_text": (None, _handle, _text, _text),
    "setting_integer": (None, _handle, _text, _integer),
    "setting_real": (None, _handle, _text, _real),
    "setting_truth": (None, _handle, _text, _int),
    "setting_typed": (None, _handle, _text, _text, _text),
    "metric": (None, _text, _text, _real, _integer),
    "metric_integer": (None, _text, _text, _integer, _integer),
    "metric_of": (None, _handle, _text, _text, _real, _integer),
    "checkpoint": (_handle, _text, _integer),
    "entity": (_handle, _text, _text, _text),
    "used": (None, _handle, _text),
    "generated": (None, _handle, _text),
    "messages": (None,),
    "recording": (_int,),
    "now": (_time,),
    "function": (_int, _text, _text),
    "file": (_pointer, _int, _text, ctypes.c_uint, _time),
    "file_of": (_pointer, _int, _int, ctypes.c_uint, _time),
    "file_closed": (None, _pointer, _time),
    "member": (_pointer, _pointer, ctypes.POINTER(Member)),
    "virtual": (None, _pointer, _pointer),
    "read": (None, _pointer, _int, _bytes, _time),
    "write": (None, _pointer, _int, _bytes, _time),
    "counted": (None, _pointer, _int, _time),
    "copied": (None, _pointer, _pointer, _int, _time),
    "replaced": (None, _pointer, _time),
    "resized": (None, _pointer, _int, _text, _time),
    "renamed": (None, _pointer, _int, _text, _text, _text, _time),
    "deleted": (None, _pointer, _int, _text, _text, _time),
    "failed": (None, _pointer, _int, _int, _time),
    "release": (None, _pointer),
}


def _encoded(value: Any) -> bytes | None:
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value


class Shim:
    """The functions of provio.h and layer.h without their prefix."""

    def __init__(self, library: Any) -> None:
        for name, (result, *parameters) in FUNCTIONS.items():
            function = getattr(library, f"provio_{name}")
            function.restype, function.argtypes = result, parameters
            if not hasattr(self, name):
                setattr(self, name, function)
        self._numbers: dict[str, int] = {}
        self._begin = library.provio_task_begin
        self._function, self._member = library.provio_function, library.provio_member

    def function(self, name: str, term: str) -> int:
        """Return a number for a function; `term` is the ontology class of its calls."""
        if name not in self._numbers:
            self._numbers[name] = self._function(name.encode(), term.encode())
        return self._numbers[name]

    def begin(self, name: Any = None, kind: Any = None, source: Any = None, number: int = 0) -> int:
        """Begin a Task as a part of the thread's Task, without entering it; return its number."""
        task = Task(_encoded(name), _encoded(kind), _encoded(source), number)
        return int(self._begin(ctypes.byref(task)))

    def member(self, file: Any, **facts: Any) -> Any:
        """Declare an object of a file; `facts` are the fields of `Member`."""
        member = Member(**{name: _encoded(value) for name, value in facts.items()})
        return self._member(file, ctypes.byref(member))


def found() -> Any | None:
    """Return the library if it is in this process and records."""
    library = ctypes.PyDLL(None)  # keeps the GIL: releasing it would take longer than these calls
    try:
        return library if library.provio_recording() else None
    except AttributeError:
        return None
