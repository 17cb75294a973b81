"""What a program says of itself: activities, configurations, metrics, checkpoints in, records of the run out.

`provio.activity` and the like are these functions. None raises into the program, whatever it is given; where nothing is
recorded, none does anything.
"""

from __future__ import annotations

from . import recorder, sayings
from .activities import NOTHING, Activity
from .foreign import of_provio

TYPE_CHECKING = False  # what is for types alone is dear to load
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

OFF = recorder.off()  # as it was when this was loaded: to ask each time costs more than all the rest


def activity(name: Any, kind: str | None = None, **attributes: Any) -> Any:
    """Do what follows in an activity: `with provio.activity("train", fold=3):`. Attributes are its settings."""
    return NOTHING if OFF else Activity(name, kind, attributes)


def task(function: Callable[..., Any] | None = None, *, name: str | None = None, **attributes: Any) -> Any:
    """Make each call of a function an activity: `@provio.task`, or `@provio.task(name="fit", fold=3)`.

    The function may be a method, a coroutine or a generator.
    """
    if function is None:
        return lambda function: task(function, name=name, **attributes)
    if OFF:
        return function
    try:
        from .decorated import decorated

        return decorated(function, name, attributes)
    except Exception as error:  # it is none of the things that one calls, or a handler of a signal interrupts a load
        of_provio(error)
        return function


def configuration(values: Any, kind: str | None = None, name: str | None = None) -> int:
    """Say which settings the program goes by from here on; return the Configuration's number, or 0.

    `values` is a mapping, a dataclass, a namespace of argparse, a configuration of OmegaConf or Hydra, or a file or
    text of TOML, YAML, JSON or INI; `kind` a class of configurations, such as `Hyperparameter`.
    """
    return 0 if OFF else _quietly(sayings.configuration, values, kind, name)


def metric(name: str, value: float, step: int | None = None, kind: str | None = None) -> None:
    """Say what a quantity is now: `provio.metric("accuracy", 0.93, step=7)`."""
    if not OFF:
        _quietly(sayings.metric, name, value, step, kind)


def checkpoint(path: Any, step: int | None = None, metrics: Mapping[str, float] | None = None) -> int:
    """Say that the file or folder at a path is a saved state, of which step and metrics; return its number, or 0."""
    return 0 if OFF else _quietly(sayings.checkpoint, path, step, metrics)


def entity(name: str, kind: str | None = None, identifier: str | None = None, **attributes: Any) -> int:
    """Say that there is something that no file shows, such as a row of a database; return its number, for `used` and
    `generated`, or 0. `identifier` tells it from all others, in every run; attributes are its settings."""
    return 0 if OFF else _quietly(sayings.entity, name, kind, identifier, attributes)


def used(*things: Any) -> None:
    """Say what was used here: numbers that `entity` returned, or paths of files and folders."""
    if not OFF:
        _quietly(sayings.used, things)


def generated(*things: Any) -> None:
    """Say what was made here: numbers that `entity` returned, or paths of files and folders."""
    if not OFF:
        _quietly(sayings.generated, things)


def _quietly(say: Callable[..., Any], *arguments: Any) -> int:
    """Let nothing that goes wrong reach the program."""
    try:
        found = recorder.recorder()
        return 0 if found is None else say(found, *arguments) or 0
    except Exception as error:
        of_provio(error)
        return 0
