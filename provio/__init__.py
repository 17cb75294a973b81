"""provio: where did this data come from, and what was it made into?

The data's way, a module a step:

    run        watches a command: sets the preload, passes its end on, leaves a run folder of Turtle files
    settle     looks at what only the time after the run can tell
    trace      reads a run folder: files to facts (`facts` has their types)
    identity   facts to IRIs
    lineage    facts with identities to conclusions: phases, pipes, copies, revisions
    merge      brings it all into the store, which holds each fact once
    store      Oxigraph, behind one interface
    query · ancestry · exports · view · reports    ask, and show

`provio.open()` asks all of it from Python; `provio.activity()` and the others of `SAID` are what a program says of
itself (`docs/api.md`).
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing takes as long to load as Python to start, and `provio run` in a rank needs none of it
if TYPE_CHECKING:
    from typing import Any

    from provio.api import Store as Store
    from provio.interceptors.python import said

    activity, task, configuration, metric = said.activity, said.task, said.configuration, said.metric
    checkpoint, entity, used, generated = said.checkpoint, said.entity, said.used, said.generated

__version__ = "0.1.0"
_loaded = os.getpid()  # a fork of it is of its run
SAID = frozenset("activity task configuration metric checkpoint entity used generated".split())


def __getattr__(name: str) -> Any:
    if name not in SAID:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for _ in range(
        3
    ):  # a handler of a signal that loads something may undo what Python notes of the load it interrupts
        try:
            globals().update(_said())
            return globals()[name]
        except KeyError:
            pass
        except (AttributeError, ImportError):  # a handler of a signal interrupts just this: what it says is not heard
            break
    return {"activity": _Unheard, "task": _as_it_is}.get(name, _nothing)


def _said() -> dict[str, Any]:
    """What a program says itself by."""
    import importlib
    import sys
    import types

    if "_provio" not in sys.modules:  # under that name there is one in a process, whoever needs it first
        package = types.ModuleType("_provio")
        package.__path__ = [__path__[0] + "/interceptors"]
        sys.modules["_provio"] = package
    said = importlib.import_module("_provio.python.said")
    found = {each: getattr(said, each) for each in SAID}
    said.recorder.beginning = _begin
    return found


class _Unheard:
    """An activity that nothing records."""

    number = 0

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __enter__(self) -> _Unheard:
        return self

    def __exit__(self, *_: object) -> None: ...

    def say(self, **_: Any) -> None:
        """Say nothing."""


def _as_it_is(function: Any = None, **_: Any) -> Any:
    return function or _as_it_is


def _nothing(*_: Any, **__: Any) -> int:
    return 0


def _begin() -> str | None:
    from provio import own_run

    return own_run.begin(_loaded)


def open(path: str | os.PathLike[str] | None = None, *, timeout: float | None = None) -> Store:  # noqa: A001
    """Open what provio has recorded, to ask it from Python.

    `path` is a project's folder, a file in it or its `.provio`, or the URL of a server that keeps the graphs; without
    one, the `.provio` that the command line finds from here (`PROVIO_HOME`, or the nearest above). `timeout`, in
    seconds, is for each question that names none of its own; None: as long as it takes.

    Raises `provio.errors.NothingKnown` where nothing was recorded, `NotAllowed` where it is somebody else's, and
    `ConfigError` for a wrong setting or URL; all are `provio.errors.ProvioError`, and name the remedy.
    """
    from provio.api import Store

    return Store(path, timeout=timeout)
