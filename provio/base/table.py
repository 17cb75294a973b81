"""Lays out a table (header and cells) as aligned lines of text that fit the terminal's width."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import zip_longest

from provio.base.text import columns, cut_end, cut_path, folded, printable

_LEAST_COLUMN = 6


def filled(
    header: Sequence[str], cells: Sequence[Sequence[str]], always: Set[str]
) -> tuple[list[str], list[list[str]]]:
    """Return a header and cells without the empty columns, except those in `always`."""
    kept = [place for place, name in enumerate(header) if name in always or any(row[place] for row in cells)]
    return [header[place] for place in kept], [[row[place] for place in kept] for row in cells]


def align(
    header: Sequence[str],
    cells: Sequence[Sequence[str]],
    *,
    width: int | None = None,
    unicode: bool = True,
    right: Set[str] = frozenset(),
    fold: Set[str] = frozenset(),
) -> str:
    """Return a table with a header and a rule, as text that ends in a newline.

    If the table is wider than `width` columns, its widest cells are cut; columns in `fold` are wrapped instead.
    """
    shown = [[printable(cell, unicode) for cell in row] for row in (header, *cells)]
    widths = [max(columns(row[place]) for row in shown) for place in range(len(header))]
    while width is not None and sum(widths) + 2 * (len(widths) - 1) > width and max(widths) > _LEAST_COLUMN:
        widths[widths.index(max(widths))] -= 1
    rule = ["─" * each if unicode else "-" * each for each in widths]
    lines = []
    for row in (shown[0], rule, *shown[1:]):
        parts = [
            _fitted(cell, room, unicode, name in fold) for name, cell, room in zip(header, row, widths, strict=True)
        ]
        for line in zip_longest(*parts, fillvalue=""):
            padded = []
            for name, text, room in zip(header, line, widths, strict=True):
                blank = " " * (room - columns(text))
                padded.append(blank + text if name in right else text + blank)
            lines.append("  ".join(padded).rstrip())
    return "\n".join(lines) + "\n"


def _fitted(cell: str, room: int, unicode: bool, fold: bool) -> list[str]:
    """Return the lines of a cell."""
    if fold and columns(cell) > room:
        return folded(cell, room, unicode)
    is_path = cell.startswith("/") or ("/" in cell and not {" ", ":"} & {*cell})
    return [(cut_path if is_path else cut_end)(cell, room, unicode)]
