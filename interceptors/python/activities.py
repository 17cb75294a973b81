"""Activities: parts of a program's work that the program names, recorded as Tasks that its threads enter and leave.

No exception of this module reaches the program. `NOTHING` is the activity where nothing is recorded.
"""

from __future__ import annotations

import _thread
import itertools

from . import recorder, tasks
from .encoding import encode, encode_optional
from .guard import is_from_program, reraise_from_program
from .propagation import propagate_loaded
from .settings import declare_attributes

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MOST_LEFT = 1000
# Activities that another thread or context ended, or that ended before an inner one: the Task to go back to instead.
_left: dict[int, int] = {}


def _in_progress(task: int) -> int:
    while task in _left:
        task = _left[task]
    return task


class Activity:
    """A part of the program's work, from the start to the end of a `with` block; `number` is that of its Task, 0 where
    nothing is recorded.

    An activity that is entered again while it is in progress, by this thread or another, becomes several, each with a
    Task of its own: `_others`, by number. Only the thread that holds `_entering` enters this object itself; no thread
    waits for the lock.
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
            propagate_loaded()
            before = found.task_now()
            number = found.task_in(encode(self.name), encode_optional(self.kind))
            if number:
                self._before, self.number, self._scope = before, number, tasks.SCOPE.set(number)
                if self.attributes:
                    declare_attributes(found, number, self.attributes)
        except BaseException as error:
            if is_from_program(error):  # the block of the `with` does not run, so __exit__ is not called
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
            if is_from_program(error):
                self.__exit__(kind, value, trace)  # does the steps that were interrupted
                raise

    def _leave(self, status: bytes) -> None:
        number, found, before = self.number, recorder.recorder(), self._before
        here, before = tasks.SCOPE.get(), _in_progress(before)
        if _in_progress(here) == number:  # else an inner activity is in progress, or another context ends this one
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
        """Return the activity that this thread, or this task of asyncio, entered, else the last one; and remove it from
        the others."""
        here = tasks.SCOPE.get()
        if self._scope is not None and self.number == here:
            return self
        mine = self._others.pop(here, None)
        if mine is None:
            try:
                _, mine = self._others.popitem()
            except KeyError:  # another thread left it at the same time
                return self
        return mine

    def say(self, **attributes: Any) -> None:
        """Declare more settings, which were not known when the activity began."""
        if self.number:
            try:
                declare_attributes(recorder.recorder(), self.number, attributes)
            except Exception as error:
                reraise_from_program(error)


class Nothing:
    """An activity that is not recorded."""

    __slots__ = ()
    number = 0

    def say(self, **_: Any) -> None:
        """Do nothing."""


NOTHING = Nothing()
# C functions, which `with` calls in a third of the time: the first returns NOTHING, the second a false value.
Nothing.__enter__ = itertools.repeat(NOTHING).__next__  # type: ignore[attr-defined]
Nothing.__exit__ = "".format  # type: ignore[attr-defined]
