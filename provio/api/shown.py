"""Answers as a notebook shows them: rows or a lineage document in, HTML without an address out.

Names may hold anything: all of it is escaped, and what would act is written out. A lineage has a script, in a frame.
"""

from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING

from provio.reports import tree
from provio.reports.text import printable

if TYPE_CHECKING:
    from provio.api.rows import Rows
    from provio.document import LineageDocument

MOST = 60  # rows
LONGEST = 400  # characters of a value


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    text = text if len(text) <= LONGEST else text[:LONGEST] + " …"
    align = ' style="text-align:right"' if isinstance(value, int | float) and not isinstance(value, bool) else ""
    return f"<td{align}>{escape(printable(text))}</td>"


def table(rows: Rows) -> str:
    """Return rows as a table; of many, the first ones and how many more there are."""
    head = "".join(f"<th>{escape(printable(name))}</th>" for name in rows.columns)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows[:MOST])
    more = f"<p>and {len(rows) - MOST} more</p>" if len(rows) > MOST else ""
    return f'<table class="provio-rows"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'


def lineage(document: LineageDocument) -> str:
    """Return a lineage as the page of `provio view` in a frame that may ask and touch nothing around it; behind it, and
    where a notebook that is not trusted leaves frames out, the tree that `provio lineage` prints."""
    from provio import view
    from provio.document import targets

    asked = set(targets(document))
    title = ", ".join(node["label"] for node in document["nodes"] if node["iri"] in asked) or document["target"]
    frame = "width:100%;height:520px;border:1px solid #8886;border-radius:8px"
    page = escape(view.render(document, title))
    text = escape(tree.render(document, width=None, folder=os.getcwd()))
    style = "line-height:1.35;white-space:pre;overflow-x:auto"
    return (
        f'<div class="provio-lineage-shown"><iframe title="Lineage" sandbox="allow-scripts" style="{frame}" '
        f'srcdoc="{page}"></iframe><details><summary>As text</summary><pre style="{style}">{text}</pre></details></div>'
    )
