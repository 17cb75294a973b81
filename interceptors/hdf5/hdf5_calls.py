"""The table of HDF5's calls, read: `calls.def` goes in, its rows come out, or, as a program, `docs/calls-hdf5.md`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from provio.interceptors.posix.calls import sections, statements

TABLE = Path(__file__).with_name("calls.def")
SINGLE = re.compile(r"(HDF5|HDF5_HAND)\((\w+), (\w+), (.*)\)", re.DOTALL)
LEFT_OUT = re.compile(r'SKIPS?\((?:(\w+), )?(".*?")(?:,\s*(.*))?\)', re.DOTALL)


class Row(NamedTuple):
    """A row: whether it is made by a macro, by hand or not at all, its name, its class or why not, its section."""

    kind: str
    name: str
    term: str
    columns: str
    section: str

    @property
    def subject(self) -> str:
        """What the call is about, as the macro that says it; an empty string where the row names none."""
        found = re.search(r", (\w+)\([^()]*\)$", self.columns)
        return found[1] if found and self.kind == "HDF5" else ""


def rows() -> Iterator[Row]:
    """Read the table; raises ValueError for what is no row."""
    for section, text in statements(TABLE):
        single, left_out = SINGLE.fullmatch(text), LEFT_OUT.fullmatch(text)
        if single:
            yield Row(single[1], single[2], single[3], single[4], section)
        elif left_out:
            names = [left_out[1]] if left_out[1] else re.split(r",\s*", left_out[3])
            yield from (Row("SKIP", name, "", left_out[2].strip('"'), section) for name in names)
        else:
            raise ValueError(f"no row: {text}")


# How a row's calls are recorded, by its class; `docs/trace-format.md` says what each record holds.
HOW = {
    "Read": "counted on the dataset or the attribute, with the bytes of the elements selected",
    "Stat": "counted, with `--record stat`",
    "List": "counted, with `--record list`; calls that it makes back into the program are recorded as ever",
    "Delete": "an event for each call",
    "Resize": "an event for each call, with the new shape",
    "Copy": "a copy from one object to another",
    "Link": "the new name, and what it leads to; counted on the file",
    "Create": "the new object; counted on it",
    "Open": "the object where it is new to this opening of its file; counted on it",
}
HOW |= {"Write": HOW["Read"], "Rename": HOW["Delete"]}
BY_HAND = {
    "H5Iinc_ref": "not by itself: it tells when a handle is gone",
    "H5Iget_file_id": "not by itself: it tells when a file is closed",
    "H5Idec_ref": "counted where the handle is gone by it",
    "H5close": "every file that was open is closed",
    "H5get_libversion": "not by itself: whoever calls it learns whether provio sees this library",
    "H5Drefresh": "not by itself: the shape is asked for again",
    "H5Orefresh": "not by itself: the shape is asked for again",
}


def record(row: Row) -> tuple[str, str]:
    """Return what is recorded of a row's calls, and how."""
    if row.kind == "SKIP":
        return "–", f"not wrapped: {row.columns}"
    plain = row.name.removesuffix("_async")
    if plain in BY_HAND:
        return row.term if "not by itself" not in BY_HAND[plain] else "–", BY_HAND[plain]
    return row.term, HOW.get(row.term, "counted on the object")


def document() -> str:
    """Return the page of the table."""
    lines = [
        "# The calls of HDF5 that are watched",
        "",
        "Made from `interceptors/hdf5/calls.def` by `make calls`. Each name is a function of HDF5's, of any version",
        "from 1.10 on; what HDF5 calls inside itself belongs to the function that the program called. Classes are",
        "those of [the graph](graph.md); what a record holds is said in [the trace format](trace-format.md), and how",
        "the calls are met in [hdf5.md](hdf5.md). A test holds every function that the installed libraries export",
        "against this table.",
    ]
    lines += sections((row.section, row.name, record(row)) for row in rows())
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.stdout.write(document())
