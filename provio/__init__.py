"""provio records which process reads and writes which file, and answers questions about the lineage of data.

The main packages, in the order in which the data passes through them:

    record     runs a command under the preload library and leaves a run folder of Turtle files
    trace      reads a run folder: Turtle files to facts (types in `trace.facts`)
    lineage    facts to conclusions: identities, phases, pipes, copies, revisions
    graph      conclusions to triples
    merge      adds the graphs of runs to the store, which holds each fact once
    store      Oxigraph, or a SPARQL server, behind one interface
    ask        answers questions as plain documents
    render     formats answers: trees, tables, JSON, pages
    cli        the command line, one file per verb

`provio.open()` gives Python access to all answers. `provio.activity()` and the other names in `DECLARATIONS` are the
functions with which a program declares facts about itself (`docs/api.md`).
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # `typing` loads as slowly as Python starts, and `provio run` in a rank does not need it
if TYPE_CHECKING:
    from typing import Any

    from provio.api import Store as Store
    from provio.interceptors.python import declarations

    activity, task = declarations.activity, declarations.task
    configuration, metric = declarations.configuration, declarations.metric
    checkpoint, entity = declarations.checkpoint, declarations.entity
    used, generated = declarations.used, declarations.generated

__version__ = "0.1.0"
_loaded = os.getpid()  # a fork of this process belongs to the same run
DECLARATIONS = frozenset("activity task configuration metric checkpoint entity used generated".split())
ERRORS = frozenset(
    "ProvioError NotAllowed StoreError Busy BadQuery UnknownTerm NothingKnown NotYet TimedOut ConfigError".split()
)


def __getattr__(name: str) -> Any:
    if name in ERRORS:
        from provio.base import errors

        return getattr(errors, name)
    if name == "dask":
        import importlib

        return importlib.import_module("provio.dask")
    if name not in DECLARATIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for _ in range(3):  # a signal handler that imports may undo the state of the import that it interrupts
        try:
            globals().update(_declarations())
            return globals()[name]
        except KeyError:
            pass
        except (AttributeError, ImportError):  # a signal handler interrupts this import: its declaration is dropped
            break
    return {"activity": _unheard, "task": _as_it_is}.get(name, _nothing)


def _declarations() -> dict[str, Any]:
    """Return the declaration functions by name."""
    import importlib
    import sys
    import types

    if "_provio" not in sys.modules:  # one module of this name per process, imported at first need
        package = types.ModuleType("_provio")
        package.__path__ = [__path__[0] + "/interceptors"]
        sys.modules["_provio"] = package
    declarations = importlib.import_module("_provio.python.declarations")
    found = {each: getattr(declarations, each) for each in DECLARATIONS}
    declarations.recorder.begin_run = _begin
    return found


def _unheard(*_: Any, **__: Any) -> Any:
    """Return an activity that is not recorded."""

    class Unheard:
        number = 0

        def __enter__(self) -> Unheard:
            return self

        def __exit__(self, *_: object) -> None: ...

        def say(self, **_: Any) -> None:
            """Do nothing."""

    return Unheard()


def _as_it_is(function: Any = None, **_: Any) -> Any:
    return function or _as_it_is


def _nothing(*_: Any, **__: Any) -> int:
    return 0


def _begin() -> str | None:
    from provio.record import implicit_run

    return implicit_run.begin(_loaded)


def load_ipython_extension(shell: Any) -> None:
    """Record the kernel of a notebook from now on (`%load_ext provio`)."""
    from provio.record import extension

    extension.load(shell)


def unload_ipython_extension(_: Any) -> None:
    """End the recording of a kernel (`%unload_ext provio`)."""
    from provio.record import extension

    extension.unload()


def open(path: str | os.PathLike[str] | None = None, *, timeout: float | None = None) -> Store:  # noqa: A001
    """Open the record of provio for queries from Python.

    `path` is a project's folder, a file in it, its `.provio`, or the URL of a server that stores the graphs. Without
    `path`, the `.provio` that the command line finds from the current folder (`PROVIO_HOME`, or the nearest above).
    `timeout` in seconds applies to each question that has no timeout of its own; None: no limit.

    Raises `provio.NothingKnown` if nothing is recorded, `NotAllowed` if the record belongs to another user, and
    `ConfigError` for a wrong setting or URL. All are subclasses of `provio.ProvioError`, and their messages name the
    remedy.
    """
    from provio.api import Store

    return Store(path, timeout=timeout)
