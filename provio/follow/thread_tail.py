"""Read a thread file while it grows: each committed line once, with its place in the file.

In: a thread file (`docs/trace-format.md`, "Valid at every instant"). Out: its records, in the form in which they were
written, short or not. A line that starts with `#` and has committed lines behind it may be committed later; it is
looked at again for a while.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from provio.system.statx import Record
from provio.trace.fast import line_shapes
from provio.trace.trust import LONGEST
from provio.trace.turtle_lines import Foreign, Lines

COUNT = slice(16, 32)  # the digits of the number of changes
PART = 1 << 20  # bytes that are read at once
WAITING = 64  # uncommitted lines that are looked at again
PATIENCE = 40  # times
# Records that lead to no event are not parsed.
WANTED = re.compile(
    rb"^ *@| :(?:opening|closing|closedNs|endedNs|ofOpening) "
    rb"| a :(?:Process|Thread|Task|Metric|Checkpoint|FileVersion|ChildEnd|Access) |:epochNs |:image "
)
START = re.compile(rb" :(?:startedNs|epochNs) ([0-9]{1,20}) ")
TIMES = ("closedNs", "endedNs", "openedNs", "startedNs")


class Row(NamedTuple):
    """A record of a line: its time (ns since 1970; at least that of the rows before it), the place of the line, the
    base in force, the epoch of its thread, the subject and its properties."""

    time: int
    place: int
    base: str
    epoch: int
    iri: str
    record: Record


class _AsWritten:
    """Passes records on in their short form."""

    def plain(self, iri: str, record: Record) -> Iterator[tuple[str, Record]]:
        yield iri, record

    def end(self) -> Iterator[tuple[str, Record]]:
        return iter(())


class _InOrder(dict[str, Record]):
    """Takes the records of one line, also several of one subject."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, Record]] = []

    def __contains__(self, _: object) -> bool:
        return False

    def __setitem__(self, iri: str, record: Record) -> None:
        self.rows.append((iri, record))


class ThreadTail:
    """A thread file, read up to `offset`. A file of another tool, which has no lines of its own, yields nothing."""

    def __init__(self, path: Path) -> None:
        self.path, self.offset, self.time = path, 0, 0
        self.foreign = False
        self._changes = b""
        self._lines = Lines(path)
        self._at = line_shapes.Place(_AsWritten())
        self._epochs: dict[str, int] = {}  # of the threads in it, by base
        self._waiting: dict[int, int] = {}  # uncommitted lines: how often each was looked at
        self._bases: dict[int, str] = {}  # the base of each

    def has_changed(self) -> bool:
        """Return whether something was recorded or closed since `rows` was called; raises OSError."""
        with _opened(self.path) as file:
            return bool(self._waiting) or _changes(file) != self._changes

    def start(self) -> int:
        """Return the time of its first record (ns since 1970); 0 if it has none."""
        with _opened(self.path) as file:
            found = START.search(os.pread(file.fileno(), 4096, 0))
        return int(found[1]) if found else 0

    def rows(self) -> Iterator[Row]:
        """Yield the records that were committed since the last call; raises OSError."""
        if self.foreign:
            return
        with _opened(self.path) as file, contextlib.suppress(Foreign):
            fd = file.fileno()
            self._changes = _changes(file)
            yield from self._late(fd)
            while data := os.pread(fd, PART, self.offset):
                written = len(data.rstrip(b"#\n"))
                end = data.find(b"\n", written) + 1 or data.rfind(b"\n", 0, written) + 1 if written else 0
                if written and not end and len(data) == PART:  # a long line
                    data = os.pread(fd, LONGEST + PART, self.offset)
                    end = data.find(b"\n") + 1
                    if not end:
                        break
                yield from self._read(data[:end])
                if len(data) < PART or not end:
                    return
        self.foreign = True

    def again(self, place: int) -> list[Record]:
        """Return the records of the line at a place as it is now: counters are replaced in their place."""
        with contextlib.suppress(OSError), _opened(self.path) as file:
            return [record for _, record in self._parsed(os.pread(file.fileno(), 4096, place).partition(b"\n")[0])]
        return []

    def _read(self, data: bytes) -> Iterator[Row]:
        """Yield the records of whole lines, up to the last committed one."""
        found: list[tuple[int, bytes]] = []
        place, last = self.offset, 0
        for line in data.split(b"\n")[:-1]:
            found.append((place, line))
            last = len(found) if line and line[:1] != b"#" else last
            place += len(line) + 1
        for at, line in found[:last]:
            self.offset = at + len(line) + 1
            self._at.number += 1
            if line[:1] != b"#":
                yield from self._rows(at, line)
            elif at and line.strip(b"#") and len(self._waiting) < WAITING:
                self._waiting[at], self._bases[at] = 0, self._at.base

    def _late(self, fd: int) -> Iterator[Row]:
        """Yield the records of lines that were committed after others behind them."""
        for place in list(self._waiting):
            self._waiting[place] += 1
            if os.pread(fd, 1, place) != b"#":
                line = os.pread(fd, PART, place).partition(b"\n")[0]
                base, self._at.base = self._at.base, self._bases[place]
                yield from self._rows(place, line)
                self._at.base = base
            elif self._waiting[place] < PATIENCE:
                continue
            del self._waiting[place], self._bases[place]

    def _rows(self, place: int, line: bytes) -> Iterator[Row]:
        for iri, record in self._parsed(line) if WANTED.search(line) else ():
            base = self._at.base
            if "epochNs" in record:
                self._epochs[iri] = int(record["epochNs"])
            epoch = self._epochs.get(base, 0)
            self.time = max(self.time, _time(record, epoch))
            yield Row(self.time, place, base, epoch, iri, record)

    def _parsed(self, line: bytes) -> list[tuple[str, Record]]:
        found = _InOrder()
        line_shapes.read_lines(line.decode("utf-8", "surrogateescape"), self._at, found, self._lines)
        return found.rows


def _time(record: Record, epoch: int) -> int:
    """Return the time of a record; 0 if it has none."""
    if "closing" in record:
        return epoch + int(record["closing"].partition(" ")[0])
    if "opening" in record:
        return int(record["opening"].split(" ", 2)[1])
    if "at" in record:
        return epoch + int(record["at"]) + int(record.get("elapsed", 0))
    return int(next((record[name] for name in TIMES if name in record), 0))


def _opened(path: Path) -> BinaryIO:
    return open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0)


def _changes(file: BinaryIO) -> bytes:
    """Return the number of changes of a thread file; of another file, the time of its last change."""
    digits = os.pread(file.fileno(), COUNT.stop, 0)[COUNT]
    return digits if digits.isdigit() else b"%d" % os.fstat(file.fileno()).st_mtime_ns
