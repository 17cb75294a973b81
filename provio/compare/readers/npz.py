"""Two NumPy files of several arrays (`.npz`): each array is read from its archive piece by piece."""

from __future__ import annotations

import zipfile
from typing import IO, Any, NamedTuple

from provio.compare.parts import Parts
from provio.compare.readers.pieces import PIECE
from provio.compare.values import Measure

Header = tuple[tuple[int, ...], bool, Any]


class Stored(NamedTuple):
    """An array in an archive: its header was read, its elements follow in `file`."""

    file: IO[bytes]
    shape: tuple[int, ...]
    by_column: bool
    dtype: Any


def compare(first: str, second: str, found: Parts) -> None:
    """Add the arrays of both files by name."""
    with zipfile.ZipFile(first) as one, zipfile.ZipFile(second) as other:
        names = [{name.removesuffix(".npy"): "array" for name in own.namelist()} for own in (one, other)]
        for name in found.common(*names):
            with found.reading(name) as part:
                _add(one, other, name, part)


def _add(one: zipfile.ZipFile, other: zipfile.ZipFile, name: str, part: Measure) -> None:
    import numpy as np

    with _member(one, name) as mine, _member(other, name) as yours:
        left, right = _stored(mine), _stored(yours)
        if left.shape != right.shape:
            part.describe(f"shape {left.shape}", f"shape {right.shape}")
            part.differs("another shape")
        elif left.by_column != right.by_column:  # the order in memory differs: rare, and read as a whole
            part.add_arrays(*(_whole(side) for side in (left, right)))
        else:
            count, at = int(np.prod(left.shape, dtype=object)), 0
            while at < count:
                size = min(count - at, max(1, PIECE // max(1, left.dtype.itemsize, right.dtype.itemsize)))
                part.add_arrays(_read(left, size), _read(right, size), place=_index(left, at))
                at += size


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    return archive.open(f"{name}.npy" if f"{name}.npy" in archive.namelist() else name)


def _stored(file: IO[bytes]) -> Stored:
    from numpy.lib import format as npy

    version = npy.read_magic(file)
    shape, by_column, dtype = (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(file)
    if dtype.hasobject:
        raise ValueError("it contains Python objects")
    return Stored(file, shape, by_column, dtype)


def _read(stored: Stored, count: int) -> Any:
    import numpy as np

    size = count * stored.dtype.itemsize
    data = stored.file.read(size)
    if len(data) != size:
        raise ValueError("it is cut off")
    return np.frombuffer(data, stored.dtype, count) if stored.dtype.itemsize else np.empty(count, stored.dtype)


def _whole(stored: Stored) -> Any:
    import numpy as np

    values = _read(stored, int(np.prod(stored.shape, dtype=object)))
    return values.reshape(stored.shape, order="F" if stored.by_column else "C")


def _index(stored: Stored, start: int) -> Any:
    """Return the function from the number of an element of a piece to its index in the array."""

    def place(number: int) -> str:
        import numpy as np

        if not stored.shape:
            return ""
        found = np.unravel_index(start + number, stored.shape, "F" if stored.by_column else "C")
        return f"[{', '.join(str(int(one)) for one in found)}]"

    return place
