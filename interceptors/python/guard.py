"""Call code of the program safely, and distinguish the program's exceptions from provio's own.

In: a function of the program, such as an object's `__repr__`, which may raise or never return. Out: its result, or
CallFailed. The time limit stops Python code; it cannot stop a sleep or a loop in C.

`recognising.py` and the shim execute this file alone: it imports nothing of provio.
"""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

SECONDS = 0.1  # of processor time: a busy machine does not shorten the limit
WALL_SECONDS = 10  # for a function that sleeps repeatedly
LONGEST = 1000  # characters of a description
SECRET = ("token", "secret", "passw", "passphrase", "credential", "auth", "key=", "cookie", "://")


class CallFailed(Exception):
    """The call raised, or exceeded its time limit."""


class _TimeLimit(BaseException):
    """Ends the call; not an Exception, so that no `except Exception` of the program catches it."""


def guarded(function: Callable[..., Any], *arguments: Any, seconds: float = SECONDS) -> Any:
    """Return the result of a function; raise CallFailed if it raises or exceeds the time limit."""
    before, until, at_last = sys.gettrace(), time.thread_time() + seconds, time.monotonic() + WALL_SECONDS

    def watch(frame: Any, event: str, _: Any) -> Any:
        if event == "call" and is_signal_handler(frame):  # not part of the call
            sys.settrace(before)
            return None
        if time.thread_time() > until or time.monotonic() > at_last:
            raise _TimeLimit
        return watch

    sys.settrace(watch)
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        reraise_from_program(error)
        raise CallFailed from None
    finally:
        sys.settrace(before)


# ---- exceptions


def is_from_program(error: BaseException) -> bool:
    """Whether an exception that left provio's code must reach the program: a signal handler of the program raised it,
    or it is an interrupt."""
    return not isinstance(error, Exception) or raised_by_handler(error)


def reraise_from_program(error: BaseException) -> None:
    """Raise an exception again if a signal handler of the program raised it."""
    if raised_by_handler(error):
        raise error


def raised_by_handler(error: BaseException) -> bool:
    """Whether a signal handler raised the exception, in the middle of the code that the signal interrupted."""
    trace = error.__traceback__
    while trace is not None:
        if is_signal_handler(trace.tb_frame):
            return True
        trace = trace.tb_next
    return False


def is_signal_handler(frame: Any) -> bool:
    """Whether a frame is that of a signal handler: its arguments are a signal number and the interrupted frame."""
    code, found, above = frame.f_code, frame.f_locals, frame.f_back
    given = [found.get(name) for name in code.co_varnames[: code.co_argcount]]
    if code.co_flags & 4:  # *arguments
        given.extend(found.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount], ()))
    places = [place for place, one in enumerate(given) if one is above and place > 0]
    return above is not None and any(isinstance(given[place - 1], int) for place in places)


# ---- descriptions of objects


def qualified_name(kind: Any) -> str:
    """Return the name of a class or function, with its module unless that is `builtins`."""
    found = type.__getattribute__ if isinstance(kind, type) else getattr
    module, name = (str(found(kind, word)) for word in ("__module__", "__qualname__"))
    return name if module == "builtins" else f"{module}.{name}"


def description(value: Any) -> str:
    """Return the `repr` of an object if it is short, the same in every run and without secrets; else its class and
    shape."""
    try:
        text = guarded(repr, value)
    except CallFailed:
        text = ""
    shown = str.__str__(text)[: LONGEST + 1] if isinstance(text, str) else ""
    usable = shown and len(shown) <= LONGEST and " at 0x" not in shown
    if usable and not any(word in shown.lower() for word in SECRET):
        return shown
    return qualified_name(type(value)) + _shape(value)


def _shape(value: Any) -> str:
    try:
        shape = guarded(getattr, value, "shape")
    except CallFailed:
        return ""
    sizes = shape if type(shape) is tuple and len(shape) <= 64 else ()
    return " of shape " + " ".join(map(str, sizes)) if sizes and all(type(size) is int for size in sizes) else ""
