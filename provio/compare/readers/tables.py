"""Two tables as text (CSV, TSV): the columns by the names in the first line, row by row.

A first line in which a cell is a number is no header: the columns are then `column 1`, `column 2`, and so on.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain, zip_longest

from provio.compare.parts import Parts
from provio.compare.readers.texts import NUMBER, lines, value
from provio.compare.values import Measure

Row = list[str]
COLUMN = "column"


def compare(first: str, second: str, found: Parts) -> None:
    """Add the columns of both tables."""
    rows = [_rows(path) for path in (first, second)]
    starts = [next(own, []) for own in rows]
    headers = [_is_header(start) for start in starts]
    if headers[0] != headers[1]:
        found.part("").differs("only one file has a header")
        return
    names = [_names(start, headers[0]) for start in starts]
    places = [{name: at for at, name in enumerate(own)} for own in names]
    if not headers[0]:
        rows = [chain([start], own) for start, own in zip(starts, rows, strict=True)]
    both = [(places[0][name], places[1][name], found.part(name))
            for name in found.common(*(dict.fromkeys(own, "column") for own in names))]  # fmt: skip
    counts = [0, 0]
    for number, (old, new) in enumerate(zip_longest(*rows), 1):
        for side, row in enumerate((old, new)):
            counts[side] += row is not None
        if old is not None and new is not None:
            where = f"row {number}"
            for left, right, part in both:
                _add(old[left] if left < len(old) else "", new[right] if right < len(new) else "", part, where)
            if max(len(old) - len(names[0]), len(new) - len(names[1]), 0) and old != new:
                found.part("").differs("cells beyond the header", where)
    if counts[0] != counts[1]:
        found.part("").describe(*(f"{count:,} rows" for count in counts))
        found.part("").differs("another number of rows")


def _rows(path: str) -> Iterator[Row]:
    """Yield the rows that are not empty."""
    with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        start = file.readline(1 << 16)
        file.seek(0)
        separator = max("\t;,", key=start.count) if any(one in start for one in "\t;,") else ","
        yield from filter(None, csv.reader(lines(file), delimiter=separator))


def _is_header(row: Row) -> bool:
    return bool(row) and not any(NUMBER.fullmatch(cell.strip()) for cell in row)


def _names(start: Row, header: bool) -> list[str]:
    """Return a name for each column; a second column of the same name gets its number."""
    found: list[str] = []
    for number, cell in enumerate(start, 1):
        name = cell.strip() if header else ""
        found.append(name if name and name not in found else f"{name} {COLUMN} {number}".strip())
    return found


def _add(old: str, new: str, part: Measure, where: str) -> None:
    left, right = old.strip(), new.strip()
    if NUMBER.fullmatch(left) and NUMBER.fullmatch(right):
        part.add(value(left), value(right), where)
    elif left != right:
        part.differs("another text", where)
