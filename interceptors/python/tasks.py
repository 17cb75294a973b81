"""Tasks, as a thread of Python enters and leaves them: names in, numbers that the shim gave them out (provio.h).

Where the shim is not in the process, or does not record, every function does nothing and a Task is 0.
"""

from __future__ import annotations

import asyncio.events
import concurrent.futures
import contextvars
import ctypes
import functools
from typing import Any

from .shim import Shim, Task, found

LONGEST = 64 * 1024  # bytes of a source's text: more than one reads
SCOPE: contextvars.ContextVar[int] = contextvars.ContextVar("provio_task", default=0)
_shims: list[Any] = []  # the one of this process, or None; empty until it was looked for


def _shim() -> Any:
    """The shim's functions; None where it is not in the process."""
    if not _shims:
        library = found()
        _shims.append(Shim(library) if library else None)
    return _shims[0]


def _text(value: str | None) -> bytes | None:
    if value is None:
        return None
    encoded = value.replace("\0", "").encode("utf-8", "surrogatepass")
    return encoded if len(encoded) <= LONGEST else encoded[:LONGEST].decode("utf-8", "ignore").encode()


def begin(name: str, kind: str | None = None, source: str | None = None, number: int = 0) -> int:
    """Begin a Task within the one that this thread is in, if any; return its number. It is not entered yet."""
    shim = _shim()
    if shim is None:
        return 0
    return int(shim.task_begin(ctypes.byref(Task(_text(name), _text(kind), _text(source), max(0, number)))))


def enter(task: int) -> int:
    """What this thread does from here on belongs to a Task (0: to none); return what it was in, to go back to."""
    shim = _shim()
    return int(shim.task_enter(task)) if shim else 0


def now() -> int:
    """Return the Task that this thread is in; 0: none."""
    shim = _shim()
    return int(shim.task_now()) if shim else 0


def end(task: int, status: str | None = None) -> None:
    """Say that a Task is over, and how: `ok`, `error`. Threads that were made in it leave it."""
    shim = _shim() if task else None
    if shim:
        shim.task_end(task, _text(status))


class task:  # noqa: N801 (a function, to who uses it)
    """Do what follows in a Task of its own: begun, entered, left and ended here; `error` where an exception ends it."""

    __slots__ = ("_before", "_scope", "begun", "said")

    def __init__(self, name: str, kind: str | None = None, source: str | None = None, number: int = 0) -> None:
        self.said = name, kind, source, number
        self.begun = 0

    def __enter__(self) -> int:
        if _shim():
            self.begun = begin(*self.said)
        if self.begun:
            self._before, self._scope = enter(self.begun), SCOPE.set(self.begun)
        return self.begun

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if self.begun:
            SCOPE.reset(self._scope)
            enter(self._before)
            end(self.begun, "ok" if kind is None else "error")


# ---- what a thread does for several, by turns


def follow() -> None:
    """Have what asyncio runs, and what is handed to a pool of threads, belong to the Task that it was said in."""
    handle, pool = asyncio.events.Handle, concurrent.futures.ThreadPoolExecutor
    if getattr(handle._run, "provio", False):
        return
    run, submit = handle._run, pool.submit

    @functools.wraps(run)
    def run_within(self: Any) -> Any:
        try:
            before = enter(self._context.get(SCOPE, 0))
        except Exception:
            return run(self)
        try:
            return run(self)
        finally:
            enter(before)

    def submit_within(self: Any, function: Any, /, *arguments: Any, **named: Any) -> Any:
        return submit(self, _within, now(), function, *arguments, **named)

    run_within.provio = True  # type: ignore[attr-defined]
    handle._run = run_within  # type: ignore[method-assign]
    functools.update_wrapper(submit_within, submit)  # type: ignore[arg-type]
    pool.submit = submit_within  # type: ignore[method-assign]


def _within(task: int, function: Any, *arguments: Any, **named: Any) -> Any:
    before = enter(task)
    try:
        return function(*arguments, **named)
    finally:
        enter(before)
