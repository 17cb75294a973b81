"""Python's search for cycles of objects, put off while a run is merged.

A run's facts all live until its end: each search would go through them in vain (a fifth of merge's time)."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept() -> Iterator[None]:
    """Let cycles be until the end; then free those that were made meanwhile, and no others are looked at."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect(0)


def let_go() -> None:
    """Free the cycles that were made since the last time; what is older is not looked at."""
    gc.collect(0)
