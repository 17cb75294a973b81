"""Two Parquet files: the columns by name, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from provio.compare.parts import Parts
from provio.compare.values import Measure

BATCH = 1 << 16  # rows
Index = Any


def compare(first: str, second: str, found: Parts) -> None:
    """Add the columns of both files."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(first) as one, pq.ParquetFile(second) as other:
        rows = [own.metadata.num_rows for own in (one, other)]
        if rows[0] != rows[1]:
            found.part("").describe(*(f"{count:,} rows" for count in rows))
            found.part("").differs("another number of rows")
        shown = [{field.name: str(field.type) for field in own.schema_arrow} for own in (one, other)]
        for name in found.common(*shown):
            with found.reading(name) as part:
                if shown[0][name] != shown[1][name]:
                    part.notes[f"type {shown[0][name]} and {shown[1][name]}"] = None
                start = 0
                for old, new in _aligned(_batches(one, name), _batches(other, name)):
                    _add(old, new, start, part)
                    start += len(old)


def _batches(file: Any, name: str) -> Iterator[Any]:
    """Yield the parts of a column of one group of rows after the other."""
    for group in range(file.num_row_groups):
        for batch in file.iter_batches(BATCH, row_groups=[group], columns=[name]):
            yield batch.column(0)


def _aligned(first: Iterator[Any], second: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield parts of equal length of two columns, up to the end of the shorter one."""
    old, new = next(first, None), next(second, None)
    while old is not None and new is not None:
        size = min(len(old), len(new))
        if size:
            yield old.slice(0, size), new.slice(0, size)
        old = old.slice(size) if len(old) > size else next(first, None)
        new = new.slice(size) if len(new) > size else next(second, None)


def _add(old: Any, new: Any, start: int, part: Measure) -> None:
    """Add two parts of a column. A null value equals another one only."""
    import numpy as np

    def row(number: int) -> str:
        return f"[{start + int(rows[number])}]"

    rows = np.arange(len(old))
    if all(_is_number(side.type) for side in (old, new)):
        there = [side.is_valid().to_numpy(zero_copy_only=False) for side in (old, new)]
        if count := int(np.count_nonzero(there[0] != there[1])):
            part.differs("only one file has a value", f"[{start + int(np.argmax(there[0] != there[1]))}]", count)
        rows = np.flatnonzero(there[0] & there[1])
        values = [side.fill_null(False if str(side.type) == "bool" else 0) if side.null_count else side
                  for side in (old, new)]  # fmt: skip
        old, new = (side.to_numpy(zero_copy_only=False)[rows] for side in values)
        part.add_arrays(old, new, place=row)
    elif not old.equals(new):
        objects = [np.empty(len(old), object), np.empty(len(old), object)]
        for array, side in zip(objects, (old, new), strict=True):
            for number, value in enumerate(side.to_pylist()):
                array[number] = value
        part.add_arrays(objects[0], objects[1], place=row)


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))
