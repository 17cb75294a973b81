"""Warn the program that a declaration is not recorded as given: at most one warning for each kind of problem."""

from __future__ import annotations

import _thread
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
_warned: set[str] = set()
_local = _thread._local()


class ProvioWarning(UserWarning):
    """A declaration of the program is not recorded, or not as given."""


def warn(kind: str, sentence: str) -> int:
    """Issue a warning unless one of this kind was issued before; return 0. Never raises."""
    if kind in _warned or getattr(_local, "silent", False):
        return 0
    _warned.add(kind)
    try:  # the program may turn warnings into errors
        import warnings

        warnings.warn(f"provio: {sentence}", ProvioWarning, stacklevel=_level())
    except Exception as error:
        from .guard import reraise_from_program

        reraise_from_program(error)
    return 0


def _level() -> int:
    """Return the number of frames between `warn` and the program's code."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(HERE):
        level, frame = level + 1, frame.f_back
    return level


class silent:  # noqa: N801 (used like a function)
    """Issue no warnings in this thread inside `with`: a recogniser declares, not the program."""

    def __enter__(self) -> None:
        self.before = getattr(_local, "silent", False)
        _local.silent = True

    def __exit__(self, *_: object) -> None:
        _local.silent = self.before
