"""What a thread does for several, by turns: each belongs to the Task that it was said in.

Callbacks and tasks of asyncio, and what is handed to a pool of threads, are followed from when the program loads what
does them. Threads are followed by the shim, or the writer.
"""

from __future__ import annotations

import sys

from . import tasks
from .foreign import of_provio

TYPE_CHECKING = False  # what is for types alone is dear to load
if TYPE_CHECKING:
    from typing import Any

_followed: set[str] = set()
_waiting: list[Any] = []  # a finder
_late: list[Any] = []  # the loop that ran before it was followed, and what its thread was in


def follow() -> None:
    """Follow all of it, loaded or not."""
    import importlib

    for module in FOLLOWED:
        importlib.import_module(module)
    follow_loaded()


def follow_loaded() -> None:
    """Follow what is loaded by now, and the rest as soon as it is."""
    if len(_followed) == len(FOLLOWED):
        return
    for name in FOLLOWED:
        if name not in _followed and name in sys.modules:
            _follow(name, sys.modules[name])
    if not _waiting and len(_followed) < len(FOLLOWED):
        from .. import recognising

        finder: Any = recognising.Waiting
        _waiting.append(finder({name: _when_loaded(name) for name in FOLLOWED}))
        sys.meta_path.insert(0, _waiting[0])


def _when_loaded(name: str) -> Any:
    return lambda module, _: _follow(name, module)


def _follow(name: str, module: Any) -> None:
    if hasattr(module, FOLLOWED[name][0]) and name not in _followed:  # another thread may just be loading it
        _followed.add(name)
        FOLLOWED[name][1](module)


def _asyncio(events: Any) -> None:
    handle = events.Handle
    if getattr(handle._run, "provio", False):
        return
    import functools
    import weakref

    run, loop = handle._run, events._get_running_loop()
    if loop is not None:
        _late[:] = weakref.ref(loop), tasks.now()

    @functools.wraps(run)
    def run_within(self: Any) -> Any:
        before = _entered(self)
        try:
            return run(self)
        finally:
            _back(before)

    run_within.provio = True  # type: ignore[attr-defined]
    handle._run = run_within


def _entered(handle: Any) -> int:
    """Enter what a callback was said in; return what its loop is in."""
    try:
        before = tasks.now()
        if _late and _late[0]() is handle._loop:
            before = _late[1]
        scope = handle._context.get(tasks.SCOPE, before)
        if scope != before:
            tasks.enter_handed(scope)
        return before
    except Exception as error:
        of_provio(error)
        return 0


def _back(before: int) -> None:
    try:
        if tasks.now() != before:
            tasks.enter(before)
    except Exception as error:
        of_provio(error)


def _pool(thread: Any) -> None:
    import functools

    pool = thread.ThreadPoolExecutor
    submit = pool.submit

    def submit_within(self: Any, function: Any, /, *arguments: Any, **named: Any) -> Any:
        task = tasks.now()
        if not task:
            return submit(self, function, *arguments, **named)
        return submit(self, _within, task, function, *arguments, **named)

    pool.submit = functools.update_wrapper(submit_within, submit)


def _within(task: int, function: Any, /, *arguments: Any, **named: Any) -> Any:
    before = tasks.enter_handed(task)
    try:
        return function(*arguments, **named)
    finally:
        _back(before)


FOLLOWED = {"asyncio.events": ("Handle", _asyncio), "concurrent.futures.thread": ("ThreadPoolExecutor", _pool)}
