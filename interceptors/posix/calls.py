"""Reads the table of calls: `calls.def` in, rows out. As a program, prints `docs/calls.md`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

Described = tuple[str, str, tuple[str, str]]
TABLE = Path(__file__).with_name("calls.def")
SINGLE = re.compile(r"(CALL|CHARACTER|VARIADIC|FRESH|HAND|SKIP)\((\w+), *(.*)\)", re.DOTALL)
SEVERAL = re.compile(r'SKIPS\((".*?"),\s*(.*)\)', re.DOTALL)


class Row(NamedTuple):
    """A row: its kind, the function's name, the text of the other columns, its section."""

    kind: str
    name: str
    columns: str
    section: str

    @property
    def term(self) -> str:
        """The class of a recorded call; an empty string if the row has none."""
        found = re.search(r"\), (?:\w+, )?([A-Z][A-Za-z]+), \w+\(", self.columns)
        return found[1] if found and self.kind in ("CALL", "CHARACTER", "VARIADIC") else ""

    @property
    def subject(self) -> str:
        """The macro of the call's subject; an empty string if the row has none."""
        found = re.search(r"\), (?:\w+, )?[A-Z][A-Za-z]+, (\w+)\(", self.columns)
        return found[1] if found and self.term else ""


def statements(table: Path) -> Iterator[tuple[str, str]]:
    """Yield the section and the text of each row of a table."""
    section, pending = "", ""
    for line in table.read_text(encoding="utf-8").splitlines():
        if line.startswith("//") or not line:
            section = line.removeprefix("//").strip() if line else section
            continue
        pending = f"{pending}\n{line}" if pending else line
        if pending.endswith(")"):
            yield section, pending
            pending = ""


def rows() -> Iterator[Row]:
    """Read the table. Raises ValueError for a malformed row."""
    for section, text in statements(TABLE):
        single, several = SINGLE.fullmatch(text), SEVERAL.fullmatch(text)
        if single:
            yield Row(single[1], single[2], single[3], section)
        elif several:
            yield from (Row("SKIP", name, several[1], section) for name in re.split(r",\s*", several[2]))
        else:
            raise ValueError(f"no row: {text}")


# How calls are recorded, by the kind and class of their row; `docs/trace-format.md` describes the records.
HOW = {
    "Open": "an opening for each call",
    "Seek": "not by itself: it decides which calls are consecutive",
    "Stat": "an event for each call, with `--record stat`",
    "GetAttribute": "an event for each call that names an attribute `user.…`; any other with `--record stat`",
    "List": "an event, or a count on the opening, with `--record list`",
    **dict.fromkeys(("Read", "Write", "Fsync", "Flush", "Allocate"), "counted and timed on the opening"),
    **dict.fromkeys(
        ("Rename", "Link", "Delete", "Create", "Truncate", "SetTimes", "SetMode", "SetOwner", "SetAttribute"),
        "an event for each call",
    ),
}
FROM_A_BUFFER = "counted on the opening; timed at a refill and every 64th call"
BUFFERED = {"STREAM", "BLOCK", "WIDE"}
BY_HAND = {
    "Opening by name": "closes one opening and makes another",
    "Descriptors": "the opening of each descriptor, and the facts of a file at its last close",
    "Restrictions that keep the shim from its files": "only a Gap, if records will be missing from then on",
    "Messages of the C library": "not at all; with `record.output`, their text is kept",
    "Ways of data that are not followed": "only a Gap, once for each way in each process",
    "Functions of libaio and liburing": "only a Gap, once in each process",
    "Asynchronous": "the submission counted (SubmitRead, SubmitWrite, Fsync); at aio_return a Read or Write",
    "Repositions": "not by itself: it decides which calls are consecutive",
    "Flushing and changing": "a Copy from one opening to another, a Read or a Write; a Map and its Unmap; a Fsync",
    "Names": "the working directory, for relative names",
    "Listing": "an opening or an event, with `--record list`; and changes of the working directory",
    "Jumps": "nothing: the use of the shim that a signal handler interrupted and jumps out of is ended",
    "Loading code": "only a Gap, if the code bypasses preloaded libraries; unloaded callers of HDF5 are forgotten",
    "Processes": "a Fork, Spawn, Exec, ExecFailed or ChildEnd, or a Gap if a program cannot be recorded",
}


def title(section: str) -> str:
    """The first words of a section's comment."""
    return re.split(r"[.,:]", section)[0]


def record(row: Row) -> tuple[str, str]:
    """Return the record of a row's calls: its class, and how it is made."""
    if row.kind == "SKIP":
        return "–", "not wrapped: " + row.columns.strip('"')
    if row.kind == "FRESH":
        return "–", "the new descriptor is looked up at its first use"
    if row.kind == "HAND":
        return "by hand", BY_HAND[title(row.section)]
    buffered = row.kind == "CHARACTER" or (row.kind == "CALL" and row.subject in BUFFERED)
    return row.term, FROM_A_BUFFER if buffered and row.term in ("Read", "Write") else HOW[row.term]


def sections(rows: Iterable[Described], title: Callable[[str], str] = str) -> Iterator[str]:
    """Yield the lines of a page: a section for each comment of the table, a line for calls that are recorded alike.

    In: section, name and record of each row."""
    for section, members in groupby(rows, key=lambda row: row[0]):
        yield from ("", f"## {title(section)}", "", "| calls | recorded as | how |", "|---|---|---|")
        alike: dict[tuple[str, str], list[str]] = {}
        for _, name, recorded in members:
            alike.setdefault(recorded, []).append(name)
        for (term, how), names in alike.items():
            yield f"| {' '.join(f'`{name}`' for name in names)} | {term} | {how} |"


def document() -> str:
    """Return the page of the table."""
    lines = [
        "# The recorded calls of the C library",
        "",
        "Generated from `interceptors/posix/calls.def` by `make calls`. Each name is a function of the C library;",
        "calls inside the library belong to the function that the program called. The classes are those of",
        "[the graph](graph.md); [the trace format](trace-format.md) describes the records. A test compares the",
        "functions that the C library exports with this table.",
    ]
    lines += sections(((row.section, row.name, record(row)) for row in rows()), title)
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.stdout.write(document())
