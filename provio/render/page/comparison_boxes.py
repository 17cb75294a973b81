"""Box plots of the durations of two runs by kind of activity. In: their bars. Out: rows of shapes, for a page.

Values beyond the whiskers are points. Up to five values are points without a box.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any, Final

from provio.base.text import cut_end, plural, printable
from provio.render.page.comparison_times import LONGEST, Bar, figure
from provio.stats import sample

FEW, KINDS, OUTSIDE = 5, 30, 40  # values that are points; rows; drawn points beyond the whiskers
ROOM: Final = 98.0  # per cent of the width, so that the point of the longest duration is whole


def rows(sides: Sequence[Sequence[Bar | None]]) -> tuple[list[dict[str, Any]], str]:
    """Return a row for each kind, the longest total time first, and a sentence about those that are left out."""
    kinds: dict[str, tuple[list[float], list[float]]] = {}
    for number, side in enumerate(sides):
        for bar in side:
            if bar and bar.one.end:
                kinds.setdefault(bar.one.what, ([], []))[number].append(bar.end - bar.start)
    longest = sorted(kinds.items(), key=lambda one: -sum(map(sum, one[1])))
    left = plural(len(longest) - KINDS, "kind") + " with less time not shown." if len(longest) > KINDS else ""
    return [_row(kind, both) for kind, both in longest[:KINDS]], left


def _row(kind: str, both: tuple[list[float], list[float]]) -> dict[str, Any]:
    most = max(max(one, default=0.0) for one in both) or 1e-9
    sides = [{"name": name, **_shapes(sorted(values), most)} for name, values in zip("ab", both, strict=True) if values]
    texts = [f"{name} {len(values):,} × {figure(median(values))}" if values else f"{name} none"
             for name, values in zip("AB", both, strict=True)]  # fmt: skip
    return {"name": cut_end(printable(kind), LONGEST), "sides": sides, "text": " · ".join(texts), "most": figure(most)}


def _shapes(values: list[float], most: float) -> dict[str, Any]:
    """Return points, and a box with whiskers, in per cent of the width."""

    def place(value: float) -> float:
        return round(1 + (ROOM - 1) * value / most, 2)

    if len(values) <= FEW:
        title = ", ".join(figure(value) for value in values)
        return {"points": [place(value) for value in values], "box": None, "title": title}
    least, low, middle, high, longest = sample.box(values)
    outside = [value for value in values if not least <= value <= longest]
    texts = [figure(value) for value in (middle, low, high, values[0], values[-1])]
    title = "median {}, quartiles {} and {}, {} to {}".format(*texts)
    box = {"from": place(least), "low": place(low), "middle": place(middle), "high": place(high),
           "to": place(longest), "width": round(max(place(high) - place(low), 0.2), 2)}  # fmt: skip
    return {"points": [place(value) for value in outside[-OUTSIDE:]], "box": box, "title": title}
