"""The decorator `provio.task`: a function, method, coroutine or generator in, one of the same kind out.

Each call is an activity. The Task of a coroutine or generator proceeds in steps: the thread is in the Task during each
step, and between steps in the Task that it was in before. No exception of this module reaches the program.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Generator, Mapping
from typing import Any

from . import recorder, tasks
from .activities import Activity
from .guard import reraise_from_program
from .propagation import propagate_loaded
from .settings import declare_attributes


def decorated(function: Any, name: Any, attributes: Mapping[str, Any]) -> Any:
    """Return a function of the same kind, each call of which is an activity of that name."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(decorated(function.__func__, name, attributes))
    task_name = name if name is not None else getattr(function, "__qualname__", None) or type(function).__name__

    def begin() -> int:
        try:
            propagate_loaded()
            number = tasks.begin(task_name)
            if number and attributes:
                declare_attributes(recorder.recorder(), number, attributes)
            return number
        except Exception as error:
            reraise_from_program(error)
            return 0

    for matches, within in KINDS:
        if matches(function):
            return functools.wraps(function)(within(function, begin))

    @functools.wraps(function)
    def within_activity(*arguments: Any, **named: Any) -> Any:
        with Activity(task_name, None, attributes):
            return function(*arguments, **named)

    return within_activity


class Steps:
    """A Task that proceeds in steps; `with` begins and ends it."""

    __slots__ = ("_before", "_scope", "begin", "number")

    def __init__(self, begin: Callable[[], int]) -> None:
        self.begin = begin

    def __enter__(self) -> Steps:
        self.number = self.begin()
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if self.number:
            tasks.end(self.number, tasks.status(kind, value))

    def _in(self) -> None:
        if self.number:
            self._scope, self._before = tasks.SCOPE.set(self.number), tasks.enter(self.number)

    def _out(self) -> None:
        if self.number:
            tasks.SCOPE.reset(self._scope)
            tasks.enter(self._before)

    def of(self, generator: Any) -> Generator[Any, Any, Any]:
        """Yield the values of a generator, and pass on the values and exceptions that are sent to it."""
        step, value = generator.send, None
        while True:
            self._in()
            try:
                given = step(value)
            except StopIteration as stop:
                return stop.value
            finally:
                self._out()
            try:
                value, step = (yield given), generator.send
            except GeneratorExit:
                self._closed(generator)
                raise
            except BaseException as error:
                value, step = error, generator.throw

    def _closed(self, generator: Any) -> None:
        self._in()
        try:
            generator.close()
        finally:
            self._out()

    @types.coroutine
    def awaited(self, awaitable: Any) -> Generator[Any, Any, Any]:
        """Do the same for an awaitable."""
        return (yield from self.of(awaitable.__await__()))


def _generator(function: Any, begin: Callable[[], int]) -> Any:
    def within(*arguments: Any, **named: Any) -> Any:
        with Steps(begin) as steps:
            return (yield from steps.of(function(*arguments, **named)))

    return within


def _coroutine(function: Any, begin: Callable[[], int]) -> Any:
    async def within(*arguments: Any, **named: Any) -> Any:
        with Steps(begin) as steps:
            return await steps.awaited(function(*arguments, **named))

    return within


def _asynchronous_generator(function: Any, begin: Callable[[], int]) -> Any:
    async def within(*arguments: Any, **named: Any) -> Any:
        with Steps(begin) as steps:
            generator = function(*arguments, **named)
            step, value = generator.asend, None
            while True:
                try:
                    given = await steps.awaited(step(value))
                except StopAsyncIteration:
                    return
                try:
                    value, step = (yield given), generator.asend
                except GeneratorExit:
                    await steps.awaited(generator.aclose())
                    raise
                except BaseException as error:
                    value, step = error, generator.athrow

    return within


KINDS: tuple[tuple[Callable[[Any], bool], Callable[..., Any]], ...] = (
    (inspect.iscoroutinefunction, _coroutine),
    (inspect.isasyncgenfunction, _asynchronous_generator),
    (inspect.isgeneratorfunction, _generator),
)
