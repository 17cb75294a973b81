"""Tells the program what of its own words was not kept: a sentence in, at most one warning of each kind out."""

from __future__ import annotations

import _thread
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
_told: set[str] = set()
_local = _thread._local()


class ProvioWarning(UserWarning):
    """Something that the program said is not kept as it was said."""


def warn(kind: str, sentence: str) -> int:
    """Warn of something, unless something of the kind was warned of before; return 0. Never raises."""
    if kind in _told or getattr(_local, "silent", False):
        return 0
    _told.add(kind)
    try:  # the program may have made errors of warnings
        import warnings

        warnings.warn(f"provio: {sentence}", ProvioWarning, stacklevel=_level())
    except Exception as error:
        from .foreign import of_provio

        of_provio(error)
    return 0


def _level() -> int:
    """How far above `warn` the program's own code is."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(HERE):
        level, frame = level + 1, frame.f_back
    return level


class silent:  # noqa: N801 (a function, to who uses it)
    """Warn of nothing meanwhile: what is said was not said by the program."""

    def __enter__(self) -> None:
        self.before = getattr(_local, "silent", False)
        _local.silent = True

    def __exit__(self, *_: object) -> None:
        _local.silent = self.before
