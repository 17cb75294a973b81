"""Readers of files of values, a module for each format. In: two files of one format. Out: measures of their parts.

A format is recognised by its first bytes, JSON and tables by their names; every other file without zero bytes is a
text. Formats other than JSON, tables and texts need a Python package, which is imported when it is needed.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable

from provio.compare.parts import DAMAGE, Parts, Unreadable, reason

BY_START = (
    (b"\x93NUMPY", "npy"), (b"\x89HDF\r\n\x1a\n", "hdf5"), (b"CDF\x01", "netcdf3"), (b"CDF\x02", "netcdf3"),
    (b"CDF\x05", "netcdf3"), (b"PAR1", "parquet"), (b"\x89PNG\r\n\x1a\n", "images"), (b"\xff\xd8\xff", "images"),
    (b"II*\0", "images"), (b"MM\0*", "images"), (b"II+\0", "images"), (b"MM\0+", "images"),
)  # fmt: skip
BY_NAME = {".json": "json_files", ".geojson": "json_files", ".csv": "tables", ".tsv": "tables", ".tab": "tables"}
PACKAGES = {"PIL": "pillow", "scipy": "scipy"}
START = 1 << 16
Reader = Callable[[str, str, Parts], None]


def compared(first: str, second: str, name: str = "") -> Parts:
    """Return the parts of two files; `name` decides the format of JSON and tables, by default that of the first file.
    Raises Unreadable."""
    found = Parts()
    try:
        formats = [_format(path, os.path.basename(name or first)) for path in (first, second)]
        if formats[0] != formats[1]:
            found.part("").differs("another format")
        else:
            reader: Reader = importlib.import_module(f"{__name__}.{formats[0]}").compare
            reader(first, second, found)
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        raise Unreadable(f"needs the Python package {PACKAGES.get(package, package)}: install it") from None
    except DAMAGE as error:
        raise Unreadable(f"cannot be read as numbers ({reason(error)})") from None
    if not found.parts:
        raise Unreadable("contains no values")
    return found


def _format(path: str, name: str) -> str:
    with open(path, "rb") as file:
        start = file.read(START)
    if start.startswith(b"PK\x03\x04") and name.endswith(".npz"):
        return "npz"
    for sign, module in BY_START:
        if start.startswith(sign):
            return module
    if b"\0" in start:
        raise Unreadable("is no file of numbers that provio can read")
    return BY_NAME.get(os.path.splitext(name)[1].lower(), "texts")
