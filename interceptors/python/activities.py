"""Activities: what a program calls a part of what it does in, Tasks that its threads enter and leave out.

Nothing that goes wrong here reaches the program. Where nothing is recorded, `NOTHING` stands for all of them.
"""

from __future__ import annotations

import _thread
import itertools

from . import recorder, tasks
from .following import follow_loaded
from .foreign import is_programs, of_provio
from .settings import say_attributes
from .words import text

TYPE_CHECKING = False  # what is for types alone is dear to load
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MOST_LEFT = 1000
# Activities that ended elsewhere, or before one within them: what who is in one goes back to.
_left: dict[int, int] = {}


def _going(task: int) -> int:
    while task in _left:
        task = _left[task]
    return task


class Activity:
    """A part of what the program does, begun and entered by `with`; `number` is its Task's, 0 where nothing records.

    One that is entered while it goes on, or by several threads, is several, each with a Task of its own: `_others`, by
    their numbers. Whoever has `_entering` is the only one to enter this one itself; nobody ever waits for it.
    """

    __slots__ = ("_before", "_entering", "_others", "_scope", "attributes", "kind", "name", "number")

    def __init__(self, name: Any, kind: Any, attributes: Mapping[str, Any]) -> None:
        self.name = name
        self.kind = kind
        self.attributes = attributes
        self.number = 0
        self._scope: Any = None
        self._others: dict[int, Activity] = {}
        self._entering = _thread.allocate_lock()

    def __enter__(self) -> Activity:
        if self._scope is not None or not self._entering.acquire(False):
            return self._again()
        try:
            return self._enter() if self._scope is None else self._again()
        finally:
            self._entering.release()

    def _enter(self) -> Activity:
        found: Any = None
        before = None
        try:
            found = recorder.recorder()
            if found is None:
                return self
            follow_loaded()
            before = found.task_now()
            number = found.task_in(text(self.name), None if self.kind is None else text(self.kind))
            if number:
                self._before, self.number, self._scope = before, number, tasks.SCOPE.set(number)
                if self.attributes:
                    say_attributes(found, number, self.attributes)
        except BaseException as error:
            if is_programs(error):  # which never comes into its block
                if self._scope is not None:
                    self.__exit__(type(error), error, None)
                elif before is not None:
                    found.task_enter(before)
                raise
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if self._others:
            mine = self._mine()
            if mine is not self:
                mine.__exit__(kind, value, trace)
                return
        if self._scope is None:
            return
        try:
            self._leave(b"ok" if kind is None else tasks.status(kind, value))
        except BaseException as error:
            if is_programs(error):
                self.__exit__(kind, value, trace)  # as far as it did not come
                raise

    def _leave(self, status: bytes) -> None:
        number, found, before = self.number, recorder.recorder(), self._before
        here, before = tasks.SCOPE.get(), _going(before)
        if _going(here) == number:  # else one within it goes on, or it ends elsewhere
            self._reset(before)
        if found.task_now() == number:
            found.task_out(number, before, status)
            left = here != number
        else:
            found.task_end(number, status)
            left = True
        if left and len(_left) < MOST_LEFT:
            _left[number] = before
        self._scope = None

    def _reset(self, before: int) -> None:
        if before == self._before:
            try:
                tasks.SCOPE.reset(self._scope)
                return
            except ValueError:  # another context ends it
                pass
        tasks.SCOPE.set(before)

    def _again(self) -> Activity:
        other = Activity(self.name, self.kind, self.attributes).__enter__()
        if other.number:
            self._others[other.number] = other
        return other

    def _mine(self) -> Activity:
        """Return the one that was entered here: in this thread, or this task of asyncio; else the last one. It is not
        one of the others any more."""
        here = tasks.SCOPE.get()
        if self._scope is not None and self.number == here:
            return self
        mine = self._others.pop(here, None)
        if mine is None:
            try:
                _, mine = self._others.popitem()
            except KeyError:  # another thread left it meanwhile
                return self
        return mine

    def say(self, **attributes: Any) -> None:
        """Say more of it: settings that were not known when it began."""
        if self.number:
            try:
                say_attributes(recorder.recorder(), self.number, attributes)
            except Exception as error:
                of_provio(error)


class Nothing:
    """An activity that nothing records."""

    __slots__ = ()
    number = 0

    def say(self, **_: Any) -> None:
        """Say nothing."""


NOTHING = Nothing()
# Functions of C, which `with` calls in a third of the time: one returns NOTHING, the other something false.
Nothing.__enter__ = itertools.repeat(NOTHING).__next__  # type: ignore[attr-defined]
Nothing.__exit__ = "".format  # type: ignore[attr-defined]
