"""The lineage component that the page, the explorer and notebooks share: nothing in, its script and its style out.

`provio/templates/lineage.js` says at its top how it is called; the text stands alone and asks no network.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

TEMPLATES: Final = Path(__file__).resolve().parent.parent / "templates"
SCRIPTS: Final = (
    "wording", "pairs", "graph", "said", "view", "levels", "grouping", "folds", "layout", "routes", "motion",
    "lettering", "legend", "painting", "pointing", "picture", "details", "times", "packed", "toolbar", "seeking",
    "lineage",
)  # fmt: skip


def script() -> str:
    """Return the script that declares `provioLineage`, to stand in a <script> of its own."""
    return "\n".join((TEMPLATES / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)


def style() -> str:
    """Return the style that goes with it, to stand in a <style>."""
    return (TEMPLATES / "lineage.css").read_text(encoding="utf-8")
