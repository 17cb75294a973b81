"""The table of MPI-IO's calls, read: `calls.def` goes in, its rows come out; as a program, `docs/calls-mpiio.md`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_name("calls.def")
WRAPPED = re.compile(r"MPIIO(?:_HAND|_LARGE)?\((\w+), (?:MPI_\w+, )?(\w+), (\([^()]*\))(?:, (.*))?\)")
SKIPPED = re.compile(r'SKIPS\("(.*?)",\s*(.*?)\)', re.DOTALL)


class Row(NamedTuple):
    """A call: its name, its class (empty: it is not wrapped), its parameters (or why not), what is recorded of it."""

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
    "Open": "the file, with the flags that the mode stands for",
    "Close": "counted, and what the file is then",
    "Fsync": "counted",
    "Read": "counted with the bytes that were read, less than asked for where the file ends",
    "Write": "counted with the bytes; by a rank that took part with none, as no writing of its own",
    "SubmitRead": "counted with the bytes asked for, which may be read later",
    "SubmitWrite": "counted with the bytes handed over, which may be written later",
}


def how(row: Row) -> tuple[str, str]:
    """Return what is recorded of a call, and how."""
    if not row.term:
        return "–", f"not wrapped: {row.columns}"
    if row.name.removesuffix("_c").endswith("_begin"):
        return "–", "not by itself: its other half is counted from here on"
    return row.term, HOW[row.term]


def document() -> str:
    """Return the page of the table: a line for calls that are recorded alike."""
    lines = [
        "# The calls of MPI-IO that are watched",
        "",
        "Made from `interceptors/mpiio/calls.def` by `make calls`. Each stands for the name with a P before it too, by",
        "which Fortran's bindings and profilers call it. What the library itself calls meanwhile (`pwrite` …) is a",
        "record of the C library's layer, of the rank that moves the bytes: with collective writing often another than",
        "the one whose data they are. A test holds every function of the installed libraries against this table.",
        "",
        "| calls | recorded as | how |",
        "|---|---|---|",
    ]
    alike: dict[tuple[str, str], list[str]] = {}
    for row in rows():
        alike.setdefault(how(row), []).append(row.name)
    lines += [f"| {' '.join(f'`{name}`' for name in names)} | {what} | {how} |" for (what, how), names in alike.items()]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.stdout.write(document())
