"""Propagate Tasks to work that a thread does later for others: the work belongs to the Task that submitted it.

Callbacks and tasks of asyncio, and work submitted to a pool of threads, are observed from the moment when the program
loads `asyncio` or `concurrent.futures`. New threads inherit their Task from the shim, or from the writer.
"""

from __future__ import annotations

import sys
from _thread import _local

from . import tasks
from .guard import reraise_from_program

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from typing import Any

_wrapped: set[str] = set()
_finders: list[Any] = []
_bases = _local()  # `task`: that of a thread's loop
_late_loop: list[Any] = []  # a loop that ran before asyncio was wrapped, and the Task of its thread


def propagate() -> None:
    """Load and wrap all modules of WRAPPED."""
    import importlib

    for module in WRAPPED:
        importlib.import_module(module)
    propagate_loaded()


def propagate_loaded() -> None:
    """Wrap the loaded modules of WRAPPED now, and the others when they are loaded."""
    if len(_wrapped) == len(WRAPPED):
        return
    for name in WRAPPED:
        if name not in _wrapped and name in sys.modules:
            _wrap(name, sys.modules[name])
    if not _finders and len(_wrapped) < len(WRAPPED):
        from .. import recognising

        finder: Any = recognising.Waiting
        _finders.append(finder({name: _when_loaded(name) for name in WRAPPED}))
        sys.meta_path.insert(0, _finders[0])


def _when_loaded(name: str) -> Any:
    return lambda module, _: _wrap(name, module)


def _wrap(name: str, module: Any) -> None:
    if hasattr(module, WRAPPED[name][0]) and name not in _wrapped:  # another thread may still be loading the module
        _wrapped.add(name)
        WRAPPED[name][1](module)


def _asyncio(events: Any) -> None:
    handle = events.Handle
    if getattr(handle._run, "provio", False):
        return
    import functools
    import weakref

    run, loop = handle._run, events._get_running_loop()
    if loop is not None:
        _late_loop[:] = weakref.ref(loop), tasks.now()

    @functools.wraps(run)
    def run_within(self: Any) -> Any:
        context = self._context
        if tasks.SCOPE not in context and not _late_loop:  # of no Task: of a loop's callbacks, these are very many
            try:
                base = _bases.task
            except AttributeError:
                base = _bases.task = tasks.now()
            try:
                return run(self)
            finally:
                if tasks.SCOPE in context:
                    _back(base)
        before = _enter_scope(self)
        try:
            return run(self)
        finally:
            _back(before)

    run_within.provio = True  # type: ignore[attr-defined]
    handle._run = run_within


def _enter_scope(handle: Any) -> int:
    """Enter the Task that scheduled a callback; return the Task of its loop."""
    try:
        before = tasks.now()
        if _late_loop and _late_loop[0]() is handle._loop:
            before = _late_loop[1]
        scope = handle._context.get(tasks.SCOPE, before)
        if scope != before:
            tasks.enter_handed(scope)
        return before
    except Exception as error:
        reraise_from_program(error)
        return 0


def _back(before: int) -> None:
    try:
        if tasks.now() != before:
            tasks.enter(before)
    except Exception as error:
        reraise_from_program(error)


def _pool(thread: Any) -> None:
    import functools

    pool = thread.ThreadPoolExecutor
    submit = pool.submit
    if hasattr(submit, "provio"):  # `recognise/concurrent.py` calls `handed`
        return

    def submit_within(self: Any, function: Any, /, *arguments: Any, **named: Any) -> Any:
        return submit(self, handed(function), *arguments, **named)

    pool.submit = functools.update_wrapper(submit_within, submit)


def handed(function: Any) -> Any:
    """Return a function that does the same as another one, in the present Task of this thread."""
    task = tasks.now()
    if not task:
        return function

    def within(*arguments: Any, **named: Any) -> Any:
        before = tasks.enter_handed(task)
        try:
            return function(*arguments, **named)
        except BaseException as error:
            error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next  # without this line
            raise
        finally:
            _back(before)

    return within


WRAPPED = {"asyncio.events": ("Handle", _asyncio), "concurrent.futures.thread": ("ThreadPoolExecutor", _pool)}
