"""Readers of files of numbers. In: two files of one format. Out: the measure of their differences.

NumPy (`.npy`, `.npz`) and HDF5 (netCDF-4 too) are recognised by their first bytes, JSON by its name; every other file
without zero bytes is a text, in which everything between the numbers must be equal. NumPy and h5py are optional.
"""

from __future__ import annotations

import json
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

from provio.compare.values import Different, Measure

PIECE = 1 << 24  # bytes of an array that are read at once
LARGEST_JSON = 1 << 28
OF_SCALES = {"DIMENSION_LIST", "REFERENCE_LIST"}  # attributes that lead from data to its dimensions, as addresses
NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?|nan\b|inf(?:inity)?\b)(?![\w.])", re.IGNORECASE
)
DAMAGE = (  # errors of the readers about a damaged file
    OSError, ValueError, KeyError, TypeError, RuntimeError, EOFError, ArithmeticError, MemoryError, SyntaxError,
    zipfile.BadZipFile, zlib.error, struct.error,
)  # fmt: skip
WHOLE = re.compile(r"[-+]?\d{1,300}")


class Unreadable(Exception):
    """No reader can read a file; the message is the reason."""


def measure(first: str, second: str, name: str = "") -> Measure:
    """Return the measure of two files; `name` decides the format of JSON, by default that of the first file. Raises
    Unreadable, or Different if they differ in more than numbers."""
    found = Measure()
    try:
        with open(first, "rb") as file:
            start = file.read(1 << 16)
        _reader(start, os.path.basename(name or first))(first, second, found)
    except ImportError as error:
        raise Unreadable(f"the Python package {error.name} is missing") from None
    except DAMAGE as error:
        raise Unreadable(f"cannot be read as numbers ({str(error) or type(error).__name__})") from None
    return found


def _reader(start: bytes, name: str) -> Callable[[str, str, Measure], None]:
    if start.startswith(b"\x93NUMPY"):
        return _npy
    if start.startswith(b"PK\x03\x04") and name.endswith(".npz"):
        return _npz
    if start.startswith(b"\x89HDF\r\n\x1a\n"):
        return _hdf5
    if b"\0" in start:
        raise Unreadable("is no file of numbers that provio can read")
    return _json if name.lower().endswith((".json", ".geojson")) else _text


def _npy(first: str, second: str, found: Measure) -> None:
    import numpy as np

    one, other = (np.load(path, mmap_mode="r", allow_pickle=False) for path in (first, second))
    _arrays(one, other, "", found)


def _npz(first: str, second: str, found: Measure) -> None:
    import numpy as np

    with np.load(first, allow_pickle=False) as one, np.load(second, allow_pickle=False) as other:
        _same_names(one.files, other.files, "arrays")
        for name in one.files:
            _arrays(one[name], other[name], name, found)


def _hdf5(first: str, second: str, found: Measure) -> None:
    import h5py

    with h5py.File(first, "r") as one, h5py.File(second, "r") as other:
        names, others = list[str](), list[str]()
        one.visit(names.append)
        other.visit(others.append)
        _same_names(names, others, "objects")
        for name in ("/", *names):
            old, new = one[name], other[name]
            if isinstance(old, h5py.Dataset) != isinstance(new, h5py.Dataset):
                raise Different(f"{name}: another kind of object")
            _same_names(old.attrs, new.attrs, f"attributes of {name}")
            for key in sorted(old.attrs.keys() - OF_SCALES):
                found.add_arrays(_array(old.attrs[key]), _array(new.attrs[key]), f"{name}@{key}")
            if isinstance(old, h5py.Dataset):
                _arrays(old, new, name, found)


def _array(value: Any) -> Any:
    import numpy as np

    return np.asarray(value)


def _arrays(old: Any, new: Any, name: str, found: Measure) -> None:
    """Add two arrays, or datasets, piece by piece along the first axis."""
    if old.shape != new.shape or not old.shape:
        if old.shape is None and new.shape is None:
            return
        if old.shape != new.shape:
            raise Different(f"{name or 'array'}: the shape is {new.shape}, recorded {old.shape}")
        found.add_arrays(_array(old[()]), _array(new[()]), name)
        return
    row = max(1, old.size // max(1, old.shape[0]) * old.dtype.itemsize)
    rows = max(1, PIECE // row)
    for at in range(0, old.shape[0], rows):
        place = f"{name}[{at}:]" if at else name
        found.add_arrays(_array(old[at : at + rows]), _array(new[at : at + rows]), place)


def _same_names(first: Any, second: Any, of: str) -> None:
    if unlike := set(first) ^ set(second):
        raise Different(f"other {of}: {min(unlike)}")


def _json(first: str, second: str, found: Measure) -> None:
    if max(os.path.getsize(first), os.path.getsize(second)) > LARGEST_JSON:
        raise Unreadable("is too large to be read as JSON")
    with open(first, "rb") as one, open(second, "rb") as other:
        _tree(json.load(one), json.load(other), "$", found)


def _tree(old: Any, new: Any, where: str, found: Measure) -> None:
    if _is_number(old) and _is_number(new):
        found.add(old, new, where)
    elif type(old) is not type(new):
        raise Different(f"{where}: another kind of value")
    elif isinstance(old, dict):
        _same_names(old, new, f"keys of {where}")
        for key, value in old.items():
            _tree(value, new[key], f"{where}.{key}", found)
    elif isinstance(old, list):
        if len(old) != len(new):
            raise Different(f"{where}: {len(new)} values, recorded {len(old)}")
        for at, (value, other) in enumerate(zip(old, new, strict=True)):
            _tree(value, other, f"{where}[{at}]", found)
    elif old != new:
        raise Different(f"{where}: another text")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(first: str, second: str, found: Measure) -> None:
    with open(first, encoding="latin-1", newline="\n") as one, open(second, encoding="latin-1", newline="\n") as other:
        for number, (old, new) in enumerate(zip_longest(one, other), 1):
            if old is None or new is None:
                raise Different("another number of lines")
            if "\0" in old or "\0" in new:
                raise Unreadable("is no text")
            if _between(old) != _between(new):
                raise Different(f"line {number}: another text")
            for left, right in zip(NUMBER.findall(old), NUMBER.findall(new), strict=True):
                found.add(_number(left), _number(right), f"line {number}")


def _between(line: str) -> list[str]:
    """Return the words of a line, with a mark for each number: the width of columns does not count."""
    return NUMBER.sub("\0", line).split()


def _number(text: str) -> float:
    return int(text) if WHOLE.fullmatch(text) else float(re.sub("[dD]", "e", text) if text[-1].isdigit() else text)
