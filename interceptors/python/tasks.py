"""Tasks as the threads of a Python program enter and leave them; the recorder gives each Task its number (`provio.h`).

Without a recorder every function does nothing, and the number of a Task is 0.
"""

from __future__ import annotations

import contextvars

from . import recorder
from .encoding import encode, encode_optional

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from typing import Any

HANDED = 1 << 62  # PROVIO_HANDED
SCOPE: contextvars.ContextVar[int] = contextvars.ContextVar("provio_task", default=0)


def begin(name: Any, kind: Any = None, source: str | None = None, number: int = 0) -> int:
    """Begin a Task as a part of this thread's Task, if any, without entering it; return its number."""
    found = recorder.recorder()
    if found is None:
        return 0
    return int(found.begin(encode(name), encode_optional(kind), encode_optional(source), max(0, number)))


def enter(task: int) -> int:
    """Enter a Task in this thread (0: leave the current one); return the previous Task, to which to go back."""
    found = recorder.recorder()
    return int(found.task_enter(task)) if found else 0


def enter_handed(task: int) -> int:
    """Enter the Task in which some work was handed over; the thread stays in it even if another thread ends it."""
    return enter(task | HANDED if task else 0)


def now() -> int:
    """Return the Task of this thread; 0: none."""
    found = recorder.recorder()
    return int(found.task_now()) if found else 0


def end(task: int, status: str | bytes | None = None) -> None:
    """End a Task with a status: `ok` or `error`. Threads that inherited it leave it."""
    found = recorder.recorder() if task else None
    if found:
        found.task_end(task, encode_optional(status))


def status(kind: Any, value: Any) -> bytes:
    """Return the status of a Task that ends with an exception, or without one (None)."""
    if kind is None or kind is GeneratorExit:
        return b"ok"
    return b"ok" if kind is SystemExit and getattr(value, "code", 1) in (None, 0) else b"error"


class task:  # noqa: N801 (used like a function)
    """Run the block of a `with` in a Task of its own; an exception gives it the status `error`."""

    __slots__ = ("_before", "_declared", "_scope", "number")

    def __init__(self, name: str, kind: str | None = None, source: str | None = None, number: int = 0) -> None:
        self._declared = name, kind, source, number
        self.number = 0

    def __enter__(self) -> int:
        self.number = begin(*self._declared)
        if self.number:
            self._before, self._scope = enter(self.number), SCOPE.set(self.number)
        return self.number

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if self.number:
            SCOPE.reset(self._scope)
            enter(self._before)
            end(self.number, status(kind, value))
