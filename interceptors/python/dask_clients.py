"""Clients of Dask: the keys whose results a client gathers or whose data it sends, and data that it gets elsewhere.

In: methods of `distributed.Client`, `Queue`, `Variable` and `Sub`. Out: methods with the same results; the client's
event file has each such event, with the Task that it happened in.
"""

from __future__ import annotations

import os
import sys
from time import time

from . import events
from .arguments import LONGEST
from .dask_tasks import file_of
from .guard import reraise_from_program
from .secret_words import masked
from .tasks import SCOPE

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Around = Callable[[Any, Callable[..., Any]], Callable[..., Any]]

OF_DASK = frozenset("asyncio concurrent contextlib dask distributed functools threading tornado _provio provio".split())
# Folders of installed packages and of the standard library, which is the parent of the former.
INSTALLED = tuple({os.path.dirname(os.__file__) + os.sep, *(p + os.sep for p in sys.path if p.endswith("-packages"))})
LONGEST_PATH = 1000  # characters
MOST = 1000  # places of data that a client states, each once a Task


def begin(client: Any) -> None:
    """Begin the event file of a new client."""
    client._provio = file = events.begin()
    if file is not None:
        file.object("client", id=str(client.id))


def _file_of(client: Any) -> events.EventFile | None:
    return getattr(client, "_provio", None)


def moved(role: int) -> Around:
    """Return the wrapper of `Client._gather(futures)` and `Client._scatter(data)`, which return results or
    futures."""

    def around(_: Any, original: Callable[..., Any]) -> Callable[..., Any]:
        async def move(self: Any, given: Any, *arguments: Any, **keywords: Any) -> Any:
            at = time()
            result = await original(self, given, *arguments, **keywords)
            try:
                file = _file_of(self)
                if file is not None:
                    keys = _keys_of(given if role == events.GATHERED else result)
                    file.keys(role, SCOPE.get(), keys, time() if role == events.GATHERED else at)
            except Exception as error:
                reraise_from_program(error)
            return result

        return move

    return around


def _keys_of(value: Any) -> list[Any]:
    from distributed.client import unpack_remotedata

    return [future.key for future in unpack_remotedata(value, byte_keys=True)[1]]


def submitting(_: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `Client._graph_to_futures`, which submits a graph: note the place in the program."""

    def submit(self: Any, *arguments: Any, **keywords: Any) -> Any:
        result = original(self, *arguments, **keywords)
        try:
            file = _file_of(self)
            if file is not None:
                file.submitted(_place(sys._getframe(1)))
        except Exception as error:
            reraise_from_program(error)
        return result

    return submit


def _place(frame: Any) -> str:
    """Return the place in the program above a frame: the innermost one outside of installed packages and the standard
    library, else the innermost one outside of Dask."""
    outside = None
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in OF_DASK:
            outside = outside or frame
            if not frame.f_code.co_filename.startswith(INSTALLED):
                break
        frame = frame.f_back
    frame = frame or outside
    if frame is None:
        return "?"
    path, known = frame.f_code.co_filename, frame.f_globals.get("__file__")
    if type(known) is str and os.path.basename(known) == path:
        path = known
    return masked(f"{path[:LONGEST_PATH]}:{frame.f_lineno} {frame.f_code.co_name[:LONGEST]}")


def received(place: str) -> Around:
    """Return the wrapper of `_get` of queues and variables, which may return data of any client or task. A future
    among them is followed when it is gathered."""

    def around(_: Any, original: Callable[..., Any]) -> Callable[..., Any]:
        async def get(self: Any, *arguments: Any, **keywords: Any) -> Any:
            result = await original(self, *arguments, **keywords)
            try:
                file = _file_of(self.client) or file_of(getattr(self, "worker", None))
                if file is not None and any(map(_is_data, result if keywords.get("batch") else (result,))):
                    _state(file, place, str(self.name)[:LONGEST])
            except Exception as error:
                reraise_from_program(error)
            return result

        return get

    return around


def _is_data(value: Any) -> bool:
    """Return whether a value is neither a future nor a short one: names and numbers are no data."""
    if type(value) is str:
        return len(value) > LONGEST
    return type(value) not in (type(None), bool, int, float) and type(value).__name__ != "Future"


def _state(file: Any, place: str, name: str) -> None:
    task = SCOPE.get()
    if len(file.stated) < MOST and (task, place, name) not in file.stated:
        file.stated.add((task, place, name))
        file.object("received", place=place, name=name, task=task)
