"""Values of runs as a table that fits a terminal: facts of each row and its values by name in, text out.

There is a column for each name. If that is too wide, there is a line for each name and a column for each row; if that
is too wide, too, the values of each row are in one cell of several lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from provio.base import table
from provio.base.text import columns

MOST = 200  # names in a table
LINES = 6  # of a cell with several values
SEPARATOR = "; "


def render(
    title: str,
    facts: Mapping[str, Sequence[str]],
    names: Sequence[str],
    values: Sequence[Mapping[str, str]],
    width: int | None,
    unicode: bool,
) -> tuple[str, int]:
    """Return a table and the number of names that it leaves out. `facts` are the first columns, of which the first
    names the row; `title` is the title of the names."""
    shown = names[:MOST]
    facts = {name: cells for name, cells in facts.items() if any(cells)}
    if len(values) > 1:
        whole = _wide(facts, shown, values, unicode)
        if width is None or _columns(whole) <= width:
            return whole, len(names) - len(shown)
        facts.pop("start", None)
        whole = _wide(facts, shown, values, unicode)
        if _columns(whole) <= width:
            return whole, len(names) - len(shown)
    turned = _transposed(title, facts, shown, values, width if len(values) == 1 else None, unicode)
    if width is None or len(values) == 1 or _columns(turned) <= width:
        return turned, len(names) - len(shown)
    folded, count = _folded(title, facts, shown, values, width, unicode)
    return folded, len(names) - count


def _columns(text: str) -> int:
    return max(map(columns, text.splitlines()))


def _wide(
    facts: Mapping[str, Sequence[str]], names: Sequence[str], values: Sequence[Mapping[str, str]], unicode: bool
) -> str:
    lines = [
        [*(cells[place] for cells in facts.values()), *(row.get(name, "") for name in names)]
        for place, row in enumerate(values)
    ]
    return table.align([*facts, *names], lines, unicode=unicode)


def _transposed(
    title: str, facts: Mapping[str, Sequence[str]], names: Sequence[str], values: Sequence[Mapping[str, str]],
    width: int | None, unicode: bool,
) -> str:  # fmt: skip
    (_, labels), *others = facts.items()
    lines = [[name, *cells] for name, cells in others]
    lines += [[name, *(row.get(name, "") for row in values)] for name in names]
    return table.align([title, *labels], lines, width=width, unicode=unicode)


def _folded(
    title: str, facts: Mapping[str, Sequence[str]], names: Sequence[str], values: Sequence[Mapping[str, str]],
    width: int, unicode: bool,
) -> tuple[str, int]:  # fmt: skip
    """Return the table, and the number of names of which all values are in it."""
    room = max(width - sum(max(map(columns, (name, *cells))) + 2 for name, cells in facts.items()), len(title), 20)
    most = room * LINES * 3 // 4  # lines break at spaces
    count = min(_fitting(names, row, most) for row in values)
    cells = [
        SEPARATOR.join(f"{name} = {row[name]}" for name in names[: max(count, 1)] if name in row) for row in values
    ]
    lines = [[*(each[place] for each in facts.values()), cell] for place, cell in enumerate(cells)]
    return table.align([*facts, title], lines, width=width, unicode=unicode, fold=frozenset({title})), max(count, 1)


def _fitting(names: Sequence[str], row: Mapping[str, str], most: int) -> int:
    used = 0
    for place, name in enumerate(names):
        used += columns(f"{name} = {row[name]}{SEPARATOR}") if name in row else 0
        if used > most:
            return place
    return len(names)
