"""Functions each call of which is an activity: a function, method, coroutine or generator in, one of the sort out."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from . import recorder, tasks
from .activities import Activity
from .following import follow_loaded
from .foreign import of_provio
from .settings import say_attributes
from .turns import Turns


def decorated(function: Any, name: Any, attributes: Mapping[str, Any]) -> Any:
    """Return a function of the same sort each call of which is an activity of that name."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(decorated(function.__func__, name, attributes))
    called = name if name is not None else getattr(function, "__qualname__", None) or type(function).__name__

    def begun() -> int:
        try:
            follow_loaded()
            number = tasks.begin(called)
            if number and attributes:
                say_attributes(recorder.recorder(), number, attributes)
            return number
        except Exception as error:
            of_provio(error)
            return 0

    for matches, within in SORTS:
        if matches(function):
            return functools.wraps(function)(within(function, begun))

    @functools.wraps(function)
    def within_it(*arguments: Any, **named: Any) -> Any:
        with Activity(called, None, attributes):
            return function(*arguments, **named)

    return within_it


def _generator(function: Any, begun: Callable[[], int]) -> Any:
    def within(*arguments: Any, **named: Any) -> Any:
        with Turns(begun) as turns:
            return (yield from turns.of(function(*arguments, **named)))

    return within


def _coroutine(function: Any, begun: Callable[[], int]) -> Any:
    async def within(*arguments: Any, **named: Any) -> Any:
        with Turns(begun) as turns:
            return await turns.awaited(function(*arguments, **named))

    return within


def _asynchronous(function: Any, begun: Callable[[], int]) -> Any:
    async def within(*arguments: Any, **named: Any) -> Any:
        with Turns(begun) as turns:
            generator = function(*arguments, **named)
            step, value = generator.asend, None
            while True:
                try:
                    given = await turns.awaited(step(value))
                except StopAsyncIteration:
                    return
                try:
                    value, step = (yield given), generator.asend
                except GeneratorExit:
                    await turns.awaited(generator.aclose())
                    raise
                except BaseException as error:
                    value, step = error, generator.athrow

    return within


SORTS: tuple[tuple[Callable[[Any], bool], Callable[..., Any]], ...] = (
    (inspect.iscoroutinefunction, _coroutine),
    (inspect.isasyncgenfunction, _asynchronous),
    (inspect.isgeneratorfunction, _generator),
)
