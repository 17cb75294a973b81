"""Checks whether a machine, a `.provio` and a command can be recorded; yields findings with their remedies.

Each module in `checks/` holds checks of one subject: functions with the decorator `check`, which are found there. A
check only looks, and tries operations without side effects: it never starts the user's command and leaves no file.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Literal

from provio.base.records import frozen
from provio.settings.home import Home

Level = Literal["ok", "note", "problem"]
LEVELS: tuple[Level, ...] = ("ok", "note", "problem")


@frozen
class Place:
    """The `.provio` in which a run would be recorded, the command to check, if one was given, and whether to read the
    whole record (`thorough`)."""

    home: Home
    command: Sequence[bytes] = ()
    thorough: bool = False

    @property
    def folder(self) -> Path:
        """The `.provio` folder, or its nearest existing parent."""
        return next(folder for folder in (self.home.path, *self.home.path.parents) if folder.is_dir())


@frozen
class Finding:
    """One result of a check: `note` is worth knowing, `problem` prevents a part of the record."""

    level: Level
    message: str
    remedy: str = ""
    about: str = ""


def ok(message: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding("ok", message)


def note(message: str, remedy: str = "") -> Finding:
    """Return a finding that is worth knowing."""
    return Finding("note", message, remedy)


def problem(message: str, remedy: str) -> Finding:
    """Return a finding that prevents a run, or a part of it, from being recorded."""
    return Finding("problem", message, remedy)


Check = Callable[[Place], Iterator[Finding]]
_CHECKS: dict[str, tuple[str, Check]] = {}


def check(about: str) -> Callable[[Check], Check]:
    """Register a function as a check; `about` is the subject that the table shows for its findings."""

    def register(function: Check) -> Check:
        _CHECKS[function.__name__] = (about, function)
        return function

    return register


def all_checks() -> list[tuple[str, Check]]:
    """Return the subject and the function of each check, sorted by the function's name."""
    for path in Path(__file__).with_name("checks").glob("[!_]*.py"):
        import_module(f"{__name__}.checks.{path.stem}")
    return [_CHECKS[name] for name in sorted(_CHECKS)]


def examine(place: Place) -> Iterator[Finding]:
    """Yield the findings of all checks; a check that fails yields a note with the reason."""
    for about, function in all_checks():
        try:
            for found in function(place):
                yield Finding(found.level, found.message, found.remedy, about)
        except OSError as error:
            reason = f"{error.filename or ''}: {error.strerror or error}".removeprefix(": ")
            yield Finding("note", f"cannot be checked ({reason})", "", about)
        except subprocess.TimeoutExpired as error:
            yield Finding("note", f"cannot be checked (no reply within {error.timeout:.0f} s)", "", about)
