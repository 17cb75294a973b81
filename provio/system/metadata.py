"""Read the metadata of a data file: a path in, names and texts of its scalar attributes out.

HDF5 and netCDF-4 (h5py), classic netCDF (netCDF4), images (Pillow), FITS and Zarr. The libraries are loaded only for a
file that needs one. A library in C may crash on a crafted file: `provio.system.metadata_child` runs this module as a
process of its own, which reads paths (JSON strings, one a line) and answers each with a line of JSON.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

VALUES, BYTES = 64, 256  # values of a file, bytes of a value
OBJECTS = 2_000  # of an HDF5 file, whose attributes are searched
LARGEST = 1 << 20  # bytes of an attribute, of a JSON file, of all FITS headers
CARD, BLOCK, HDUS = 80, 2880, 20  # of FITS: bytes of a card and a block, number of headers
HIDDEN = frozenset("CLASS NAME DIMENSION_LIST REFERENCE_LIST _NCProperties _Netcdf4Dimid _Netcdf4Coordinates".split())
PLACES = frozenset("ExifOffset GPSInfo InteropOffset StripOffsets StripByteCounts TileOffsets TileByteCounts".split())
Pair = tuple[str, Any]


def pairs(path: str) -> list[tuple[str, str]]:
    """Return the names and texts of a file's attributes. Raises an exception of the library for a damaged file."""
    read = READERS[kind_of(path)]
    texts = ((name, _text(value)) for name, value in read(path))
    return list(islice(((name[:BYTES], text) for name, text in texts if text is not None), VALUES))


def kind_of(name: str) -> str:
    """Return the kind of a file by its name; empty if no kind has this name."""
    base = os.path.basename(name).lower()
    return base if base in READERS else os.path.splitext(base)[1] if os.path.splitext(base)[1] in READERS else ""


def _text(value: Any) -> str | None:
    """Return a scalar as text of at most BYTES bytes; None for any other value."""
    value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float):
        return None
    text = "".join(letter if letter.isprintable() else " " for letter in str(value)[: 4 * BYTES]).strip()
    data = text.encode("utf-8", "replace")
    return text if len(data) <= BYTES else data[: BYTES - 3].decode("utf-8", "ignore") + "…"


def _hdf5(path: str) -> Iterator[Pair]:
    import h5py

    with h5py.File(path, "r") as file:
        hidden = HIDDEN if "_NCProperties" in file.attrs else frozenset()
        yield from _attributes(file, "", hidden)
        names: list[str] = []

        def visited(name: str) -> bool | None:
            names.append(name)
            return len(names) == OBJECTS or None

        file.visit(visited)
        for name in names:
            yield from _attributes(file[name], f"{name}:", hidden)


def _attributes(thing: Any, above: str, hidden: frozenset[str]) -> Iterator[Pair]:
    for name in thing.attrs:
        attribute = thing.attrs.get_id(name)
        size = 1
        for extent in attribute.shape or ():
            size *= extent
        is_scalar = attribute.shape is not None and size == 1
        if name not in hidden and is_scalar and attribute.get_storage_size() <= LARGEST:
            yield above + name, _item(thing.attrs[name])


def _item(value: Any) -> Any:
    """Return the value of a scalar or array of one element of a library as a value of Python."""
    return value.item() if hasattr(value, "item") and getattr(value, "size", 1) == 1 else value


def _number(value: Any) -> Any:
    """Return a rational number of EXIF as a float; any other value unchanged."""
    return float(value) if hasattr(value, "numerator") and value.denominator else value


def _netcdf(path: str) -> Iterator[Pair]:
    with open(path, "rb") as file:
        classic = file.read(3) == b"CDF"
    if not classic:
        yield from _hdf5(path)
        return
    import netCDF4

    with netCDF4.Dataset(path) as found:
        things: list[tuple[str, Any]] = [("", found), *((f"{name}:", one) for name, one in found.variables.items())]
        for above, thing in things:
            for name in thing.ncattrs():
                yield above + name, _item(thing.getncattr(name))


def _json(path: str) -> Iterator[Pair]:
    with open(path, "rb") as file:
        found = json.loads(file.read(LARGEST))
    attributes = found.get("attributes", {}) if os.path.basename(path) == "zarr.json" else found
    yield from attributes.items() if isinstance(attributes, dict) else ()


def _fits(path: str) -> Iterator[Pair]:
    with open(path, "rb") as file:
        for number in range(HDUS):
            cards = list(_cards(file))
            if not cards or (number == 0 and cards[0][0] != "SIMPLE"):
                return
            values = dict(cards)
            yield from (((f"{number}:" if number else "") + name, value) for name, value in cards)
            extents = [int(values.get(f"NAXIS{axis}", 0)) for axis in range(1, int(values.get("NAXIS", 0)) + 1)]
            size = int(values.get("PCOUNT", 0)) if number else 0
            elements = 1 if extents else 0
            for extent in extents:
                elements *= extent
            size = abs(int(values.get("BITPIX", 8))) // 8 * int(values.get("GCOUNT", 1)) * (size + elements)
            file.seek(-(-size // BLOCK) * BLOCK, os.SEEK_CUR)


def _cards(file: Any) -> Iterator[Pair]:
    """Yield the names and values of the cards of a header of FITS."""
    for _ in range(LARGEST // BLOCK):
        block = file.read(BLOCK)
        for at in range(0, len(block), CARD):
            card = block[at : at + CARD].decode("ascii", "replace")
            if card[:8].rstrip() == "END":
                return
            if card[8:10] == "= " and len(card) == CARD:
                yield card[:8].rstrip(), _fits_value(card[10:])
        if len(block) < BLOCK:
            return


def _fits_value(text: str) -> Any:
    text = text.strip()
    if text.startswith("'"):
        at = 1
        while (end := text.find("'", at)) >= 0 and text[end + 1 : end + 2] == "'":
            at = end + 2
        return text[1 : end if end >= 0 else None].replace("''", "'").rstrip()
    word = text.partition("/")[0].strip()
    if word in ("T", "F"):
        return word == "T"
    try:
        return int(word)
    except ValueError:
        return float(word.replace("D", "E")) if word and word[-1].isdigit() else word


def _image(path: str) -> Iterator[Pair]:
    from PIL import ExifTags, Image

    with Image.open(path) as image:
        yield from (("width", image.width), ("height", image.height))
        exif = image.getexif()
        for above, tags in (("", exif), *((one.name + ":", exif.get_ifd(one)) for one in ExifTags.IFD)):
            for tag, value in tags.items():
                name = ExifTags.TAGS.get(tag, "") or ExifTags.GPSTAGS.get(tag, "")
                if name and name not in PLACES:
                    yield above + name, value if isinstance(value, int) else _number(value)
        yield from ((str(name), value) for name, value in image.info.items() if isinstance(value, str))


READERS: dict[str, Callable[[str], Iterable[Pair]]] = {
    **dict.fromkeys((".h5", ".hdf5", ".hdf", ".he5", ".nwb", ".mat", ".nxs"), _hdf5),
    **dict.fromkeys((".nc", ".nc4", ".cdf"), _netcdf),
    **dict.fromkeys((".zattrs", "zarr.json"), _json),
    **dict.fromkeys((".fits", ".fit", ".fts"), _fits),
    **dict.fromkeys((".tif", ".tiff", ".jpg", ".jpeg", ".png"), _image),
}


def main() -> None:
    """Answer paths until the input ends."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    answers, sys.stdout = sys.stdout, sys.stderr  # output of a library is no answer
    for line in sys.stdin:
        path = json.loads(line)
        answer: dict[str, Any] = {}
        try:
            if stat.S_ISREG(os.stat(path).st_mode):
                answer["pairs"] = pairs(path)
        except ImportError as error:
            answer["missing"] = error.name
        except Exception as error:  # of any library, for a damaged file
            answer["error"] = type(error).__name__
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
