"""What no file shows, in several runs: the states of a thing that has an identifier in, which of them is another's out.

What a run found of it, and had not made itself, is what the last run before that made of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from provio.across.known import CONTENT, Kept, nanoseconds
from provio.graph_lines import Graph
from provio.vocab import NS, PROV

IDENTIFIER, CONTENT_FROM = NS + "identifier", NS + "contentFrom"
TIES = (PROV + "alternateOf", NS + "sameContentAs", CONTENT_FROM)
BATCH = 200  # of what one query asks about
STATES = """SELECT DISTINCT ?of ?state ?made ?used { VALUES ?of { %s } ?state prov:specializationOf ?of .
    OPTIONAL { ?state prov:generatedAtTime ?made } OPTIONAL { ?state provio:firstUsed ?used } }"""


def touched(store: Kept, *graphs: str) -> dict[str, set[str]]:
    """Return the things with an identifier that runs' graphs speak of, each with all its states, in whichever run."""
    if not store.has(IDENTIFIER):
        return {}
    things = {thing for graph in graphs for thing in store.members(graph, IDENTIFIER)}
    made, found = _states(store, things)
    return {thing: {state for _, state in (*made.get(thing, ()), *found.get(thing, ()))} for thing in things}


def renew(store: Kept, graph: str | None, before: dict[str, set[str]]) -> bool:
    """Say anew what follows for the things that a run's graph speaks of (None: it is gone), or spoke of `before`; tell
    whether that is anything."""
    now = touched(store, graph) if graph else {}
    if not before and not now:
        return False
    made, found = _states(store, before.keys() | now.keys())
    stale = {state for states in found.values() for _, state in states}
    store.withdraw(CONTENT, list(_said(store, stale.union(*before.values()))))
    graphed = Graph()
    for thing, states in found.items():
        for at, state in states:
            earlier = max((one for one in made.get(thing, []) if one[0] <= at), default=None)
            if earlier:
                first = f"<{earlier[1]}>"
                graphed.say(state, ("prov:alternateOf", first), ("sameContentAs", first), ("contentFrom", first))
    store.add(CONTENT, graphed.lines)
    return bool(graphed.lines)


States = dict[str, list[tuple[int, str]]]


def _states(store: Kept, things: Iterable[str]) -> tuple[States, States]:
    """The states of each thing that runs made, by when, and those that they found, by when these were first used."""
    made: States = {}
    found: dict[str, dict[str, int]] = {}
    rest = iter(sorted(things))
    while some := " ".join(f"<{one}>" for one in islice(rest, BATCH)):
        for row in store.rows(STATES % some):
            if "made" in row:
                made.setdefault(row["of"], []).append((nanoseconds(row["made"]), row["state"]))
            elif "used" in row:
                times = found.setdefault(row["of"], {})
                times[row["state"]] = min(nanoseconds(row["used"]), times.get(row["state"], 1 << 63))
    return made, {of: [(at, state) for state, at in states.items()] for of, states in found.items()}


def _said(store: Kept, states: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    for state in states:
        for tie in TIES:
            yield from ((state, tie, other) for other, graph in store.objects(state, tie) if graph == CONTENT)
