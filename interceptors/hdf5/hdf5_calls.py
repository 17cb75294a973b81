"""Reads the table of HDF5 calls: `calls.def` in, rows out. As a program, prints `docs/calls-hdf5.md`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from provio.interceptors.posix.calls import sections, statements

TABLE = Path(__file__).with_name("calls.def")
SINGLE = re.compile(r"(HDF5|HDF5_HAND)\((\w+), (\w+), (.*)\)", re.DOTALL)
SKIPPED = re.compile(r'SKIPS?\((?:(\w+), )?(".*?")(?:,\s*(.*))?\)', re.DOTALL)


class Row(NamedTuple):
    """A row: its kind (macro, handwritten, skipped), name, class, other columns or the reason to skip it, section."""

    kind: str
    name: str
    term: str
    columns: str
    section: str

    @property
    def subject(self) -> str:
        """The macro of the call's subject; an empty string if the row has none."""
        found = re.search(r", (\w+)\([^()]*\)$", self.columns)
        return found[1] if found and self.kind == "HDF5" else ""


def rows() -> Iterator[Row]:
    """Read the table. Raises ValueError for a malformed row."""
    for section, text in statements(TABLE):
        single, skipped = SINGLE.fullmatch(text), SKIPPED.fullmatch(text)
        if single:
            yield Row(single[1], single[2], single[3], single[4], section)
        elif skipped:
            names = [skipped[1]] if skipped[1] else re.split(r",\s*", skipped[3])
            yield from (Row("SKIP", name, "", skipped[2].strip('"'), section) for name in names)
        else:
            raise ValueError(f"no row: {text}")


# How calls are recorded, by the class of their row; `docs/trace-format.md` describes the records.
HOW = {
    "Read": "counted on the dataset or the attribute, with the bytes of the selected elements",
    "Stat": "counted, with `--record stat`",
    "List": "counted, with `--record list`; calls from its callbacks are recorded, too",
    "Delete": "an event for each call",
    "Resize": "an event for each call, with the new shape",
    "Copy": "a copy from one object to another",
    "Link": "the new name and its target; counted on the file",
    "Create": "the new object; counted on it",
    "Open": "the object, if it is new in this opening of its file; counted on it",
}
HOW |= {"Write": HOW["Read"], "Rename": HOW["Delete"]}
BY_HAND = {
    "H5Iinc_ref": "not by itself: it decides when a handle is released",
    "H5Iget_file_id": "not by itself: it decides when a file is closed",
    "H5Idec_ref": "counted if it releases the handle",
    "H5close": "a close of every open file",
    "H5get_libversion": "not by itself: shows a caller whether provio intercepts the library",
    "H5Drefresh": "not by itself: the shape is read again",
    "H5Orefresh": "not by itself: the shape is read again",
}


def record(row: Row) -> tuple[str, str]:
    """Return the record of a row's calls: its class, and how it is made."""
    if row.kind == "SKIP":
        return "–", f"not wrapped: {row.columns}"
    plain = row.name.removesuffix("_async")
    if plain in BY_HAND:
        return row.term if "not by itself" not in BY_HAND[plain] else "–", BY_HAND[plain]
    return row.term, HOW.get(row.term, "counted on the object")


def document() -> str:
    """Return the page of the table."""
    lines = [
        "# The recorded calls of HDF5",
        "",
        "Generated from `interceptors/hdf5/calls.def` by `make calls`. Each name is a function of HDF5 in any version",
        "from 1.10 on; calls inside HDF5 belong to the function that the program called. The classes are those of",
        "[the graph](graph.md); [the trace format](trace-format.md) describes the records, [hdf5.md](hdf5.md) the",
        "interception. A test compares the functions that the installed libraries export with this table.",
    ]
    lines += sections((row.section, row.name, record(row)) for row in rows())
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.stdout.write(document())
