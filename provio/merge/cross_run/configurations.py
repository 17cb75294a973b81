"""Versions of configurations: their uses in all runs in, which is a revision of which, and its number, out.

The versions that a program was under by one name follow each other. A version revises the one that was in force when it
was first used there, unless that one was first used later, in another program's hands: so neither old values that
return nor programs that share values close a circle. A version is counted where it was used first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import NamedTuple

from provio.base import turtle
from provio.base.vocab import NS, PROV
from provio.graph.lines import Graph
from provio.merge.cross_run.known import CONTENT, Kept, nanoseconds

# When versions of configurations were in use: a store in, the uses of some versions, or in some series, out.


SERIES, ENTITY, TIME = NS + "series", PROV + "entity", PROV + "atTime"
BATCH = 200  # of what one query asks about


class Use(NamedTuple):
    """When a version was in use; `order` is that of uses at one moment."""

    at: int
    order: tuple[int, str]
    series: str
    version: str


def iris(names: Iterable[str]) -> Iterator[str]:
    """Return names as terms."""
    return (f"<{name}>" for name in names)


def batches(terms: Iterable[str]) -> Iterator[str]:
    """Yield terms, as many together as one query asks about."""
    rest = iter(sorted(terms))
    while some := " ".join(islice(rest, BATCH)):
        yield some


def uses(store: Kept, variable: str, terms: Iterable[str]) -> Iterator[Use]:
    """Yield the uses of these versions (`?v`), in these series (`?s`), or by these names of their own (`?u`)."""
    for some in batches(terms):
        query = f"""SELECT DISTINCT ?u ?s ?v ?t {{ VALUES {variable} {{ {some} }}
            ?u <{ENTITY}> ?v ; <{SERIES}> ?s ; <{TIME}> ?t }}"""
        for row in store.rows(query):
            yield Use(nanoseconds(row["t"]), (len(row["u"]), row["u"]), row["s"], row["v"])


# Versions of configurations in a run that came last: its uses and a store in, what follows for them out.


class Unclear(Exception):
    """The run did not come last, or that cannot be told."""


class Latest:
    """What follows for the versions that a run uses; raises Unclear."""

    def __init__(self, store: Kept, graph: str) -> None:
        self.store = store
        own = sorted(uses(store, "?u", iris(store.members(graph, SERIES))), key=lambda use: (use.series, use))
        self.own = {name: list(found) for name, found in groupby(own, lambda use: use.series)}
        self.before = {name: self._before(name, found) for name, found in self.own.items()}
        self.begun = {use.version: use for use in sorted(own, reverse=True)}  # where the run first used each
        self.first = self._first({*self.begun, *(use.version for use in self.before.values() if use)})
        for version, use in self.begun.items():
            if any(at >= use.at for at in self.first[version].values()):
                raise Unclear

    def _before(self, series: str, own: list[Use]) -> Use | None:
        """The last use in a series before the run's, where there is one."""
        wanted = f"?u <{SERIES}> {turtle.literal(series)} ; <{ENTITY}> ?v ; <{TIME}> ?t"
        query = f"SELECT DISTINCT ?u ?v ?t {{ {wanted} }} ORDER BY DESC(?t) LIMIT {len(own) + 2}"
        rows = self.store.rows(query)
        found = [Use(nanoseconds(row["t"]), (len(row["u"]), row["u"]), series, row["v"]) for row in rows]
        others = [use for use in found if use not in own]
        if others and (others[0].at >= own[0].at or (len(others) > 1 and others[0].at == others[1].at)):
            raise Unclear
        return others[0] if others else None

    def _first(self, versions: Iterable[str]) -> dict[str, dict[str, int]]:
        """When other runs first used each version, by series."""
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
        """Return what follows, as N-Triples."""
        graph = Graph()
        for name, own in self.own.items():
            before = self.before[name]
            new = [version for version in dict.fromkeys(use.version for use in own) if name not in self.first[version]]
            number = self._count(name) - len(new) if new else 0
            for use in own:
                if new and use.version == new[0]:
                    number += 1
                    self._say(graph, use, before, number)
                    del new[0]
                before = use
        return graph.lines

    def _count(self, series: str) -> int:
        """How many versions a series has, with the run's."""
        query = f"SELECT (COUNT(DISTINCT ?v) AS ?n) {{ ?u <{SERIES}> {turtle.literal(series)} ; <{ENTITY}> ?v }}"
        return int(next(iter(self.store.rows(query)))["n"])

    def _say(self, graph: Graph, use: Use, before: Use | None, number: int) -> None:
        if before and self._earlier(before.version, use.version):
            earlier = f"<{before.version}>"
            graph.say(use.version, ("prov:wasRevisionOf", earlier), ("prov:wasDerivedFrom", earlier))
        if not self.first[use.version] and self.begun[use.version].series == use.series:
            graph.say(use.version, ("version", turtle.integer(number)))

    def _earlier(self, one: str, other: str) -> bool:
        """Tell whether a version was first used before another."""
        if not self.first[one] and not self.first[other]:
            return self.begun[one] < self.begun[other]
        when, then = (
            min(self.first[each].values()) if self.first[each] else self.begun[each].at for each in (one, other)
        )
        if when == then:
            raise Unclear
        return when < then


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


# What no file shows, in several runs: the states of a thing that has an identifier in, which of them is another's
# out.


IDENTIFIER, CONTENT_FROM = NS + "identifier", NS + "contentFrom"
TIES = (PROV + "alternateOf", NS + "sameContentAs", CONTENT_FROM)
BATCH = 200  # of what one query asks about
STATES = """SELECT DISTINCT ?of ?state ?made ?used { VALUES ?of { %s } ?state prov:specializationOf ?of .
    OPTIONAL { ?state prov:generatedAtTime ?made } OPTIONAL { ?state provio:firstUsed ?used } }"""


def touched_states(store: Kept, *graphs: str) -> dict[str, set[str]]:
    """Return the things with an identifier that runs' graphs speak of, each with all its states, in whichever run."""
    if not store.has(IDENTIFIER):
        return {}
    things = {thing for graph in graphs for thing in store.members(graph, IDENTIFIER)}
    made, found = _states(store, things)
    return {thing: {state for _, state in (*made.get(thing, ()), *found.get(thing, ()))} for thing in things}


def renew_states(store: Kept, graph: str | None, before: dict[str, set[str]]) -> bool:
    """Say anew what follows for the things that a run's graph speaks of (None: it is gone), or spoke of `before`; tell
    whether that is anything."""
    now = touched_states(store, graph) if graph else {}
    if not before and not now:
        return False
    made, found = _states(store, before.keys() | now.keys())
    stale = {state for states in found.values() for _, state in states}
    store.withdraw(CONTENT, list(_stated(store, stale.union(*before.values()))))
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


def _stated(store: Kept, states: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    for state in states:
        for tie in TIES:
            yield from ((state, tie, other) for other, graph in store.objects(state, tie) if graph == CONTENT)
