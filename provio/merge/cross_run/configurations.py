"""Derive from the uses of configuration versions in all runs which version revises which, and their numbers; and
which states of a thing with an identifier come from another run.

The versions of a configuration that a program used under one name form a series. A version revises the one that was
in force in the series at its first use there, except if another program used that one only later for the first time.
So neither old values that return nor programs that share values cause a cycle. A version is numbered in the series of
its first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from provio.base import turtle
from provio.base.algorithms import batched
from provio.base.vocab import NS, PROV
from provio.graph.lines import Graph
from provio.merge.cross_run.facts import CONTENT, nanoseconds
from provio.store import Writer

SERIES, ENTITY, TIME = NS + "series", PROV + "entity", PROV + "atTime"
BATCH = 200  # terms of one query


class Use(NamedTuple):
    """A use of a version at a moment (ns since 1970); `order` sorts uses at the same moment."""

    at: int
    order: tuple[int, str]
    series: str
    version: str


def iris(names: Iterable[str]) -> Iterator[str]:
    """Return IRIs as SPARQL terms."""
    return (f"<{name}>" for name in names)


def batches(terms: Iterable[str]) -> Iterator[str]:
    """Return terms, joined in groups of the size of one query."""
    return (" ".join(batch) for batch in batched(sorted(terms), BATCH))


def uses(store: Writer, variable: str, terms: Iterable[str]) -> Iterator[Use]:
    """Yield the uses of these versions (`?v`), in these series (`?s`), or with these IRIs (`?u`)."""
    for some in batches(terms):
        query = f"""SELECT DISTINCT ?u ?s ?v ?t {{ VALUES {variable} {{ {some} }}
            ?u <{ENTITY}> ?v ; <{SERIES}> ?s ; <{TIME}> ?t }}"""
        for row in store.rows(query):
            yield Use(nanoseconds(row["t"]), (len(row["u"]), row["u"]), row["s"], row["v"])


# ---- the shortcut for the latest run: its versions come after those of all other runs


class Unclear(Exception):
    """The run is not the latest, or this cannot be determined."""


class Latest:
    """The conclusions about the versions that a run uses, if it is the latest run; raises Unclear if not."""

    def __init__(self, store: Writer, graph: str) -> None:
        self.store = store
        own = sorted(uses(store, "?u", iris(store.members(graph, SERIES))), key=lambda use: (use.series, use))
        self.own = {name: list(found) for name, found in groupby(own, lambda use: use.series)}
        self.before = {name: self._before(name, found) for name, found in self.own.items()}
        self.first_uses = {use.version: use for use in sorted(own, reverse=True)}  # the run's first use of each version
        self.first = self._first({*self.first_uses, *(use.version for use in self.before.values() if use)})
        for version, use in self.first_uses.items():
            if any(at >= use.at for at in self.first[version].values()):
                raise Unclear

    def _before(self, series: str, own: list[Use]) -> Use | None:
        """Return the last use in a series before the uses of the run; None if there is none."""
        wanted = f"?u <{SERIES}> {turtle.literal(series)} ; <{ENTITY}> ?v ; <{TIME}> ?t"
        query = f"SELECT DISTINCT ?u ?v ?t {{ {wanted} }} ORDER BY DESC(?t) LIMIT {len(own) + 2}"
        rows = self.store.rows(query)
        found = [Use(nanoseconds(row["t"]), (len(row["u"]), row["u"]), series, row["v"]) for row in rows]
        others = [use for use in found if use not in own]
        if others and (others[0].at >= own[0].at or (len(others) > 1 and others[0].at == others[1].at)):
            raise Unclear
        return others[0] if others else None

    def _first(self, versions: Iterable[str]) -> dict[str, dict[str, int]]:
        """Return when other runs first used each version, by series (ns since 1970)."""
        found: dict[str, dict[str, int]] = {version: {} for version in versions}
        for some in batches(iris(found)):
            query = f"""SELECT ?v ?s (MIN(?t) AS ?first) {{ VALUES ?v {{ {some} }}
                ?u <{ENTITY}> ?v ; <{SERIES}> ?s ; <{TIME}> ?t }} GROUP BY ?v ?s"""
            for row in self.store.rows(query):
                own, at = self.own.get(row["s"]), nanoseconds(row["first"])
                if not (own and at >= own[0].at):
                    found[row["v"]][row["s"]] = at
        return found

    def lines(self) -> list[str]:
        """Return the conclusions as N-Triples."""
        graph = Graph()
        for name, own in self.own.items():
            before = self.before[name]
            new = [version for version in dict.fromkeys(use.version for use in own) if name not in self.first[version]]
            number = self._count(name) - len(new) if new else 0
            for use in own:
                if new and use.version == new[0]:
                    number += 1
                    self._add(graph, use, before, number)
                    del new[0]
                before = use
        return graph.lines

    def _count(self, series: str) -> int:
        """Return the number of versions of a series, including those of the run."""
        query = f"SELECT (COUNT(DISTINCT ?v) AS ?n) {{ ?u <{SERIES}> {turtle.literal(series)} ; <{ENTITY}> ?v }}"
        return int(next(iter(self.store.rows(query)))["n"])

    def _add(self, graph: Graph, use: Use, before: Use | None, number: int) -> None:
        if before and self._earlier(before.version, use.version):
            earlier = f"<{before.version}>"
            graph.add(use.version, ("prov:wasRevisionOf", earlier), ("prov:wasDerivedFrom", earlier))
        if not self.first[use.version] and self.first_uses[use.version].series == use.series:
            graph.add(use.version, ("version", turtle.integer(number)))

    def _earlier(self, one: str, other: str) -> bool:
        """Return whether a version was first used before another."""
        if not self.first[one] and not self.first[other]:
            return self.first_uses[one] < self.first_uses[other]
        when, then = (
            min(self.first[each].values()) if self.first[each] else self.first_uses[each].at for each in (one, other)
        )
        if when == then:
            raise Unclear
        return when < then


PROPERTIES = (PROV + "wasRevisionOf", PROV + "wasDerivedFrom", NS + "version")


def touched(store: Writer, *graphs: str) -> set[str]:
    """Return the versions that runs' graphs use."""
    if not store.has(SERIES):
        return set()
    named = {use for graph in graphs for use in store.members(graph, SERIES)}
    return {version for use in named for version, _ in store.objects(use, ENTITY)}


def touched_series(store: Writer, *graphs: str) -> set[str]:
    """Return the versions in all series of runs' graphs: without the runs, versions of other runs in these series have
    other numbers and revise others."""
    if not store.has(SERIES):
        return set()
    named = {use for graph in graphs for use in store.members(graph, SERIES)}
    series = {use.series for use in uses(store, "?u", iris(named))}
    return {use.version for use in uses(store, "?s", map(turtle.literal, series))}


def update(store: Writer, graph: str | None, before: set[str]) -> bool:
    """Derive the triples again for the versions that a run's graph uses now (None: the graph is removed), and for those
    that were in its series `before`; return whether there are any triples."""
    affected = before | (touched(store, graph) if graph else set())
    if not affected:
        return False
    if graph and not before:
        try:
            store.add(CONTENT, Latest(store, graph).lines())
        except Unclear:
            pass  # derive each series completely
        else:
            return True
    series = {use.series for use in uses(store, "?v", iris(affected))}
    stale = affected | {use.version for use in uses(store, "?s", map(turtle.literal, series))}
    store.remove_statements(CONTENT, list(_derived(store, stale)))
    lines = list(_conclude(store, stale))
    store.add(CONTENT, lines)
    return bool(lines)


def _derived(store: Writer, versions: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    for version in versions:
        for word in PROPERTIES:
            yield from ((version, word, other) for other, graph in store.objects(version, word) if graph == CONTENT)


def _conclude(store: Writer, versions: set[str]) -> Iterator[str]:
    """Yield the triples of each version: the version it revises in each of its series, and its number in the first."""
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
                _add(graph, use, before, first, met[use.version] if first[use.version].series == name else 0)
    yield from graph.lines


def _add(graph: Graph, use: Use, before: Use | None, first: dict[str, Use], number: int) -> None:
    if before and first[before.version] < first[use.version]:
        earlier = f"<{before.version}>"
        graph.add(use.version, ("prov:wasRevisionOf", earlier), ("prov:wasDerivedFrom", earlier))
    if number:
        graph.add(use.version, ("version", turtle.integer(number)))


# ---- states of a thing with an identifier that is no file, in several runs


IDENTIFIER, CONTENT_FROM = NS + "identifier", NS + "contentFrom"
TIES = (PROV + "alternateOf", NS + "sameContentAs", CONTENT_FROM)
BATCH = 200  # terms of one query
STATES = """SELECT DISTINCT ?of ?state ?made ?used { VALUES ?of { %s } ?state prov:specializationOf ?of .
    OPTIONAL { ?state prov:generatedAtTime ?made } OPTIONAL { ?state provio:firstUsed ?used } }"""


def touched_states(store: Writer, *graphs: str) -> dict[str, set[str]]:
    """Return the things with an identifier in runs' graphs, each with all its states in any run."""
    if not store.has(IDENTIFIER):
        return {}
    things = {thing for graph in graphs for thing in store.members(graph, IDENTIFIER)}
    made, found = _states(store, things)
    return {thing: {state for _, state in (*made.get(thing, ()), *found.get(thing, ()))} for thing in things}


def update_states(store: Writer, graph: str | None, before: dict[str, set[str]]) -> bool:
    """Derive the triples again for the things that a run's graph contains now (None: the graph is removed) or
    contained `before`; return whether there are any triples."""
    now = touched_states(store, graph) if graph else {}
    if not before and not now:
        return False
    made, found = _states(store, before.keys() | now.keys())
    stale = {state for states in found.values() for _, state in states}
    store.remove_statements(CONTENT, list(_stated(store, stale.union(*before.values()))))
    graphed = Graph()
    for thing, states in found.items():
        for at, state in states:
            earlier = max((one for one in made.get(thing, []) if one[0] <= at), default=None)
            if earlier:
                first = f"<{earlier[1]}>"
                graphed.add(state, ("prov:alternateOf", first), ("sameContentAs", first), ("contentFrom", first))
    store.add(CONTENT, graphed.lines)
    return bool(graphed.lines)


States = dict[str, list[tuple[int, str]]]


def _states(store: Writer, things: Iterable[str]) -> tuple[States, States]:
    """Return (made, found) as (moment, state) by thing: the states that runs made, with the time of generation, and
    those that runs found, with the time of their first use (ns since 1970)."""
    made: States = {}
    found: dict[str, dict[str, int]] = {}
    for some in batches(iris(things)):
        for row in store.rows(STATES % some):
            if "made" in row:
                made.setdefault(row["of"], []).append((nanoseconds(row["made"]), row["state"]))
            elif "used" in row:
                times = found.setdefault(row["of"], {})
                times[row["state"]] = min(nanoseconds(row["used"]), times.get(row["state"], 1 << 63))
    return made, {of: [(at, state) for state, at in states.items()] for of, states in found.items()}


def _stated(store: Writer, states: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    for state in states:
        for tie in TIES:
            yield from ((state, tie, other) for other, graph in store.objects(state, tie) if graph == CONTENT)
