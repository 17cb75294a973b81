"""Two runs and their differences as one HTML page that a browser shows without network access.

The lineage component draws the graph of both runs; the time line and the box plots are elements of the template; a
small script filters the table. All text is data: it is JSON without `<`, or escaped by the template. A content security
policy forbids all requests, and `check_offline` verifies that there are none.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader

from provio.base.text import cut_end, duration, moment, plural, printable
from provio.compare.answer import Answer
from provio.compare.comparison import Row
from provio.compare.divergence import Divergence
from provio.compare.expected import KINDS
from provio.compare.side import Side
from provio.render.diff import verdict
from provio.render.page import compact, comparison_boxes, comparison_times, lineage
from provio.render.page.comparison_graph import Both

TEMPLATES: Final = Path(__file__).parent / "templates"
ROWS, NAMES, PLACES = 300, 12, 10  # at most: rows of a kind, names, places where the runs differ first
LONGEST, NODES = 4_000, 60  # characters of a text; nodes that are drawn without folds


def render(found: Answer) -> str:
    """Return the page, to be written in UTF-8."""
    both = Both(found)
    document = compact.carried(both.document())
    plain = len(document["nodes"]) <= lineage.FEW
    boxes, kinds_left = comparison_boxes.rows([comparison_times.bars(side) for side in found.comparison.sides])
    names = [_name(side) for side in found.comparison.sides]
    words = {
        "title": f"{names[0]} and {names[1]}",
        "runs": [_run(side, name) for side, name in zip(found.comparison.sides, names, strict=True)],
        "notes": [printable(note) for note in found.notes],
        "verdict": verdict(found),
        "differs": bool(found.unexpected),
        "kinds": _kinds(found),
        "first": [_place(one, both) for one in found.first[:PLACES]],
        "more_first": len(found.first) - PLACES,
        "graph": {
            "head": {key: value for key, value in document.items() if key not in ("nodes", "edges")},
            "nodes": document["nodes"] if plain else [],
            "edges": document["edges"] if plain else [],
            "packed": "" if plain else compact.packed(document),
            "options": {"level": "file", "most": NODES, "title": f"{names[0]} and {names[1]}", "tabs": False},
            "folds": len(document["nodes"]) > NODES,
            "count": plural(len(document["nodes"]), "node"),
            "omitted": both.omitted(),
        },
        "picture": comparison_times.picture(found, both.marks),
        "boxes": boxes,
        "kinds_left": kinds_left,
        "rows": [_row(row) for kind in KINDS for row in _of(found, kind)[:ROWS]],
        "rest": [(kind, rest) for kind in KINDS if (rest := len(_of(found, kind)) - ROWS) > 0],
        "script": lineage.script(),
        "style": lineage.style(),
    }  # fmt: skip
    environment = Environment(loader=FileSystemLoader(TEMPLATES, encoding="utf-8"), autoescape=True)
    environment.filters["data"] = lineage.data
    page = environment.get_template("comparison.html").render(page=words)
    lineage.check_offline(page)
    return page


def _of(found: Answer, kind: str) -> list[Row]:
    """Return the differences of a kind, the unexpected ones first."""
    return sorted((row for row in found.rows if row.kind == kind), key=lambda row: row.expected)


def _name(side: Side) -> str:
    return printable(side.facts.facts.get("name", "") or side.run)


def _run(side: Side, name: str) -> dict[str, Any]:
    facts = side.facts.facts
    end = f"exit {facts['exitCode']}" if "exitCode" in facts else f"signal {facts.get('signal', '')}".strip()
    known = "exitCode" in facts or "signal" in facts
    return {
        "name": name,
        "command": cut_end(printable(side.facts.command), LONGEST),
        "facts": [
            ("id", side.run),
            ("started", moment(facts["startedAtTime"]) if "startedAtTime" in facts else "not known"),
            ("took", duration(facts.get("startedAtTime", ""), facts.get("endedAtTime", "")) or "goes on, or not known"),
            ("ended", end if known else "not known"),
            ("host", printable(facts.get("host", ""))),
            ("folder", printable(side.facts.folder)),
            ("activities", f"{len(side.activities):,}"),
        ],
    }  # fmt: skip


def _kinds(found: Answer) -> list[tuple[str, int, int]]:
    """Return the kinds with differences: how many are unexpected, and how many expected."""
    counts = Counter((row.kind, row.expected) for row in found.rows)
    numbers = [(kind, counts[kind, False], counts[kind, True]) for kind in KINDS]
    return [one for one in numbers if one[1] or one[2]]


def _place(one: Divergence, both: Both) -> dict[str, Any]:
    """Return a divergence for the template."""
    marked = [iri for iri, mark in both.marks.items() if mark == "differs"]
    if one.activities:
        iri = one.activities[0][0].iri
        commands = [cut_end(printable(" ".join(each.typed)), LONGEST) for each in one.activities[0]]
    else:
        sources = [side.sources.get(one.name) for side in both.sides]
        iri, commands = sources[0] or both.node(sources[1] or ""), []
    return {
        "iri": iri if iri in marked else "",
        "name": printable(one.name),
        "is_activity": bool(one.activities),
        "commands": list(dict.fromkeys(filter(None, commands))),
        "results": [printable(name) for name in one.results],
        "causes": [_row(row) for row in one.causes],
        "reached": [printable(name) for name in one.reached[:NAMES]],
        "more": [printable(name) for name in one.reached[NAMES:ROWS]],
        "files": plural(len(one.reached), "file"),
        "rest": max(len(one.reached) - ROWS, 0),
        "activities": plural(len(one.reached_activities), "activity", "activities"),
    }


def _row(row: Row) -> dict[str, Any]:
    shown = _text if row.kind == "code" else printable
    return {
        "kind": row.kind, "where": printable(row.configuration), "key": printable(row.key), "expected": row.expected,
        "sides": [None if value is None else shown(str(value)[:LONGEST]) for value in (row.first, row.second)],
        "reason": _text(row.reason),
    }  # fmt: skip


def _text(text: str) -> str:
    """Return a text of several lines, which a browser shows literally; its end is cut if it is very long."""
    short = text if len(text) <= LONGEST else text[:LONGEST] + " …"
    return "\n".join(map(printable, short.split("\n")))
