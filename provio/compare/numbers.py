"""The numbers in a file. In: a path. Out: an array of doubles, in the order of the file.

NumPy (`.npy`, `.npz`) and HDF5 (netCDF-4 too) are recognised by their first bytes, JSON by its name; in any other file
without zero bytes, the numbers in the text count. Objects are read in the order of their names; a complex
number is two.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from provio.compare.parts import DAMAGE, Unreadable, reason
from provio.compare.readers.json_files import LARGEST
from provio.compare.readers.texts import NUMBER, value
from provio.compare.values import NUMBERS

MOST = 1 << 25  # numbers of a file: 256 MB


def numbers(path: str) -> Any:
    """Return the numbers of a file as an array of NumPy. Raises Unreadable if it has none, or cannot be read."""
    import numpy as np

    try:
        parts = [np.asarray(one, dtype=np.float64).ravel() for one in _limited(_parts(path))]
    except ImportError as error:
        raise Unreadable(f"needs the Python package {error.name}, which is not installed") from None
    except DAMAGE as error:
        raise Unreadable(f"cannot be read as numbers ({reason(error)})") from None
    found = np.concatenate(parts) if parts else np.empty(0)
    if not found.size:
        raise Unreadable("contains no numbers")
    return found


def _limited(parts: Iterable[Any]) -> Iterator[Any]:
    total = 0
    for one in parts:
        total += one.size if hasattr(one, "size") else len(one)
        if total > MOST:
            raise Unreadable(f"contains more than {MOST:,} numbers")
        yield one


def _parts(path: str) -> Iterator[Any]:
    with open(path, "rb") as file:
        start = file.read(1 << 16)
    name = os.path.basename(path).lower()
    if start.startswith(b"\x93NUMPY"):
        yield from _npy(path)
    elif start.startswith(b"PK\x03\x04") and name.endswith(".npz"):
        yield from _npz(path)
    elif start.startswith(b"\x89HDF\r\n\x1a\n"):
        yield from _hdf5(path)
    elif b"\0" in start:
        raise Unreadable("is no file of numbers that provio can read")
    elif name.endswith((".json", ".geojson")):
        if os.path.getsize(path) > LARGEST:
            raise Unreadable("is too large to be read as JSON")
        with open(path, "rb") as file:
            yield [*_tree(json.load(file))]
    else:
        with open(path, encoding="latin-1", newline="\n") as lines:
            for line in lines:
                yield [value(text) for text in NUMBER.findall(line)]


def _npy(path: str) -> Iterator[Any]:
    import numpy as np

    yield from _array(np.load(path, mmap_mode="r", allow_pickle=False))


def _npz(path: str) -> Iterator[Any]:
    import numpy as np

    with np.load(path, allow_pickle=False) as found:
        for name in sorted(found.files):
            yield from _array(found[name])


def _hdf5(path: str) -> Iterator[Any]:
    import h5py

    with h5py.File(path, "r") as file:
        names: list[str] = []
        file.visit(names.append)
        for name in sorted(names):
            one = file[name]
            if isinstance(one, h5py.Dataset) and one.shape is not None:
                if one.size > MOST:
                    raise Unreadable(f"contains more than {MOST:,} numbers")
                yield from _array(one[()])


def _array(found: Any) -> Iterator[Any]:
    """Yield the numbers of an array of NumPy, field by field."""
    import numpy as np

    found = np.asarray(found)
    for name in found.dtype.names or ():
        yield from _array(found[name])
    if found.dtype.kind == "c":
        yield from (found.real, found.imag)
    elif found.dtype.kind in NUMBERS:
        yield found


def _tree(found: Any) -> Iterator[float]:
    """Yield the numbers of a JSON value, the keys of objects in order."""
    if isinstance(found, dict):
        for key in sorted(found):
            yield from _tree(found[key])
    elif isinstance(found, list):
        for one in found:
            yield from _tree(one)
    elif isinstance(found, int | float) and not isinstance(found, bool):
        yield float(found)
