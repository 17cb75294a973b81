"""Reads the table of MPI-IO calls: `calls.def` in, rows out. As a program, prints `docs/calls-mpiio.md`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_name("calls.def")
WRAPPED = re.compile(r"MPIIO(?:_HAND|_LARGE)?\((\w+), (?:MPI_\w+, )?(\w+), (\([^()]*\))(?:, (.*))?\)")
SKIPPED = re.compile(r'SKIPS\("(.*?)",\s*(.*?)\)', re.DOTALL)


class Row(NamedTuple):
    """A call: its name, class (empty: not wrapped), parameters (or the reason not to wrap it), subject."""

    name: str
    term: str
    columns: str
    subject: str = ""


def rows() -> list[Row]:
    """Read the table."""
    text = "\n".join(line for line in TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("//"))
    wrapped = [
        Row(name, term, parameters, rest.rpartition(", ")[2] if "(" in rest else "")
        for name, term, parameters, rest in WRAPPED.findall(text)
    ]
    skipped = [Row(name, "", why) for why, names in SKIPPED.findall(text) for name in re.split(r",\s*", names)]
    return wrapped + skipped


HOW = {
    "Open": "the file, with flags from the mode",
    "Close": "counted, and the facts of the file",
    "Fsync": "counted",
    "Read": "counted with the bytes that were read, at the end of a file less than requested",
    "Write": "counted with the bytes; for a rank without data of its own, not as its write",
    "SubmitRead": "counted with the requested bytes, which may be read later",
    "SubmitWrite": "counted with the passed bytes, which may be written later",
}


def how(row: Row) -> tuple[str, str]:
    """Return the record of a call: its class, and how it is made."""
    if not row.term:
        return "–", f"not wrapped: {row.columns}"
    if row.name.removesuffix("_c").endswith("_begin"):
        return "–", "not by itself: the start of its other half"
    return row.term, HOW[row.term]


def document() -> str:
    """Return the page of the table, with a line for calls that are recorded alike."""
    lines = [
        "# The recorded calls of MPI-IO",
        "",
        "Generated from `interceptors/mpiio/calls.def` by `make calls`. Each name also stands for the name with the",
        "prefix P, which Fortran bindings and profilers call. The library's own calls of the C library (`pwrite` …)",
        "are recorded for the rank that transfers the bytes: in a collective write often another rank than the owner",
        "of the data. A test compares the functions of the installed libraries with this table.",
        "",
        "| calls | recorded as | how |",
        "|---|---|---|",
    ]
    alike: dict[tuple[str, str], list[str]] = {}
    for row in rows():
        alike.setdefault(how(row), []).append(row.name)
    lines += [f"| {' '.join(f'`{name}`' for name in names)} | {term} | {how} |" for (term, how), names in alike.items()]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.stdout.write(document())
