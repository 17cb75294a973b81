"""The impact of a change (`provio.ask.impact.Impact`) as a table, JSON, CSV or TSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from provio.ask import fold as folding
from provio.ask.content import CHANGED, MISSING, UNKNOWN
from provio.ask.document import EDITED, later_tasks, local_name, named_reason
from provio.base.table import align
from provio.base.text import plural, printable, shorter_path
from provio.render import redo as commands
from provio.render.json import dumped
from provio.render.records import render as render_records

if TYPE_CHECKING:
    from provio.ask.impact import Impact, Step

COLUMNS = ("step", "product", "command", "in", "run")
SHORT = 13  # characters of a run's id, on a terminal
MOST = 3  # gaps that are printed
NOTHING = "nothing that is there was made from it"
NOTHING_RECORDED = "nothing that is there is recorded as made from it, but not everything was recorded"
KEPT = "lineage --forward --via carried"
STATES = {CHANGED: "has another content now", UNKNOWN: "may have another content now", MISSING: "is missing"}
REASONS = {"gone": ("is gone", "are gone"), "overwritten": ("was overwritten since", "were overwritten since")}


def render(
    impact: Impact, *, width: int | None = 80, unicode: bool = True, folder: str | None = None, fold: bool = False
) -> str:
    """Return the commands to repeat, in an executable order, each with its products; and the omitted products."""
    redo = list(commands.lines(impact["runs"], width=width, unicode=unicode, folder=folder, fold=fold))
    return "".join(line + "\n" for line in [*redo, *_notes(impact, folder, fold, unicode)])


def processes(
    impact: Impact, *, width: int | None = 80, unicode: bool = True, folder: str | None = None, fold: bool = False
) -> str:
    """Return a row for each product, in an executable order, and the omitted products with reasons.

    The column with the working folder is omitted if it is `folder` for all products. `fold` combines many files of a
    folder on one line, if one process made them one after the other.
    """
    rows, place = [], 1
    for steps in _groups(impact["steps"], fold):
        step, path = steps[0], _name([step["path"] for step in steps], folder)
        product = path + ("" if step["state"] == "there" else f" ({step['state']})")
        where = shorter_path(step.get("cwd", ""), folder)
        run = local_name(step.get("run", ""))[: None if width is None else SHORT]
        rows.append((str(place), product, step["command"], where, run))
        place += len(steps)
    here = all(step.get("cwd", folder) == folder for step in impact["steps"])
    kept = [place for place, name in enumerate(COLUMNS) if name != "in" or not here]
    names, cells = [COLUMNS[place] for place in kept], [[row[place] for place in kept] for row in rows]
    table = align(names, cells, width=width, unicode=unicode, right={"step"}) if rows else ""
    return table + "".join(note + "\n" for note in _notes(impact, folder, fold, unicode))


def _notes(impact: Impact, folder: str | None, fold: bool, unicode: bool) -> list[str]:
    """Return the omitted products, and the gaps, because of which there may be more."""
    left_out = folding.fold(impact["leftOut"], lambda one: (one["reason"], _folder(one["path"])) if fold else None)
    notes = [
        f"left out: {_name([one['path'] for one in group], folder)} {REASONS[group[0]['reason']][len(group) > 1]}"
        for group in left_out
    ]
    if not impact["steps"]:
        notes.insert(0, NOTHING_RECORDED if impact["gaps"] or "kept" in impact else NOTHING)
    notes += [f"! {later_tasks(impact['kept'])} ({KEPT})"] if "kept" in impact else []
    reasons = [*_other_inputs(impact, folder), *dict.fromkeys(_gaps(impact, folder))]
    notes += [f"! {reason}" for reason in reasons[:MOST]]
    notes += [f"! {plural(len(reasons) - MOST, 'other gap')} (--as json)"] if len(reasons) > MOST else []
    return [printable(note, unicode) for note in notes]


def _other_inputs(impact: Impact, folder: str | None) -> Iterator[str]:
    """Yield a line for each input that has changed since the steps read it."""
    for one in impact["otherInputs"]:
        first, others = shorter_path(one["products"][0], folder), len(one["products"]) - 1
        products = first + (f" and {others} other{'s' * (others > 1)}" if others else "")
        verb = "was" if not others else "were"
        state = STATES[one["state"]]
        yield f"{shorter_path(one['path'], folder)} {state}: {products} {verb} made from another version of it"


def _gaps(impact: Impact, folder: str | None) -> Iterator[str]:
    """Yield the reasons of gaps; of files that the user edited only those that are not of the query, with names."""
    named = (*impact["steps"], *impact["leftOut"])
    names = {one["product"]: shorter_path(one["path"], folder) for one in named}
    names |= {gap["about"]: shorter_path(gap["path"], folder) for gap in impact["gaps"] if "path" in gap}
    for gap in impact["gaps"]:
        if not gap["reason"].startswith(EDITED) or not impact["steps"] or gap["about"] not in impact["targets"]:
            yield named_reason(names.get(gap["about"], ""), gap["reason"])


def _groups(steps: list[Step], fold: bool) -> Iterator[Sequence[Step]]:
    """Yield the steps in their order, grouped by line."""
    for _, same in groupby(steps, lambda step: (step.get("process"), step["state"], _folder(step["path"]))):
        yield from folding.fold(same, lambda _: "" if fold else None)


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _name(paths: list[str], folder: str | None) -> str:
    """Return the name of one file, or the folder and the number of several files."""
    if len(paths) == 1:
        return shorter_path(paths[0], folder)
    return f"{folding.folder_name(paths[0], folder)}  {folding.count(len(paths))}"


def for_programs(impact: Impact, form: str) -> str:
    """Return the steps by the columns of the table `impact`, as CSV or TSV."""
    steps = enumerate(impact["steps"], start=1)
    rows = (
        (place, step["path"], step["state"], step["command"], step.get("cwd"), local_name(step.get("run", "")) or None)
        for place, step in steps
    )
    return render_records("impact", rows, form)


def as_json(impact: Impact) -> str:
    """Return the complete answer as JSON."""
    return dumped({**impact})
