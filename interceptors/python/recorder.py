"""Find the recorder of this process: the environment in; the shim, the writer in Python, or None out.

Under `provio run` it is the shim, or the writer if the shim is not in this process. Elsewhere an implicit run begins,
if the importer of this module set `begin_run`; child processes join it. `PROVIO_OFF` disables all of it.
"""

from __future__ import annotations

import ctypes
import os
from _thread import allocate_lock, get_ident

from .guard import reraise_from_program
from .warn import warn

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

OFF = "PROVIO_OFF"
TRACE = "PROVIO_TRACE"
begin_run: Callable[[], str | None] | None = None  # begins an implicit run; returns the value of PROVIO_TRACE
_found: list[Any] = []  # the recorder of this process, or None; empty until the first search
_lock = [allocate_lock()]
_searching: list[int] = []  # the thread that searches


def off() -> bool:
    """Whether the user disabled recording."""
    return bool(os.environ.get(OFF))  # any value, as in `recognising.py`


def recorder() -> Any:
    """Return the recorder, an object with the functions of `provio.h` without their prefix; None: nothing records."""
    return _found[0] if _found else _search()


def end() -> None:
    """Stop the writer: its run has ended, and the process has not. Later declarations are not recorded."""
    found, _found[:] = list(_found), [None]
    for writer in filter(None, found):
        writer.stop()


def search_again() -> None:
    """Search for a recorder again, if there was none."""
    if _found == [None]:
        _found.clear()


def _search() -> Any:
    """Search once for all threads; a signal handler that interrupts the search is not recorded."""
    if _searching == [get_ident()]:
        return None
    with _lock[0]:
        if not _found:
            _searching.append(get_ident())
            try:
                found = _find()
            except Exception as error:
                reraise_from_program(error)
                found = None
            finally:
                _searching.clear()
            _found.append(found)
    return _found[0]


def _find() -> Any:
    if off():
        return None
    from . import shim

    library = shim.found()
    if library is not None:
        return shim.Shim(library)
    if os.environ.get(TRACE):
        # The shim may be in the process and not record: then nothing of the process is recorded.
        return None if hasattr(ctypes.PyDLL(None), "provio_recording") else _writer()
    trace = _begin_run()
    if not trace:
        return None
    os.environ[TRACE] = trace
    return _writer()


def _writer() -> Any:
    from .writer import writer

    return writer.found()


def _begin_run() -> str | None:
    try:
        return begin_run() if begin_run else None
    except Exception as error:
        reraise_from_program(error)
        warn("run", f"the program's declarations are not recorded: {error}")
        return None


def _forked() -> None:
    """Unlock in a child: the thread that searches is one of the parent's."""
    _lock[0] = allocate_lock()
    _searching.clear()


os.register_at_fork(after_in_child=_forked)
