"""Whose exception it is that came out of provio's own code: the program's, where a handler of a signal raised it, whom
it must reach as it would have without.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what is for types alone is dear to load
if TYPE_CHECKING:
    from typing import Any


def by_a_handler(error: BaseException) -> bool:
    """Whether a handler of a signal raised it, in the midst of what it interrupted."""
    trace = error.__traceback__
    while trace is not None:
        if is_handler(trace.tb_frame):
            return True
        trace = trace.tb_next
    return False


def is_handler(frame: Any) -> bool:
    """Whether it is that of a handler: it was given a signal's number, and the frame that it interrupted."""
    code, found, above = frame.f_code, frame.f_locals, frame.f_back
    given = [found.get(name) for name in code.co_varnames[: code.co_argcount]]
    if code.co_flags & 4:  # *arguments
        given.extend(found.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount], ()))
    places = [place for place, one in enumerate(given) if one is above and place > 0]
    return above is not None and any(isinstance(given[place - 1], int) for place in places)
