"""Updates docs/cost.md: adds new measurements to the earlier ones on the page.

A row is identified by its table and its first cell, a line of text by the part before its colon; both are replaced as a
whole. A line with the machine of a day stays while a row has that day.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from case import LEVELS, Case
from measure import Spread
from variants import PASS

TABLES = ("cost of one call", "wall time, ", "content of the trace", "cost of queries")  # in this order
INSTRUCTIONS = "instructions, "
BELONGS = "its processor time"  # to the row before it
DAY = re.compile(r"\d{4}-\d\d-\d\d")
USUAL, LITTLE = 4, 1.03  # the column of detail `op`; a ratio below which a command takes hardly longer
SHARE = "Of the commands below, recorded at `op`"
NUMBER = r"[+-]?[\d.]+"
COST = re.compile(rf"({NUMBER})(?: \(({NUMBER}) to ({NUMBER})\))?")


def together(old: str, new: str) -> str:
    """Return the text between the marks of the page, with new measurements in place of earlier ones."""
    blocks = {_key(block): block for block in _blocks(old)}
    for block in _blocks(new):
        key = _key(block)
        blocks[key] = _joined(blocks[key], block) if block.startswith("|") and key in blocks else block
    dated = "\n".join(block for block in blocks.values() if not DAY.match(block))
    left = [block for block in blocks.values() if not DAY.match(block) or block[:10] in dated]
    return "\n\n".join(sorted(left, key=_rank)) + "\n"


def costs(page: str, cases: Sequence[Case]) -> Iterator[Drawn]:
    """Yield the costs in the rows of a page, in the order of the cases."""
    rows = {entry[0].split(" | ")[0].removeprefix("| "): entry[0] for table in _tables(page) for entry in table}
    for case in cases:
        if case.title in rows:
            cells = rows[case.title].split(" | ")[2:]
            found = [COST.match(cell) for cell in cells[: 1 + len(LEVELS)]]
            spreads = {name: _spread(one) for name, one in zip((PASS, *LEVELS), found, strict=True) if one}
            yield Drawn(case, spreads)


def with_share(page: str) -> str:
    """Return the page with a line on the number of commands that recording hardly slows down."""
    table = next((block for block in _blocks(page) if block.removeprefix("| ").startswith(TABLES[1])), "")
    rows = [entry[0].split(" | ") for entry in _entries(table)]
    found = [(COST.match(row[USUAL]), row[0].removeprefix("| ")) for row in rows if len(row) > USUAL]
    times = [(float(cost[1]), title) for cost, title in found if cost]
    if not times:
        return page
    few = sum(cost < LITTLE for cost, _ in times)
    most, title = max(times)
    share = f"{few} of {len(times)} take less than 3 % longer by the clock; the longest {most:.2f} times ({title})."
    return together(page, f"{SHARE}: {share}")


@dataclass(frozen=True)
class Drawn:
    """A case and the costs of its variants on a page."""

    case: Case
    costs: Mapping[str, Spread]

    def cost(self, variant: str) -> Spread:
        """Return the cost of a variant."""
        return self.costs[variant]


def _spread(found: re.Match[str]) -> Spread:
    middle = float(found[1])
    return Spread(middle, float(found[2] or middle), float(found[3] or middle))


def _blocks(text: str) -> list[str]:
    return [block.strip("\n") for block in re.split(r"\n{2,}", text) if block.strip()]


def _key(block: str) -> str:
    """Return the first head of a table, the whole line of a machine, or the part of another line before its colon."""
    first = block.split("\n", 1)[0]
    if block.startswith("|"):
        return first.split(" | ")[0]
    return block if DAY.match(block) else first.split(":")[0]


def _rank(block: str) -> int:
    """Return the position of a block: machines, text, tables, figures for each run, instructions."""
    if DAY.match(block):
        return 0
    if not block.startswith("|"):
        return 50 if block.startswith("`") else 1
    head = block.removeprefix("| ")
    return 100 if head.startswith(INSTRUCTIONS) else next(
        (10 + place for place, name in enumerate(TABLES) if head.startswith(name)), 40
    )  # fmt: skip


def _entries(table: str) -> list[list[str]]:
    """Return the rows of a table, each with its subordinate rows."""
    found: list[list[str]] = []
    for row in table.split("\n")[2:]:
        if found and row.startswith(f"| {BELONGS}"):
            found[-1].append(row)
        else:
            found.append([row])
    return found


def _tables(page: str) -> list[list[list[str]]]:
    costs = [block for block in _blocks(page) if block.removeprefix("| ").startswith(TABLES[:2])]
    return [_entries(block) for block in costs]


def _joined(old: str, new: str) -> str:
    """Return a table with the rows of both; new ones replace old ones."""
    rows = {entry[0].split(" | ")[0]: entry for entry in _entries(old)}
    rows |= {entry[0].split(" | ")[0]: entry for entry in _entries(new)}
    head = new.split("\n")[:2]
    return "\n".join([*head, *(line for entry in rows.values() for line in entry)])
