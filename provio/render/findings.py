"""The findings of `provio verify` as a table, JSON, CSV or TSV."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from urllib.parse import quote_from_bytes

from provio.ask.verify import Finding
from provio.base.table import align
from provio.base.text import shorter_path
from provio.base.turtle import PATH_SAFE
from provio.render import records


def render(
    found: Sequence[Finding],
    form: str,
    *,
    every: bool = False,
    width: int | None = None,
    unicode: bool = True,
    folder: str | None = None,
) -> str:
    """Return a table of the files that are not the same (or of `every` file) and a line with the counts; JSON, CSV and
    TSV contain all files."""
    counts = Counter(one.state for one in found)
    if form == "json":
        return json.dumps({"files": [_fields(one) for one in found], "counts": dict(counts)}, indent=1) + "\n"
    if form in ("csv", "tsv"):
        rows = ((one.state, _text(one.path), one.word or None, one.run or None) for one in found)
        return records.render("verify", rows, form)
    shown = [one for one in found if every or one.state != "same"]
    cells = [[one.state, shorter_path(_text(one.path), folder), one.word, one.run[:13]] for one in shown]
    header = ["state", "file", "", "run"]
    if not any(one.word for one in shown):
        header, *cells = ([*row[:2], *row[3:]] for row in (header, *cells))
    table = align(header, cells, width=width, unicode=unicode) if cells else ""
    total = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    return f"{table}{total or 'nothing to verify'}\n"


def _fields(one: Finding) -> dict[str, str]:
    """Return a finding for JSON. A path that is not UTF-8 has U+FFFD, and `pathEncoded`, as in a lineage document."""
    fields = {"path": _text(one.path), "state": one.state, "word": one.word, "run": one.run}
    try:
        one.path.decode("utf-8")
    except UnicodeDecodeError:
        fields["pathEncoded"] = quote_from_bytes(one.path, safe=PATH_SAFE)
    return {name: value for name, value in fields.items() if value}


def _text(path: bytes) -> str:
    return os.fspath(path).decode("utf-8", "replace")
