"""Draws the cost of each level, with its bound."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from case import LEVELS, Unit
from cost_page import Drawn
from variants import PASS

COLOURS = {PASS: "#b8b8b8", "file": "#8fb8de", "op": "#2f6db0", "call": "#16324f"}


def _draw(axes: object, results: Sequence[Drawn], title: str, start: float) -> None:
    """Draw a bar for each variant of each result, and a mark at each bound."""
    height = 0.8 / len(COLOURS)
    for row, result in enumerate(results):
        for place, (variant, colour) in enumerate(COLOURS.items()):
            spread = result.cost(variant)
            y = row + (place - 1.5) * height
            error = [[spread.median - spread.low], [spread.high - spread.median]]
            label = variant if row == 0 else None
            axes.barh(y, spread.median - start, height, left=start, color=colour, xerr=error, label=label,
                      error_kw={"linewidth": 0.7, "ecolor": "#666666"})  # fmt: skip
            bound = result.case.bounds.get(variant)
            if bound is not None:
                axes.plot([bound, bound], [y - height / 2, y + height / 2], color="#c0392b", linewidth=2)
    axes.set_yticks(range(len(results)), [result.case.label for result in results])
    axes.invert_yaxis()
    axes.axvline(start, color="black", linewidth=0.6)
    axes.set_title(title, loc="left", fontsize=9)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right", "left"]].set_visible(False)


def draw(results: Sequence[Drawn], path: Path) -> None:
    """Write the drawing."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "provio", "svg.fonttype": "none", "font.family": "sans-serif"})
    from matplotlib import pyplot

    groups = [
        (Unit.NS, "nanoseconds added to a call", 0.0),
        (Unit.US, "microseconds added to a file", 0.0),
        (Unit.MS, "milliseconds added to a process", 0.0),
        (Unit.RATIO, "wall time of a whole command, as a multiple of the bare one", 1.0),
    ]
    drawn = [(title, start, [r for r in results if r.case.unit is unit]) for unit, title, start in groups]
    drawn = [group for group in drawn if group[2]]
    sizes = [len(group[2]) for group in drawn]
    figure, rows = pyplot.subplots(
        len(drawn), 1, figsize=(7, 0.42 * sum(sizes) + 0.7 * len(drawn)), height_ratios=sizes, squeeze=False
    )
    for axes, (title, start, group) in zip(rows[:, 0], drawn, strict=True):
        _draw(axes, group, title, start)
    handles, names = rows[0, 0].get_legend_handles_labels()
    handles.append(pyplot.Line2D([], [], color="#c0392b", linewidth=2))
    figure.legend(handles, [*names, "bound"], loc="upper center", ncols=len(LEVELS) + 2, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.97))
    figure.savefig(path, metadata={"Date": None})
