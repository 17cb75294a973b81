"""What is said and kept of what a program says: the recorder and the program's values in, one record or more out.

What cannot be kept is warned of, once for each sort of thing.
"""

from __future__ import annotations

import os

from . import shapes
from .foreign import Refused, asked, name_of
from .settings import say
from .values import number
from .warned import warn
from .words import optional, text

TYPE_CHECKING = False  # what is for types alone is dear to load
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NO_STEP = -(2**63)
STEPS = range(NO_STEP + 1, 2**63)


def configuration(found: Any, values: Any, kind: Any, name: Any) -> int:
    """Say a Configuration; return its number."""
    if isinstance(values, (str, os.PathLike)):
        from . import documents

        try:
            own, values = documents.read(values)
        except documents.Unreadable as error:
            return warn("configuration", f"a configuration is not recorded: {error}")
        name = own if name is None else name
    if shapes.parts(values) is None:
        what = name_of(type(values))
        return warn("configuration", f"a configuration is not recorded: {what} has no names and values")
    handle: int = found.configuration(optional(name), optional(kind))
    taken = say(found, handle, values) if handle else None
    if taken and taken.left:
        warn("settings", f"of a configuration, {taken.left} not recorded")
    if taken and taken.whole:
        found.configuration_end(handle)
    return handle


def metric(found: Any, name: Any, value: Any, step: Any, kind: Any) -> int:
    """Say what a quantity is."""
    if type(value) is not float:
        try:
            value = number(value)
        except Refused:
            return warn("metric", f"the metric {_shown(name)} is not recorded: {name_of(type(value))} is no number")
    function = found.metric if type(value) is float else found.metric_integer
    function(text(name), optional(kind), value, _step(step))
    return 0


def _step(step: Any) -> int:
    if step is None:
        return NO_STEP
    try:
        whole = step if type(step) is int else number(step)
    except Refused:
        whole = 0.5
    if whole - whole == 0 and int(whole) == whole and int(whole) in STEPS:  # neither infinite nor none
        return int(whole)
    warn("step", f"a step is not recorded: {_shown(step)} is no whole number of 64 bits")
    return NO_STEP


def checkpoint(found: Any, path: Any, step: Any, metrics: Mapping[str, Any] | None) -> int:
    """Say a Checkpoint, and the metrics that it was saved with; return its number."""
    name = _path(path)
    if name is None:
        return warn("path", f"a checkpoint is not recorded: {name_of(type(path))} is no path")
    count = _step(step)
    handle: int = found.checkpoint(name, count)
    for key, value in shapes.parts(metrics) or () if handle and metrics is not None else ():
        try:
            found.metric_of(handle, text(key), None, float(number(value)), count)
        except Refused:
            warn("metric", f"the metric {_shown(key)} is not recorded: {name_of(type(value))} is no number")
    return handle


def entity(found: Any, name: Any, kind: Any, identifier: Any, attributes: Mapping[str, Any]) -> int:
    """Say that there is a thing; return its number."""
    handle: int = found.entity(text(name), optional(kind), optional(identifier))
    if handle and attributes:
        say(found, handle, attributes)
    return handle


def used(found: Any, things: Any) -> int:
    """Say that things, or the files at paths, were used."""
    return _each(found.used, things)


def generated(found: Any, things: Any) -> int:
    """Say that things, or the files at paths, were made."""
    return _each(found.generated, things)


def _each(say_it: Any, things: Any) -> int:
    for thing in things:
        path = None if type(thing) is int else _path(thing)
        if type(thing) is int and 0 <= thing < 1 << 64:
            say_it(thing, None)
        elif path is not None:
            say_it(0, path)
        else:
            warn("thing", f"what was used or made is not recorded: {name_of(type(thing))} is no path and no entity")
    return 0


def _path(value: Any) -> bytes | None:
    """A path, that of an open file, or None."""
    if not isinstance(value, (str, bytes)):
        word = "__fspath__" if hasattr(type(value), "__fspath__") else "name"
        try:
            value = asked(value.__fspath__) if word == "__fspath__" else asked(getattr, value, word)
        except Refused:
            return None
    if isinstance(value, str):
        value = str.__str__(value).encode("utf-8", "surrogateescape")
    return value.replace(b"\0", b"") or None if type(value) is bytes else None


def _shown(value: Any) -> str:
    return text(value)[:80].decode("utf-8", "replace")
