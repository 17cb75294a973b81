"""The differences of two runs (`provio.compare.answer`) as text, JSON or a table."""

from __future__ import annotations

from collections.abc import Iterator

from provio.base.text import cut_end, plural, printable
from provio.compare.answer import Answer
from provio.compare.comparison import Row
from provio.compare.differences import CHOSEN
from provio.compare.divergence import Divergence
from provio.compare.expected import KINDS
from provio.render import records
from provio.render.json import dumped

MOST = 12  # rows of a kind, causes, names of files
LONGEST = 10_000  # characters of a line
# Runs with an expected difference of these kinds, other than names and tokens that differ in each run (`*`), are not
# called identical.
DECISIVE = frozenset({"code", "parameters", "inputs", "graph", "results"})


def rendered(found: Answer, form: str, first: bool, *, width: int | None, unicode: bool) -> str:
    """Return the differences, or the `first` divergences, in a form: text, json, csv or tsv. The text begins with the
    limits of the comparison, and is cut to `width` columns (None: not)."""
    if form == "json" and first:
        return dumped([divergence_object(one) for one in found.first])
    if form != "text":
        return records.render("diff", found.table(), form)
    lines = (_first if first else _lines)(found, unicode)
    return "".join(printable(cut_end(line, width or LONGEST), unicode) + "\n" for line in lines)


def divergence_object(one: Divergence) -> dict[str, object]:
    """Return a divergence with its keys: `activities` are pairs of IRIs, `input` is None for activities."""
    return {
        "activity": one.name if one.activities else None,
        "input": None if one.activities else one.name,
        "activities": [[side.iri for side in pair] for pair in one.activities],
        "results": one.results,
        "inputsNotCompared": one.unknown,
        "causes": [row._asdict() for row in one.causes],
        "reachedFiles": one.reached,
        "reachedActivities": list(dict.fromkeys(activity.label for activity in one.reached_activities)),
    }


def _lines(found: Answer, unicode: bool) -> Iterator[str]:
    arrow = "→" if unicode else "->"
    yield from (f"! {note}" for note in found.notes)
    kinds: dict[str, list[Row]] = {}
    for row in found.unexpected:
        kinds.setdefault(row.kind, []).append(row)
    for kind, rows in kinds.items():
        yield kind
        for row in rows[:MOST]:
            yield from _row(found, row, arrow, "  ")
        if len(rows) > MOST:
            yield f"  and {plural(len(rows) - MOST, 'other')}: --as json lists them"
    hidden = len(found.rows) - len(found.unexpected)
    yield verdict(found) + (f"; {plural(hidden, 'expected difference')} (--as json)" if hidden else "")


def verdict(found: Answer) -> str:
    """Return the result in a few words."""
    if found.unexpected:
        return plural(len(found.unexpected), "unexpected difference")
    if len(found.kinds) < len(KINDS):
        return f"no unexpected difference of {', '.join(found.kinds)}"
    decisive = any(row.kind in DECISIVE and row.reason != CHOSEN and "*" not in row.key for row in found.rows)
    return "no unexpected difference found" if found.notes or decisive else "identical"


def _row(found: Answer, row: Row, arrow: str, indent: str, kind: str = "") -> Iterator[str]:
    """Yield a difference: its name, the values on both sides, a remark; of a script the text difference."""
    lines = found.text(row)
    name = str(row.key) if row.configuration in ("file", "") else f"{row.configuration}  {row.key}"
    shown = ["none" if value is None else str(value) for value in (row.first, row.second)]
    text = f"{shown[0]} {arrow} {shown[1]}" if shown[0] != shown[1] and not lines else ""
    yield "  ".join(filter(None, (indent + kind + name, text, row.reason)))
    yield from (f"{indent}  {line}" for line in lines)


def _first(found: Answer, unicode: bool) -> Iterator[str]:
    arrow = "→" if unicode else "->"
    yield from (f"! {note}" for note in found.notes)
    if not found.first:
        all_known = "no divergence: no result of activities with equal inputs differs"
        yield "no divergence found" if found.comparison.unknown else all_known
    for number, one in enumerate(found.first[:MOST]):
        title = "first divergence" if not number else "also independent of it"
        if one.activities:
            command = " ".join(one.activities[0][0].words)
            many = f" ({plural(len(one.activities), 'activity', 'activities')})" if one.activities[1:] else ""
            yield f"{title}: {one.name}{many}" + (f"  $ {command}" if command else "")
            unknown = f", except {_some(one.unknown)}, whose content is not known" if one.unknown else ""
            yield f"  its inputs are equal{unknown}"
            yield f"  its results differ: {_some(one.results)}"
        else:
            yield f"{title}: the input {one.name}"
        for row in one.causes[:MOST]:
            yield from _row(found, row, arrow, "  ", f"{row.kind}: ")
        if one.causes[MOST:]:
            yield f"  and {plural(len(one.causes) - MOST, 'other cause')}: --as json lists them"
        if one.activities and not one.causes:
            code = sorted({name for mine, yours in one.activities for name in mine.code.keys() & yours.code.keys()
                           if found.comparison.equal(mine.code[name], yours.code[name]) is None})  # fmt: skip
            rest = f"; not compared, without a SHA-256: {_some(code)}" if code else ""
            yield f"  nothing recorded differs there: code, arguments, settings, environment{rest}"
        if one.reached:
            yield f"  it reached {plural(len(one.reached), 'file')}: {_some(one.reached)}"
    if found.first[MOST:]:
        yield f"and {plural(len(found.first) - MOST, 'other divergence')}: --as json lists them"


def _some(names: list[str]) -> str:
    return ", ".join(names[:MOST]) + (f" and {len(names) - MOST:,} others" if len(names) > MOST else "")
