"""Tasks, as a thread of Python enters and leaves them: names in, numbers that the recorder gave them out (provio.h).

Where nothing is recorded, every function does nothing and a Task is 0.
"""

from __future__ import annotations

import contextvars

from . import recorder
from .words import optional, text

TYPE_CHECKING = False  # what is for types alone is dear to load
if TYPE_CHECKING:
    from typing import Any

HANDED = 1 << 62  # PROVIO_HANDED
SCOPE: contextvars.ContextVar[int] = contextvars.ContextVar("provio_task", default=0)


def begin(name: Any, kind: Any = None, source: str | None = None, number: int = 0) -> int:
    """Begin a Task within the one that this thread is in, if any; return its number. It is not entered yet."""
    found = recorder.recorder()
    if found is None:
        return 0
    return int(found.begin(text(name), optional(kind), optional(source), max(0, number)))


def enter(task: int) -> int:
    """What this thread does from here on belongs to a Task (0: to none); return what it was in, to go back to."""
    found = recorder.recorder()
    return int(found.task_enter(task)) if found else 0


def enter_handed(task: int) -> int:
    """Enter a Task to do what was handed over in it: whoever ends it meanwhile, this thread stays in it."""
    return enter(task | HANDED if task else 0)


def now() -> int:
    """Return the Task that this thread is in; 0: none."""
    found = recorder.recorder()
    return int(found.task_now()) if found else 0


def end(task: int, status: str | bytes | None = None) -> None:
    """Say that a Task is over, and how: `ok`, `error`. Threads that were made in it leave it."""
    found = recorder.recorder() if task else None
    if found:
        found.task_end(task, optional(status))


def status(kind: Any, value: Any) -> bytes:
    """Return how a Task is over that ends with an exception, or without (None)."""
    if kind is None or kind is GeneratorExit:
        return b"ok"
    return b"ok" if kind is SystemExit and getattr(value, "code", 1) in (None, 0) else b"error"


class task:  # noqa: N801 (a function, to who uses it)
    """Do what follows in a Task of its own: begun, entered, left and ended here; `error` where an exception ends it."""

    __slots__ = ("_before", "_scope", "begun", "said")

    def __init__(self, name: str, kind: str | None = None, source: str | None = None, number: int = 0) -> None:
        self.said = name, kind, source, number
        self.begun = 0

    def __enter__(self) -> int:
        self.begun = begin(*self.said)
        if self.begun:
            self._before, self._scope = enter(self.begun), SCOPE.set(self.begun)
        return self.begun

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if self.begun:
            SCOPE.reset(self._scope)
            enter(self._before)
            end(self.begun, status(kind, value))
