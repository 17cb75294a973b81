"""Derived graphs that are renewed under a new name: the names in the index in, which of them holds what follows from
several runs, out.

Virtuoso carries out a large update in several steps. There a derived graph that changes much is written anew, whole,
under the next name (`…/derived/1`), which the index then has in place of the last, in one small update. The one before
that stays until the next time, for those who ask by an index that they have read before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from provio.across.known import CONTENT, DERIVED

KEPT = (DERIVED, CONTENT)
NUMBERED = re.compile(f"({'|'.join(map(re.escape, KEPT))})(?:/([0-9]+))?")


def place_of(graphs: Iterable[str]) -> dict[str, str]:
    """Return under which name each derived graph is found, of those among these graphs."""
    found = (NUMBERED.fullmatch(graph) for graph in graphs)
    return {match[1]: match[0] for match in found if match}


def following(place: str, steps: int = 1) -> str:
    """Return the name that comes after one, or so many steps from it; an empty one before the first."""
    match = NUMBERED.fullmatch(place)
    if match is None:
        return ""
    number = int(match[2] or 0) + steps
    return "" if number < 0 else f"{match[1]}/{number}" if number else match[1]
