"""Activities: what a program calls a part of what it does in, Tasks that its threads enter and leave out.

Nothing that goes wrong here reaches the program. Where nothing is recorded, `NOTHING` stands for all of them.
"""

from __future__ import annotations

import itertools

from . import recorder, tasks
from .following import follow_loaded
from .settings import say_attributes
from .words import text

TYPE_CHECKING = False  # what is for types alone is dear to load
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MOST_LEFT = 1000
_left: dict[int, int] = {}  # activities that ended before one within them: where who is in one goes back to


class Activity:
    """A part of what the program does, begun and entered by `with`; `number` is its Task's, 0 where nothing records."""

    __slots__ = ("_before", "_scope", "attributes", "kind", "name", "number")

    def __init__(self, name: Any, kind: Any, attributes: Mapping[str, Any]) -> None:
        self.name = name
        self.kind = kind
        self.attributes = attributes
        self.number = 0

    def __enter__(self) -> Activity:
        try:
            found = recorder.recorder()
            if found is None:
                return self
            follow_loaded()
            before = found.task_now()
            number = found.task_in(text(self.name), None if self.kind is None else text(self.kind))
            if number:
                self._before, self._scope, self.number = before, tasks.SCOPE.set(number), number
                if self.attributes:
                    say_attributes(found, number, self.attributes)
        except Exception:
            return self
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        number = self.number
        if not number:
            return
        try:
            found, before = recorder.recorder(), self._before
            status = b"ok" if kind is None else tasks.status(kind, value)
            while before in _left:
                before = _left[before]
            self._reset(before)
            if found.task_now() == number:
                found.task_out(number, before, status)
                return
            found.task_end(number, status)
            if len(_left) < MOST_LEFT:
                _left[number] = before
        except Exception:
            return

    def _reset(self, before: int) -> None:
        try:
            tasks.SCOPE.reset(self._scope)
        except ValueError:  # another context ends it
            tasks.SCOPE.set(before)

    def say(self, **attributes: Any) -> None:
        """Say more of it: settings that were not known when it began."""
        if self.number:
            try:
                say_attributes(recorder.recorder(), self.number, attributes)
            except Exception:
                return


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
