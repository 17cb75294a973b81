"""Who records what this process says of itself: the environment in, the shim, the writer in Python, or nobody out.

Under `provio run` it is the shim, or the writer where the shim is not in the process. Elsewhere a run of the program's
own is begun, where whoever imported this set `beginning`; its children join that run. `PROVIO_OFF` switches all of it
off.
"""

from __future__ import annotations

import ctypes
import os
from _thread import allocate_lock, get_ident

from .foreign import of_provio
from .warned import warn

TYPE_CHECKING = False  # what is for types alone is dear to load
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

OFF = "PROVIO_OFF"
TRACE = "PROVIO_TRACE"
beginning: Callable[[], str | None] | None = None  # begins a run; returns what PROVIO_TRACE is to be then
_found: list[Any] = []  # the one of this process, or None; empty until it was looked for
_looking = [allocate_lock()]
_looks: list[int] = []  # the thread that looks


def off() -> bool:
    """Whether the user wants nothing of it."""
    return bool(os.environ.get(OFF))  # whatever it is, as recognisers have it


def recorder() -> Any:
    """Return what records: an object with the functions of `provio.h` without their prefix; None where nothing does."""
    return _found[0] if _found else _look()


def _look() -> Any:
    """Look for it, once for all threads; a handler of a signal that interrupts that is not recorded."""
    if _looks == [get_ident()]:
        return None
    with _looking[0]:
        if not _found:
            _looks.append(get_ident())
            try:
                found = _which()
            except Exception as error:
                of_provio(error)
                found = None
            finally:
                _looks.clear()
            _found.append(found)
    return _found[0]


def _which() -> Any:
    if off():
        return None
    from . import shim

    library = shim.found()
    if library is not None:
        return shim.Shim(library)
    if os.environ.get(TRACE):
        # It may be there and silent: then so is all else of its process.
        return None if hasattr(ctypes.PyDLL(None), "provio_recording") else _writer()
    begun = _begun()
    if not begun:
        return None
    os.environ[TRACE] = begun
    return _writer()


def _writer() -> Any:
    from . import writer

    return writer.found()


def _begun() -> str | None:
    """Begin a run of the program's own; return what PROVIO_TRACE is to be."""
    try:
        return beginning() if beginning else None
    except Exception as error:
        of_provio(error)
        warn("run", f"what the program says is not recorded: {error}")
        return None


def _forked() -> None:
    """Nobody else looks in a child: the thread that did is its parent's."""
    _looking[0] = allocate_lock()
    _looks.clear()


os.register_at_fork(after_in_child=_forked)
