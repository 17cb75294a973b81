"""provio: where did this data come from, and what was it made into?

The path of the data, package by package:

    record     runs a command under the preload library and leaves a run folder of Turtle files
    trace      reads a run folder: Turtle files to facts (`trace.facts` has their types)
    lineage    facts to conclusions: identities, phases, pipes, copies, revisions
    graph      conclusions to triples
    merge      adds the graphs of runs to the store, which holds each fact once
    store      Oxigraph, or a SPARQL server, behind one interface
    ask        answers questions: plain documents
    render     shows them: trees, tables, JSON, pages
    cli        the command line, a verb a file

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
ERRORS = frozenset(
    "ProvioError NotAllowed StoreError Busy BadQuery UnknownTerm NothingKnown NotYet TimedOut ConfigError".split()
)


def __getattr__(name: str) -> Any:
    if name in ERRORS:
        from provio.base import errors

        return getattr(errors, name)
    if name not in SAID:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for _ in range(3):  # a signal handler that imports may undo what Python notes of the import it interrupts
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
    from provio.record import implicit_run

    return implicit_run.begin(_loaded)


def open(path: str | os.PathLike[str] | None = None, *, timeout: float | None = None) -> Store:  # noqa: A001
    """Open what provio has recorded, to ask it from Python.

    `path` is a project's folder, a file in it or its `.provio`, or the URL of a server that keeps the graphs; without
    one, the `.provio` that the command line finds from here (`PROVIO_HOME`, or the nearest above). `timeout`, in
    seconds, is for each question that names none of its own; None: as long as it takes.

    Raises `provio.NothingKnown` where nothing was recorded, `NotAllowed` where it is somebody else's, and
    `ConfigError` for a wrong setting or URL; all are `provio.ProvioError`, and name the remedy.
    """
    from provio.api import Store

    return Store(path, timeout=timeout)
