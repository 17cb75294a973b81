"""Arrays in pieces of limited size: two arrays or datasets in, the pairs of their values added to a measure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from provio.compare.values import Measure, index_in

PIECE = 1 << 23  # bytes of an array that are read at once


def add(first: Any, second: Any, found: Measure, plain: Callable[[Any, Any], Any] | None = None) -> None:
    """Add two arrays, or objects with their `shape`, `dtype` and slices. `plain` makes an array of a piece."""
    import numpy as np

    if first.shape != second.shape:
        found.describe(f"shape {first.shape}", f"shape {second.shape}")
        found.differs("another shape")
        return
    if 0 in first.shape:
        found.add_arrays(np.empty(first.shape, first.dtype), np.empty(second.shape, second.dtype))
        return
    for start, piece in pieces(first.shape, max(first.dtype.itemsize, second.dtype.itemsize)):
        both = [np.asarray(plain(side, side[piece]) if plain else side[piece]) for side in (first, second)]
        found.add_arrays(both[0], both[1], place=index_in(both[0].shape, start))


def pieces(shape: tuple[int, ...], item: int) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield slices of an array, of at most PIECE bytes, with the index of the first element of each."""
    if not shape:
        yield (), ...
        return
    inner = item
    for size in shape[1:]:
        inner *= size
    if inner <= PIECE:
        rows = max(1, PIECE // max(1, inner))
        for at in range(0, shape[0], rows):
            yield (at,), (slice(at, at + rows),)
        return
    for at in range(shape[0]):
        for start, piece in pieces(shape[1:], item):
            yield (at, *start), (slice(at, at + 1), *piece)
