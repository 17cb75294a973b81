"""The functions by which a program declares facts about itself: activities, configurations, metrics, checkpoints.

`provio.activity` and the others are these functions. None raises into the program, for any arguments; where nothing is
recorded, none does anything. A declaration that cannot be recorded causes a warning, once for each kind of problem.
"""

from __future__ import annotations

import os

from . import parts, recorder, settings
from .activities import NOTHING, Activity
from .encoding import encode, encode_optional
from .guard import CallFailed, guarded, qualified_name, reraise_from_program
from .warn import warn

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

OFF = recorder.off()  # read once: to read it at each call costs more than all the rest
NO_STEP = -(2**63)
STEPS = range(NO_STEP + 1, 2**63)


# ---- the public functions


def activity(name: Any, kind: str | None = None, **attributes: Any) -> Any:
    """Run the block of a `with` as an activity: `with provio.activity("train", fold=3):`. Attributes are settings."""
    return NOTHING if OFF else Activity(name, kind, attributes)


def task(function: Callable[..., Any] | None = None, *, name: str | None = None, **attributes: Any) -> Any:
    """Make each call of a function an activity: `@provio.task`, or `@provio.task(name="fit", fold=3)`.

    The function may be a method, a coroutine or a generator.
    """
    if function is None:
        return lambda function: task(function, name=name, **attributes)
    if OFF:
        return function
    try:
        from .decorator import decorated

        return decorated(function, name, attributes)
    except Exception as error:  # it is no function, or a signal handler interrupted the import
        reraise_from_program(error)
        return function


def configuration(values: Any, kind: str | None = None, name: str | None = None) -> int:
    """Declare the settings that the program uses from here on; return the number of the Configuration, or 0.

    `values` is a mapping, a dataclass, a namespace of argparse, a configuration of OmegaConf or Hydra, or a file or
    text of TOML, YAML, JSON or INI; `kind` a class of configurations, such as `Hyperparameter`.
    """
    return 0 if OFF else _record(_configuration, values, kind, name)


def metric(name: str, value: float, step: int | None = None, kind: str | None = None) -> None:
    """Declare the current value of a quantity: `provio.metric("accuracy", 0.93, step=7)`."""
    if not OFF:
        _record(_metric, name, value, step, kind)


def checkpoint(path: Any, step: int | None = None, metrics: Mapping[str, float] | None = None) -> int:
    """Declare that the file or folder at a path is a saved state, with its step and metrics; return its number, or
    0."""
    return 0 if OFF else _record(_checkpoint, path, step, metrics)


def entity(name: str, kind: str | None = None, identifier: str | None = None, **attributes: Any) -> int:
    """Declare something that is no file, such as a row of a database; return its number, for `used` and `generated`, or
    0. `identifier` is unique among all entities of all runs; attributes are settings."""
    return 0 if OFF else _record(_entity, name, kind, identifier, attributes)


def used(*things: Any) -> None:
    """Declare that the program used something: numbers that `entity` returned, or paths of files and folders."""
    if not OFF:
        _record(_each, "used", things)


def generated(*things: Any) -> None:
    """Declare that the program made something: numbers that `entity` returned, or paths of files and folders."""
    if not OFF:
        _record(_each, "generated", things)


def _record(declare: Callable[..., Any], *arguments: Any) -> int:
    """Pass a declaration to the recorder, if any; return its number, or 0. Raises no exception of provio."""
    try:
        found = recorder.recorder()
        return 0 if found is None else declare(found, *arguments) or 0
    except Exception as error:
        reraise_from_program(error)
        return 0


# ---- to the recorder


def _configuration(found: Any, values: Any, kind: Any, name: Any) -> int:
    if isinstance(values, (str, os.PathLike)):
        from . import documents

        try:
            own, values = documents.read(values)
        except documents.Unreadable as error:
            return warn("configuration", f"a configuration is not recorded: {error}")
        name = own if name is None else name
    if parts.parts(values) is None:
        class_name = qualified_name(type(values))
        return warn("configuration", f"a configuration is not recorded: {class_name} has no names and values")
    handle: int = found.configuration(encode_optional(name), encode_optional(kind))
    flattened = settings.declare(found, handle, values) if handle else None
    if flattened and flattened.omitted:
        warn("settings", f"of a configuration, {flattened.omitted} not recorded")
    if flattened and flattened.complete:
        found.configuration_end(handle)
    return handle


def _metric(found: Any, name: Any, value: Any, step: Any, kind: Any) -> int:
    if type(value) is not float:
        try:
            value = settings.number(value)
        except CallFailed:
            return _no_number(name, value)
    function = found.metric if type(value) is float else found.metric_integer
    function(encode(name), encode_optional(kind), value, _step(step))
    return 0


def _no_number(name: Any, value: Any) -> int:
    return warn("metric", f"the metric {_shown(name)} is not recorded: {qualified_name(type(value))} is no number")


def _step(step: Any) -> int:
    if step is None:
        return NO_STEP
    try:
        whole = step if type(step) is int else settings.number(step)
    except CallFailed:
        whole = 0.5
    if whole - whole == 0 and int(whole) == whole and int(whole) in STEPS:  # neither infinite nor NaN
        return int(whole)
    warn("step", f"a step is not recorded: {_shown(step)} is no whole number of 64 bits")
    return NO_STEP


def _checkpoint(found: Any, path: Any, step: Any, metrics: Mapping[str, Any] | None) -> int:
    name = _path(path)
    if name is None:
        return warn("path", f"a checkpoint is not recorded: {qualified_name(type(path))} is no path")
    count = _step(step)
    handle: int = found.checkpoint(name, count)
    for key, value in parts.parts(metrics) or () if handle and metrics is not None else ():
        try:
            found.metric_of(handle, encode(key), None, float(settings.number(value)), count)
        except CallFailed:
            _no_number(key, value)
    return handle


def _entity(found: Any, name: Any, kind: Any, identifier: Any, attributes: Mapping[str, Any]) -> int:
    handle: int = found.entity(encode(name), encode_optional(kind), encode_optional(identifier))
    if handle and attributes:
        settings.declare(found, handle, attributes)
    return handle


def _each(found: Any, function: str, things: Any) -> None:
    for thing in things:
        path = None if type(thing) is int else _path(thing)
        if type(thing) is int and 0 <= thing < 1 << 64:
            getattr(found, function)(thing, None)
        elif path is not None:
            getattr(found, function)(0, path)
        else:
            kind = qualified_name(type(thing))
            warn("thing", f"a used or generated object is not recorded: {kind} is no path and no entity")


def _path(value: Any) -> bytes | None:
    """Return a path, or the path of an open file; None if the value has neither."""
    if not isinstance(value, (str, bytes)):
        word = "__fspath__" if hasattr(type(value), "__fspath__") else "name"
        try:
            value = guarded(value.__fspath__) if word == "__fspath__" else guarded(getattr, value, word)
        except CallFailed:
            return None
    if isinstance(value, str):
        value = str.__str__(value).encode("utf-8", "surrogateescape")
    return value.replace(b"\0", b"") or None if type(value) is bytes else None


def _shown(value: Any) -> str:
    return encode(value)[:80].decode("utf-8", "replace")
