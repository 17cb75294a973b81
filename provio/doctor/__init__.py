"""What would go wrong here: a place (the folder of the record, a command) in, findings with their remedies out.

    checks/     one file a check; the folder is the registry. Each has `ABOUT`, a word or two for what it looks at, and
                `look`, which yields findings

A check looks, and tries what it can without harm: it starts no command that was named, and leaves nothing behind.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Literal

from provio.base.records import plain
from provio.settings.home import Home

Level = Literal["ok", "note", "problem"]
LEVELS: tuple[Level, ...] = ("ok", "note", "problem")


@plain(frozen=True)
class Place:
    """What is looked at: the `.provio` that a run here would be recorded in, and the command, if one was named."""

    home: Home
    command: Sequence[bytes] = ()

    @property
    def folder(self) -> Path:
        """The nearest folder to the `.provio` that is there: it, or the one that it would be made in."""
        return next(folder for folder in (self.home.path, *self.home.path.parents) if folder.is_dir())


@plain(frozen=True)
class Finding:
    """What one look found; `note` is what one should know, `problem` what keeps things from being recorded."""

    level: Level
    says: str
    remedy: str = ""
    about: str = ""


def ok(says: str) -> Finding:
    """Nothing to do."""
    return Finding("ok", says)


def note(says: str, remedy: str = "") -> Finding:
    """Something to know."""
    return Finding("note", says, remedy)


def problem(says: str, remedy: str) -> Finding:
    """Something that keeps a run, or a part of it, from being recorded."""
    return Finding("problem", says, remedy)


def checks() -> list[str]:
    """Return the names of the checks, sorted."""
    names = os.listdir(Path(__file__).with_name("checks"))
    return sorted(name.removesuffix(".py") for name in names if name.endswith(".py") and name[0] != "_")


def examine(place: Place) -> Iterator[Finding]:
    """Yield what each check finds; one that cannot look says so."""
    for name in checks():
        check = import_module(f"{__name__}.checks.{name}")
        try:
            for found in check.look(place):
                yield Finding(found.level, found.says, found.remedy, check.ABOUT)
        except OSError as error:
            reason = f"{error.filename or ''}: {error.strerror or error}".removeprefix(": ")
            yield Finding("note", f"could not be looked at ({reason})", "", check.ABOUT)
        except subprocess.TimeoutExpired as error:
            yield Finding("note", f"could not be looked at (no answer within {error.timeout:.0f} s)", "", check.ABOUT)
