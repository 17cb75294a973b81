"""Calls of a pool: who submitted each call, which Task ran it, and who received its result, by keys of the calls.

In: the calls of the recognisers of pools. Out: rows of the process's event file (`events.py`): the submission of a key,
the Task that ran it, and the receipt of its result, each with its time. `pools` of the lineage rules joins them.
"""

from __future__ import annotations

import os
import sys
from _thread import _local
from itertools import count
from time import time
from types import BuiltinFunctionType, FunctionType, ModuleType

from . import events, tasks
from .guard import reraise_from_program

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

KEY, PLACE = "_provio_key", "_provio_place"  # attributes of a future or a result, and of a pool
LONGEST, MOST_ITEMS, DEEPEST = 120, 5, 2  # of arguments that are no data: characters, items, containers in containers
PATHS = ("pathlib", "pathlib._local", "parsl.data_provider.files")  # modules of classes of paths
SHORT = (int, float, complex, bool, type(None))
TRACKERS = ("multiprocessing.resource_tracker", "joblib.externals.loky.backend.resource_tracker")
_numbers = count()
_tracked: dict[str, int] = {}  # pipes of TRACKERS that are recorded
_files: dict[int, events.EventFile | None] = {}  # by the pid: a fork has a file of its own
here = _local()  # of a thread: `call`, the keys of the call it runs; `submitter`, a Task; `executor`, `handed`; `quiet`


def _file() -> events.EventFile | None:
    pid = os.getpid()
    if pid not in _files:
        _files.clear()
        file = _files[pid] = events.begin()
        if file is not None:
            file.object("pool")
    return _files[pid]


def _add(role: int, task: int, keys: Sequence[str], at: float) -> None:
    try:
        file = _file()
        if file is not None:
            file.keys(role, task, keys, at)
    except Exception as error:
        reraise_from_program(error)


# ---- keys


def new_key() -> str:
    """Return a key for a call within this process."""
    return f"{os.uname().nodename}/{os.getpid()}/{next(_numbers)}"


def place_in(pool: Any, queue: Any, wakes: Any) -> str:
    """Return the name of a pool's queue of calls. `wakes` is its pipe, if any, by which its threads wake each other."""
    place = pool.__dict__.get(PLACE)
    if place is None:
        place = pool.__dict__[PLACE] = place_of(queue)
        if hasattr(wakes, "_writer"):
            note_own(wakes._writer.fileno())
    return str(place)


def place_of(queue: Any) -> str:
    """Return the name of a queue of calls, the same in all processes that have it: its pipe, or its process."""
    reader = getattr(queue, "_reader", None)
    place = _inode(reader.fileno()) if reader is not None else f"{os.getpid()}:{id(queue)}"
    return f"{os.uname().nodename}/{place}"


def key_of(thing: Any) -> Any:
    """Return the key of a future or of a result of a pool; None if it has none."""
    return getattr(thing, "__dict__", {}).get(KEY)


def _inode(fd: int) -> str:
    facts = os.fstat(fd)
    return f"{os.major(facts.st_dev)}:{os.minor(facts.st_dev)}/{facts.st_ino}"


def note_own(*fds: int) -> None:
    """Record pipes and memory by which only a pool's own processes communicate: they pass no data of the program."""
    try:
        file = _file()
        if file is not None:
            file.object("communication", inodes=[_inode(fd) for fd in fds])
    except Exception as error:
        reraise_from_program(error)


def note_helper() -> None:
    """Record that this process only passes on the calls of others, and their results."""
    try:
        file = _file()
        if file is not None:
            file.object("helper")
    except Exception as error:
        reraise_from_program(error)


def _note_trackers() -> None:
    """Record the pipes to the processes that remove a pool's semaphores and memory at its end."""
    for module in TRACKERS:
        fd = getattr(getattr(sys.modules.get(module), "_resource_tracker", None), "_fd", None)
        if type(fd) is int and _tracked.get(module) != fd:
            _tracked[module] = fd
            note_own(fd)


# ---- the submitter


def submitted(key: str, at: float, lazily: bool = False) -> None:
    """Record that this thread's Task submitted a call; `lazily`: its arguments are taken later."""
    found = getattr(here, "submitter", None)
    task = tasks.now() if found is None else found
    _note_trackers()
    _add(events.SUBMITTED_LAZILY if lazily else events.SUBMITTED, task, [key], at)


def depends(key: str, keys: Sequence[str]) -> None:
    """Record the calls whose results a call needs."""
    _add(events.DEPENDS, 0, [key, *keys], time())


def received(*keys: Any) -> None:
    """Record that this thread's Task received the results of calls."""
    known = [key for key in keys if key is not None]
    if known and not hasattr(here, "quiet"):
        _note_trackers()
        _add(events.RECEIVED, tasks.now(), known, time())


class acting:  # noqa: N801 (used like a function)
    """Within the block of a `with`, this thread of a pool works for a Task (None: for nothing), and receives
    nothing."""

    def __init__(self, submitter: int | None) -> None:
        self.submitter = submitter

    def __enter__(self) -> None:
        self.before = dict(here.__dict__)
        here.quiet, here.submitter = True, self.submitter

    def __exit__(self, *_: object) -> None:
        for name in ("quiet", "submitter"):
            if name in self.before:
                setattr(here, name, self.before[name])
            else:
                here.__dict__.pop(name, None)


# ---- the worker


def got(*keys: str) -> None:
    """Set the keys of the call that this thread runs next."""
    here.call = keys


def ran(
    task: int, function: Any, arguments: Sequence[Any], keywords: dict[str, Any], key: str = "", at: float = 0.0
) -> None:
    """Record that a Task runs the call with a key, or that of this thread; `at`: a thread of this process handed it
    over at this time."""
    if at and task:
        _add(events.HANDED, task, [key], at)
    keys = (key,) if key else getattr(here, "call", ())
    if at or not task or not keys:
        return
    try:
        short = is_short(function) and is_short(arguments) and is_short(keywords)
    except Exception as error:
        reraise_from_program(error)
        short = False
    _add(events.RAN if short else events.RAN_WITH_DATA, task, keys, time())


def is_short(value: Any, depth: int = 0) -> bool:
    """Return whether a value is no data: a short value, a few of them, or a function without data of its own."""
    kind = type(value)
    if kind in (str, bytes):
        return len(value) <= LONGEST and ("\n" if kind is str else b"\n") not in value  # no lines of a file
    if kind in SHORT:
        return True
    if kind in (tuple, list, dict, set, frozenset):
        items = [*value, *value.values()] if kind is dict else value
        return len(value) <= MOST_ITEMS and depth <= DEEPEST and all(is_short(one, depth + 1) for one in items)
    if kind is FunctionType:
        return value.__closure__ is None and _uses_no_data(value, depth)
    return kind in (type, ModuleType, BuiltinFunctionType) or type.__getattribute__(kind, "__module__") in PATHS


def _uses_no_data(function: Any, depth: int) -> bool:
    """Return whether a function refers to no data: a function that was pickled by value came with this data."""
    names = function.__globals__
    if vars(sys.modules.get(function.__module__, sys)) is names:
        return True  # the worker has loaded its module
    found = (names[name] for name in function.__code__.co_names if name in names)
    return depth <= DEEPEST and all(is_short(one, depth + 1) for one in found)
