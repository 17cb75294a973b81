"""Versions of configurations: their uses in all runs in, which is a revision of which, and its number, out.

The versions that a program was under by one name follow each other. A version revises the one that was in force when it
was first used there, unless that one was first used later, in another program's hands: so neither old values that
return nor programs that share values close a circle. A version is counted where it was used first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from provio import turtle
from provio.across.known import CONTENT, Kept
from provio.across.latest import Latest, Unclear
from provio.across.uses import ENTITY, SERIES, Use, iris, uses
from provio.graph_lines import Graph
from provio.vocab import NS, PROV

SAID = (PROV + "wasRevisionOf", PROV + "wasDerivedFrom", NS + "version")


def touched(store: Kept, *graphs: str) -> set[str]:
    """Return the versions that runs' graphs use."""
    if not store.has(SERIES):
        return set()
    named = {use for graph in graphs for use in store.members(graph, SERIES)}
    return {version for use in named for version, _ in store.objects(use, ENTITY)}


def renew(store: Kept, graph: str | None, before: set[str]) -> bool:
    """Say anew what follows for the versions that a run's graph uses (None: it is gone), or used `before`; tell whether
    that is anything."""
    concerned = before | (touched(store, graph) if graph else set())
    if not concerned:
        return False
    if graph and not before:
        try:
            store.add(CONTENT, Latest(store, graph).lines())
        except Unclear:
            pass  # the whole of each series is looked at
        else:
            return True
    beside = {use.series for use in uses(store, "?v", iris(concerned))}
    stale = concerned | {use.version for use in uses(store, "?s", map(turtle.literal, beside))}
    store.withdraw(CONTENT, list(_said(store, stale)))
    lines = list(_conclude(store, stale))
    store.add(CONTENT, lines)
    return bool(lines)


def _said(store: Kept, versions: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    for version in versions:
        for word in SAID:
            yield from ((version, word, other) for other, graph in store.objects(version, word) if graph == CONTENT)


def _conclude(store: Kept, versions: set[str]) -> Iterator[str]:
    """Say of each version what it revises, in each series that it is in, and its number in the first."""
    wanted = {use.series for use in uses(store, "?v", iris(versions))}
    series: dict[str, list[Use]] = {}
    for use in sorted(uses(store, "?s", map(turtle.literal, wanted))):
        series.setdefault(use.series, []).append(use)
    members = {use.version for found in series.values() for use in found}
    first: dict[str, Use] = {}
    for use in sorted(uses(store, "?v", iris(members)), reverse=True):
        first[use.version] = use
    graph = Graph()
    for name, found in sorted(series.items()):
        met: dict[str, int] = {}
        for before, use in zip([None, *found], found, strict=False):
            if use.version in met:
                continue
            met[use.version] = len(met) + 1
            if use.version in versions:
                _say(graph, use, before, first, met[use.version] if first[use.version].series == name else 0)
    yield from graph.lines


def _say(graph: Graph, use: Use, before: Use | None, first: dict[str, Use], number: int) -> None:
    if before and first[before.version] < first[use.version]:
        earlier = f"<{before.version}>"
        graph.say(use.version, ("prov:wasRevisionOf", earlier), ("prov:wasDerivedFrom", earlier))
    if number:
        graph.say(use.version, ("version", turtle.integer(number)))
