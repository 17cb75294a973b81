"""Figures of a run's I/O, with a timeline, as one HTML page that a browser shows without network access.

It has no script: bars and the timeline are elements of the template, and names of files and programs are only text. A
content security policy forbids all requests, and `check_offline` verifies that there are none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, FileSystemLoader

from provio.base.text import binary, cut_path, elapsed, printable
from provio.render.page.lineage import check_offline
from provio.stats import formatting, timeline
from provio.stats.tally import SIZE_NAMES

if TYPE_CHECKING:
    from provio.stats import Figures
    from provio.stats.timeline import Latency, Picture, Span

TEMPLATES: Final = Path(__file__).parent / "templates"
TABLES: Final = {
    "operation": "By operation", "file": "Top files", "api": "By function", "process": "By process", "rank": "By rank",
    "program": "By program",
}  # fmt: skip
ROWS, LONGEST, TICKS, OF_A_RULE = 20, 200, 5, 3


def render(figures: Figures, spans: Iterable[Span], title: str, latencies: Sequence[Latency] = ()) -> str:
    """Return the page, to be written in UTF-8; if the spans are single calls, `latencies` are their figures."""
    words = {
        "title": printable(title),
        "head": formatting.head(figures, unicode=True).splitlines(),
        **_bottlenecks(figures),
        "unknown": [printable(line) for line in figures.unknown()],
        "picture": _picture(timeline.picture(figures.recorded, spans), bool(latencies)),
        "sizes": _sizes(figures),
        "tables": _single_calls(latencies)
        + [table for way, name in TABLES.items() if (table := _table(figures, way, name))],
    }  # fmt: skip
    environment = Environment(loader=FileSystemLoader(TEMPLATES, encoding="utf-8"), autoescape=True)
    page = environment.get_template("statistics.html").render(page=words)
    check_offline(page)
    return page


def _bottlenecks(figures: Figures) -> dict[str, Any]:
    """Return the most expensive findings of each rule."""
    seen = Counter[str]()
    chosen = []
    for one in figures.bottlenecks():
        seen[one.rule] += 1
        if seen[one.rule] <= OF_A_RULE:
            chosen.append([printable(text) for text in (one.rule, one.where, one.evidence, one.remedy)])
    return {"bottlenecks": chosen, "more": seen.total() - len(chosen)}


def _picture(picture: Picture | None, single: bool) -> dict[str, Any] | None:
    if picture is None:
        return None
    largest = max((span.bytes for lane in picture.lanes for span in lane.spans), default=0)
    return {
        "lanes": [{"name": printable(lane.name), "bytes": binary(lane.bytes), "spans": [
            _span(span, picture, largest) for span in lane.spans]} for lane in picture.lanes],
        "ticks": [elapsed(picture.length * place / TICKS) if place else "0" for place in range(TICKS + 1)],
        "left_out": picture.left_out, "folded": picture.folded, "single": single,
    }  # fmt: skip


def _span(span: Span, picture: Picture, largest: int) -> dict[str, Any]:
    """Return the place of a span, in thousandths, and its opacity, by the order of magnitude of its size."""
    start = 1000 * (span.start - picture.start) / picture.length
    width = max(1.0, 1000 * (span.end - span.start) / picture.length)
    strong = math.log1p(span.bytes) / math.log1p(largest) if largest else 0.0
    calls = f"{span.calls:,} call{'s' if span.calls != 1 else ''}, " if span.calls else ""
    did = f"{'write' if span.write else 'read'}: {calls}{binary(span.bytes)}, {elapsed(span.end - span.start)}"
    return {
        "x": round(min(start, 1000 - min(width, 1000)), 2), "width": round(width, 2), "write": span.write,
        "opacity": round(0.25 + 0.75 * strong, 2), "title": printable(f"{did} {cut_path(span.file, LONGEST)}"),
    }  # fmt: skip


def _sizes(figures: Figures) -> list[dict[str, Any]]:
    """Return the histogram of each layer with accesses; the bars are percentages of the longest one."""
    found = []
    for group in figures.totals():
        reads, writes = group.tally.sizes["Read"], group.tally.sizes["Write"]
        most = max(reads + writes)
        if most:
            last = max(place for place, pair in enumerate(zip(reads, writes, strict=True)) if any(pair))
            bars = [
                {"name": name, "sides": [(number, round(100 * number / most, 1)) for number in pair]}
                for name, *pair in zip(SIZE_NAMES[: last + 1], reads, writes, strict=False)
            ]
            found.append({"layer": group.layer, "bars": bars})
    return found


def _single_calls(latencies: Sequence[Latency]) -> list[dict[str, Any]]:
    header, rows = formatting.latency_cells(latencies)
    return [{"name": "Single calls", "header": header, "rows": rows, "rest": 0, "names": 1}] if rows else []


def _table(figures: Figures, way: str, name: str) -> dict[str, Any] | None:
    header, cells, rest = formatting.cells(figures.by(way), (way,), ROWS, figures.totals())
    if way == "rank" and all(group.key[0] is None for group in figures.by(way)):
        return None
    texts = [[cut_path(printable(cell), LONGEST) for cell in row] for row in cells]
    return {
        "name": name,
        "header": header,
        "rows": texts,
        "rest": rest,
        "names": len(header) - len(formatting.MEASURES) - 1,
    }
