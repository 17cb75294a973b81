"""What is tied by code: a walk that followed it and what is shown of it in, what else its programs bring out.

A process ran its executable and its script, and what launched it (a Makefile, a shell script) said so; each of these
files was made in its turn. Backward this adds them and what they were made from; forward, what was made by running
them.
"""

from __future__ import annotations

from collections.abc import Iterator

from provio.vocab import local_name
from provio.walk import WEIGHTS, Walk

INFORMS = frozenset({"carriedFrom", "continuedFrom", "launchedBy"})
Ways = dict[str, list[tuple[str, str, int]]]


def tied_by_code(walk: Walk, shown: set[str], limit: int) -> set[str]:
    """Return the nodes that code alone ties to what is shown, no step among theirs weaker than `limit`.

    A node is reached as one that only leads to code (what launched a process: `whole` is false), or with all that it
    came from or was made into.
    """
    onward = _onward(walk)
    waiting = [(iri, False) for iri in shown]
    found = set(waiting)
    while waiting:
        iri, whole = waiting.pop()
        for state in _next(onward.get(iri, []), walk.forward, whole, limit):
            if state not in found:
                found.add(state)
                waiting.append(state)
    return {iri for iri, _ in found} - shown


def _onward(walk: Walk) -> Ways:
    ways: Ways = {}
    for subject, predicate, object_ in walk.edges:
        kind, weight = local_name(predicate), WEIGHTS.get(predicate, 0)
        source, goal = (object_, subject) if walk.forward else (subject, object_)
        ways.setdefault(source, []).append((goal, kind, weight))
        if kind == "alternateOf":
            ways.setdefault(goal, []).append((source, kind, weight))
    return ways


def _next(ways: list[tuple[str, str, int]], forward: bool, whole: bool, limit: int) -> Iterator[tuple[str, bool]]:
    for goal, kind, weight in ways:
        if kind == "ran":
            yield goal, not forward
        elif kind in INFORMS:
            if not (forward and whole):
                yield goal, False
            if whole and weight <= limit:
                yield goal, True
        elif whole or forward:
            yield goal, True
