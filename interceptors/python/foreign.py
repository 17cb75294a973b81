"""Asks what a program wrote without suffering for it: a function of its own in, the answer or Refused out.

An object's `__repr__` or `__iter__` may raise, or never end. What is Python of it is stopped when its time is over;
what is not (a sleep, a loop in C) cannot be.
"""

from __future__ import annotations

import sys
import time

from . import raised

TYPE_CHECKING = False  # what is for types alone is dear to load
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

SECONDS = 0.1  # of processor time: a busy machine is not the object's fault
PATIENCE = 10  # seconds, for one that sleeps again and again
LONGEST = 1000  # characters of what an object says of itself
SECRET = ("token", "secret", "passw", "passphrase", "credential", "auth", "key=", "cookie", "://")


class Refused(Exception):
    """There is no answer."""


class _Late(BaseException):
    """No `except Exception` of the program's is to catch it."""


def asked(function: Callable[..., Any], *arguments: Any, seconds: float = SECONDS) -> Any:
    """Return what a function returns; raises Refused where it raises, or goes on for too long."""
    before, until, at_last = sys.gettrace(), time.thread_time() + seconds, time.monotonic() + PATIENCE

    def watch(frame: Any, what: str, _: Any) -> Any:
        if what == "call" and raised.is_handler(frame):  # of a signal, which is no part of what was asked
            sys.settrace(before)
            return None
        if time.thread_time() > until or time.monotonic() > at_last:
            raise _Late
        return watch

    sys.settrace(watch)
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        of_provio(error)
        raise Refused from None
    finally:
        sys.settrace(before)


def is_programs(error: BaseException) -> bool:
    """Whether an exception that came out of provio's own is to reach the program, which interrupted that."""
    return not isinstance(error, Exception) or bool(raised.by_a_handler(error))


def of_provio(error: BaseException) -> None:
    """Raise an exception again unless it is provio's own: a handler of a signal of the program's raised it."""
    if raised.by_a_handler(error):
        raise error


def name_of(kind: Any) -> str:
    """Return the name of a class or function, with its module's where that is not Python's own."""
    found = type.__getattribute__ if isinstance(kind, type) else getattr
    module, name = (str(found(kind, word)) for word in ("__module__", "__qualname__"))
    return name if module == "builtins" else f"{module}.{name}"


def description(value: Any) -> str:
    """Return what an object says of itself, where that tells it from others the next time too, and no secret may be
    in it; else the name of its class."""
    try:
        text = asked(repr, value)
    except Refused:
        text = ""
    said = str.__str__(text)[: LONGEST + 1] if isinstance(text, str) else ""
    own = said and len(said) <= LONGEST and " at 0x" not in said
    return said if own and not any(word in said.lower() for word in SECRET) else name_of(type(value)) + _shape(value)


def _shape(value: Any) -> str:
    try:
        shape = asked(getattr, value, "shape")
    except Refused:
        return ""
    sizes = shape if type(shape) is tuple and len(shape) <= 64 else ()
    return " of shape " + " ".join(map(str, sizes)) if sizes and all(type(size) is int for size in sizes) else ""
