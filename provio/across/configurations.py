"""Versions of configurations: their uses in all runs in, which is a revision of which, and its number, out.

The versions that a program was under by one name follow each other. A version revises the one that was in force when it
was first used there, unless that one was first used later, in another program's hands: so neither old values that
return nor programs that share values close a circle. A version is counted where it was used first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from provio import turtle
from provio.across.known import CONTENT, Kept, nanoseconds
from provio.graph import Graph
from provio.vocab import NS, PROV

SERIES, ENTITY = NS + "series", PROV + "entity"
SAID = (PROV + "wasRevisionOf", PROV + "wasDerivedFrom", NS + "version")
BATCH = 200  # of what one query asks about


class Use(NamedTuple):
    """When a version was in use; `order` is that of uses at one moment."""

    at: int
    order: tuple[int, str]
    series: str
    version: str


def touched(store: Kept, *graphs: str) -> set[str]:
    """Return the versions that runs' graphs use."""
    if not store.has(SERIES):
        return set()
    uses = {use for graph in graphs for use in store.members(graph, SERIES)}
    return {version for use in uses for version, _ in store.objects(use, ENTITY)}


def renew(store: Kept, graph: str | None, before: set[str]) -> bool:
    """Say anew what follows for the versions that a run's graph uses (None: it is gone), or used `before`; tell whether
    that is anything."""
    concerned = before | (touched(store, graph) if graph else set())
    if not concerned:
        return False
    beside = {use.series for use in _uses(store, "?v", _iris(concerned))}
    stale = concerned | {use.version for use in _uses(store, "?s", map(turtle.literal, beside))}
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
    wanted = {use.series for use in _uses(store, "?v", _iris(versions))}
    series: dict[str, list[Use]] = {}
    for use in sorted(_uses(store, "?s", map(turtle.literal, wanted))):
        series.setdefault(use.series, []).append(use)
    members = {use.version for uses in series.values() for use in uses}
    first: dict[str, Use] = {}
    for use in sorted(_uses(store, "?v", _iris(members)), reverse=True):
        first[use.version] = use
    graph = Graph()
    for name, uses in sorted(series.items()):
        met: dict[str, int] = {}
        for before, use in zip([None, *uses], uses, strict=False):
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


def _iris(names: Iterable[str]) -> Iterator[str]:
    return (f"<{name}>" for name in names)


def _uses(store: Kept, variable: str, terms: Iterable[str]) -> Iterator[Use]:
    """The uses of these versions (`?v`), or in these series (`?s`)."""
    rest = iter(sorted(terms))
    while some := " ".join(islice(rest, BATCH)):
        query = f"""SELECT DISTINCT ?u ?s ?v ?t {{ VALUES {variable} {{ {some} }}
            ?u <{ENTITY}> ?v ; <{SERIES}> ?s ; <{PROV}atTime> ?t }}"""
        for row in store.rows(query):
            yield Use(nanoseconds(row["t"]), (len(row["u"]), row["u"]), row["s"], row["v"])
