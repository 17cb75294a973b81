"""Versions of configurations in a run that came last: its uses and a store in, what follows for them out.

Then nothing changes of what was there, and little of it is read: of each series its last use before, of each version
when it was first used. So a program's thousandth run costs what its second did.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from provio import turtle
from provio.across.known import Kept, nanoseconds
from provio.across.uses import ENTITY, SERIES, TIME, Use, batches, iris, uses
from provio.graph_lines import Graph


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
