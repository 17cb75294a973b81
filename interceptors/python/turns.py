"""A Task that goes on by turns: a generator or coroutine in, the same out, its thread in the Task during each turn.

In between the thread is in what it was in before, whichever loop or generator it serves.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Generator
from typing import Any

from . import tasks


class Turns:
    """A Task of which one turn after the other is done; `with` begins and ends it. Nothing that goes wrong here reaches
    the program."""

    __slots__ = ("_before", "_scope", "begin", "number")

    def __init__(self, begin: Callable[[], int]) -> None:
        self.begin = begin

    def __enter__(self) -> Turns:
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
        """Yield what a generator yields, and hand it what is sent and thrown."""
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
        """Do the same with what is awaited."""
        return (yield from self.of(awaitable.__await__()))
