"""What a program says of itself: activities, configurations, metrics, checkpoints in, records of the run out.

`provio.activity` and the like are these functions. None raises into the program, whatever it is given; where nothing is
recorded, none does anything.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from . import tasks


def _call(name: str, *arguments: Any) -> int:
    """Have the recorder say something, where it knows how; return the number that it gave, or 0."""
    function = getattr(tasks._shim(), name, None)
    return int(function(*arguments) or 0) if function else 0


def quiet(function: Any) -> Any:
    """Let nothing that goes wrong reach the program."""

    @functools.wraps(function)
    def said(*arguments: Any, **named: Any) -> int:
        try:
            return int(function(*arguments, **named))
        except Exception:
            return 0

    return said


class activity(tasks.task):  # noqa: N801 (a function, to who uses it)
    """Do what follows in a Task: `with provio.activity("train", fold=3):`. Attributes are settings of the Task."""

    __slots__ = ("attributes",)

    def __init__(self, name: str, kind: str | None = None, **attributes: Any) -> None:
        super().__init__(name, kind)
        self.attributes = attributes

    def __enter__(self) -> int:
        begun = super().__enter__()
        if begun and self.attributes:
            _settings(begun, self.attributes)
        return begun


def task(function: Callable[..., Any] | None = None, *, name: str | None = None, **attributes: Any) -> Any:
    """Make each call of a function an activity: `@provio.task`, or `@provio.task(name="fit", fold=3)`."""
    if function is None:
        return functools.partial(task, name=name, **attributes)
    called = name or getattr(function, "__qualname__", None) or type(function).__name__

    @functools.wraps(function)
    def within(*arguments: Any, **named: Any) -> Any:
        with activity(called, **attributes):
            return function(*arguments, **named)

    return within


@quiet
def configuration(values: Any, kind: str | None = None, name: str | None = None) -> int:
    """Say which settings the program goes by from here on; return the Configuration's number, or 0."""
    number = _call("configuration", tasks._text(name), tasks._text(kind))
    if number:
        _settings(number, values)
        _call("configuration_end", number)
    return number


@quiet
def metric(name: str, value: float, step: int | None = None, kind: str | None = None) -> int:
    """Say what a quantity is now: `provio.metric("accuracy", 0.93, step=7)`."""
    return _call("metric", tasks._text(name), tasks._text(kind), float(value), -1 if step is None else int(step))


@quiet
def checkpoint(path: Any, step: int | None = None, metrics: Mapping[str, float] | None = None) -> int:
    """Say that the file or folder at a path is a checkpoint; return its number, or 0."""
    number = _call("checkpoint", os.fsencode(os.path.abspath(path)), -1 if step is None else int(step))
    for name, value in (metrics or {}).items():
        _call("metric_of", number, tasks._text(name), None, float(value))
    return number


@quiet
def entity(name: str, kind: str | None = None, **attributes: Any) -> int:
    """Say that there is something that no file shows; return its number, for `used` and `generated`."""
    number = _call("entity", tasks._text(name), tasks._text(kind))
    _settings(number, attributes)
    return number


@quiet
def used(what: Any) -> int:
    """Say that what an entity's number, or a path, stands for was used here."""
    return _call("used", what if isinstance(what, int) else os.fsencode(os.path.abspath(what)))


@quiet
def generated(what: Any) -> int:
    """Say that what an entity's number, or a path, stands for was made here."""
    return _call("generated", what if isinstance(what, int) else os.fsencode(os.path.abspath(what)))


def _settings(number: int, values: Any) -> None:
    for key, value in _flat(values):
        kinds = {bool: "truth", int: "integer", float: "real"}
        _call("setting_" + kinds.get(type(value), "text"), number, tasks._text(key), _plain(value))


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float)) else tasks._text(str(value))


def _flat(values: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    values = vars(values) if hasattr(values, "__dict__") and not isinstance(values, Mapping) else values
    for key, value in values.items():
        name = above + str(key).replace("\\", "\\\\").replace(".", "\\.")
        if isinstance(value, Mapping):
            yield from _flat(value, name + ".")
        else:
            yield name, value
