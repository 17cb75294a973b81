"""What would have to be made again, as a table or JSON: a `provio.impact.Impact` goes in, a string comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from provio.document import local_name
from provio.reports.document_json import dumped
from provio.reports.records import render as render_records
from provio.reports.rows import align
from provio.reports.text import printable, shorter_path

if TYPE_CHECKING:
    from provio.impact import Impact

COLUMNS = ("step", "product", "command", "in", "run")
SHORT = 13  # characters of a run's id, on a terminal
REASONS = {"gone": "is gone", "overwritten": "was overwritten since"}


def render(impact: Impact, *, width: int | None = 80, unicode: bool = True, folder: str | None = None) -> str:
    """Return a row for each product, in an order in which they can be made, and what is left out and why; the folder
    that each is made in where that is not `folder` for all."""
    rows = []
    for place, step in enumerate(impact["steps"], start=1):
        product = shorter_path(step["path"], folder) + ("" if step["state"] == "there" else f" ({step['state']})")
        where = shorter_path(step.get("cwd", ""), folder)
        run = local_name(step.get("run", ""))[: None if width is None else SHORT]
        rows.append((str(place), product, step["command"], where, run))
    notes = [f"left out: {shorter_path(one['path'], folder)} {REASONS[one['reason']]}" for one in impact["leftOut"]]
    if not rows:
        notes.insert(0, "nothing that is there was made from it")
    here = all(step.get("cwd", folder) == folder for step in impact["steps"])
    kept = [place for place, name in enumerate(COLUMNS) if name != "in" or not here]
    names, cells = [COLUMNS[place] for place in kept], [[row[place] for place in kept] for row in rows]
    table = align(names, cells, width=width, unicode=unicode, right={"step"}) if rows else ""
    return table + "".join(printable(note, unicode) + "\n" for note in notes)


def for_programs(impact: Impact, form: str) -> str:
    """Return the steps by the columns of the table `impact`, as CSV or TSV."""
    steps = enumerate(impact["steps"], start=1)
    rows = (
        (place, step["path"], step["state"], step["command"], step.get("cwd"), local_name(step.get("run", "")) or None)
        for place, step in steps
    )
    return render_records("impact", rows, form)


def as_json(impact: Impact) -> str:
    """Return all of it as JSON."""
    return dumped({**impact})
