"""The answer of `provio find` (`provio.ask.find.Answer`) as text, JSON, CSV or TSV."""

from __future__ import annotations

from provio.ask.find import Answer, Found, shares
from provio.base.text import columns, cut_end, cut_path, moment, plural, printable, shorter_path, size
from provio.render import records

MOST = 20  # rows of the text: with a heading for each kind and the closing lines, less than 25 lines
SHORT = 13  # characters of a run's id
LEAST = 24  # columns of a name that stay
WORDS = ("name", "campaign", "id", "command")  # reasons that the line of a run itself shows
TITLES = {"file": "files", "run": "runs", "program": "programs", "task": "tasks"}


def render(
    answer: Answer, limit: int, *, width: int | None = None, unicode: bool = True, folder: str | None = None
) -> str:
    """Return at most `limit` matches as lines of text of at most `width` columns, in groups by kind."""
    lines = []
    for group in shares(answer.found, limit):
        if group:
            lines.append(TITLES[group[0].kind])
            lines += [f"  {line}" for line in _lines(group, (width or 1_000_000) - 2, unicode, folder)]
    left = {kind: sum(one.kind == kind for one in answer.found) for kind in TITLES}
    for group in shares(answer.found, limit):
        for one in group:
            left[one.kind] -= 1
    more = [plural(count, kind) for kind, count in left.items() if count]
    if more:
        lines.append(f"{', '.join(more)} more: --limit {len(answer.found)} shows all")
    closing = (printable(note, unicode) for note in answer.notes)
    return "".join(line + "\n" for line in (*lines, *closing))


def _lines(group: list[Found], room: int, unicode: bool, folder: str | None) -> list[str]:
    """Return the lines of one kind: the name, facts in columns, the rest. A name is cut if its line is too long, to no
    less than `LEAST` columns."""
    rows = [[printable(cell, unicode) for cell in _cells(one, folder)] for one in group]
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    least = min(widths[0], LEAST)
    widths[0] = max(least, min(widths[0], room - sum(widths[1:]) - 2 * (len(widths) - 1)))
    lines = []
    for first, *rest in rows:
        cells = [cut_path(first, widths[0], unicode), *rest]
        line = "  ".join(cell + " " * (width - columns(cell)) for cell, width in zip(cells, widths, strict=True))
        lines.append(cut_end(line.rstrip(), room, unicode))
    return lines


def _cells(one: Found, folder: str | None) -> list[str]:
    """Return the cells of a match: those of a run start with its id, others with their name."""
    run, time = one.run[:SHORT], moment(one.time)[:16] if one.time else ""
    if one.kind == "run":
        reason = f"({one.how})" if one.how and one.how not in WORDS else ""
        return [run, time, "  ".join(part for part in (reason, one.label) if part)]
    facts = size(one.size) if one.size is not None else ""
    rest = ["" if one.how == "name" else one.how, f"{one.label} by {run}" if one.label and run else run]
    return [shorter_path(one.name, folder), facts, time, ", ".join(part for part in rest if part)]


def rows(answer: Answer, limit: int | None, form: str) -> str:
    """Return the matches, all or at most `limit`, by the columns of the table `find`."""
    found = answer.found if limit is None else [one for group in shares(answer.found, limit) for one in group]
    return records.render("find", (cells(one) for one in found), form)


def cells(one: Found) -> list[str | int | None]:
    """Return a match by the columns of the table `find`."""
    return [one.kind, one.name, one.time or None, one.size, one.run or None, one.how, one.iri]
