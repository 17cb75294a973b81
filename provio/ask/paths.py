"""Paths through a lineage document: the document in; the steps from a node, each path to an end, the roots out.

This module does not query a store. The number of paths may be exponential: they are yielded one by one, each at the
cost of its length, and counted without a traversal of each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from provio.ask.document import ACTIVITIES, AGENTS, Lineage, LineageDocument, targets

Onward = dict[str, list[tuple[str, ...]]]


class Ways:
    """The steps from each node in the document's direction: tuples of nodes, of which the last one is the node
    reached.

    Versions of the same content under several keys (`prov:alternateOf`) count as one: a path that continues from
    another of them has that one in between. Therefore there is no cycle.
    """

    def __init__(self, lineage: Lineage) -> None:
        self.lineage = lineage
        self.forward = lineage.document["direction"] == "forward"
        self.same = _same(lineage)
        self.control = any(node.get("via") == "control" for node in lineage.node.values())
        self._alive = _alive(self._from_activity, lineage)
        self._known: Onward = {}

    def starts(self) -> list[str]:
        """Return the targets and the other entities of the query (those of depth 0), each content once."""
        starts = (iri for iri, node in self.lineage.node.items() if node.get("depth") == 0)
        found: dict[str, None] = {}
        covered: set[str] = set()  # nodes with the content of an earlier one
        for iri in dict.fromkeys([*targets(self.lineage.document), *starts]):
            if iri in self.lineage.node:
                if iri not in covered:
                    found[iri] = None
                covered.update(self.same.get(iri, ()))
        return list(found)

    def onward(self, iri: str) -> list[tuple[str, ...]]:
        """Return the steps from a node in a fixed order, by name."""
        if iri not in self._known:
            self._known[iri] = self._onward(iri)
        return self._known[iri]

    def _onward(self, iri: str) -> list[tuple[str, ...]]:
        lineage = self.lineage
        if lineage.node[iri]["type"] in ACTIVITIES:
            inner = [one for one in self._from_activity(iri) if self._is_entity(one) or one in self._alive]
            return [(one,) for one in self._sorted(inner)]
        own: dict[tuple[str, ...], None] = {(one,): None for one in self._sorted(self._from_entity(iri))}
        for other in self._sorted(self.same.get(iri, ())):
            own.update(dict.fromkeys((other, one) for one in self._sorted(self._from_entity(other))))
        within = {iri, *self.same.get(iri, ())}
        return [step for step in own if step[-1] not in within]

    def _from_entity(self, iri: str) -> list[str]:
        ways = self.lineage
        if self.forward:
            revised = ways.subjects(iri, "wasRevisionOf", "wasDerivedFrom", "contentFrom")
            return [*ways.subjects(iri, "used", "ran"), *revised, *ways.objects(iri, "hadMember")]
        revised = ways.objects(iri, "wasRevisionOf", "wasDerivedFrom", "contentFrom")
        return [*ways.objects(iri, "wasGeneratedBy"), *revised, *ways.subjects(iri, "hadMember")]

    def _from_activity(self, iri: str) -> list[str]:
        informed = ("continuedFrom", "carriedFrom", "launchedBy")
        if self.forward:
            return [*self.lineage.subjects(iri, "wasGeneratedBy"), *self.lineage.subjects(iri, *informed)]
        return [*self.lineage.objects(iri, "used", "ran"), *self.lineage.objects(iri, *informed)]

    def _is_entity(self, iri: str) -> bool:
        return self.lineage.node[iri]["type"] not in ACTIVITIES

    def _sorted(self, iris: Iterable[str]) -> list[str]:
        node = self.lineage.node
        return sorted(dict.fromkeys(iris), key=lambda iri: (node[iri].get("path") or node[iri]["label"], iri))


def _same(lineage: Lineage) -> dict[str, list[str]]:
    """Return the other versions of the same content for each node that has such versions."""
    found: dict[str, list[str]] = {}
    for start in lineage.node:
        if start in found or not (lineage.objects(start, "alternateOf") or lineage.subjects(start, "alternateOf")):
            continue
        group, waiting = {start: None}, [start]
        while waiting:
            iri = waiting.pop()
            for other in (*lineage.objects(iri, "alternateOf"), *lineage.subjects(iri, "alternateOf")):
                if other not in group:
                    group[other] = None
                    waiting.append(other)
        for iri in group:
            found[iri] = [other for other in group if other != iri]
    return found


def _alive(from_activity: Callable[[str], list[str]], lineage: Lineage) -> set[str]:
    """Return the activities that lead to an entity: a phase that carries nothing is not part of a path."""
    back: dict[str, list[str]] = defaultdict(list)
    alive: set[str] = set()
    for iri, node in lineage.node.items():
        if node["type"] in ACTIVITIES:
            for one in from_activity(iri):
                back[one].append(iri)
                if lineage.node[one]["type"] not in ACTIVITIES:
                    alive.add(iri)
    waiting = list(alive)
    while waiting:
        new = set(back[waiting.pop()]) - alive
        alive |= new
        waiting += new
    return alive


def order(ways: Ways) -> list[str]:
    """Return the nodes that the targets lead to, each after all the nodes that it leads to."""
    done: dict[str, None] = {}
    visited: set[str] = set()
    stack: list[tuple[str, Iterator[str]]] = []
    for start in ways.starts():
        if start not in visited:
            visited.add(start)
            stack.append((start, iter([step[-1] for step in ways.onward(start)])))
        while stack:
            iri, rest = stack[-1]
            following = next((one for one in rest if one not in visited), None)
            if following is None:
                done[iri] = None
                stack.pop()
            else:
                visited.add(following)
                stack.append((following, iter([step[-1] for step in ways.onward(following)])))
    return list(done)


def made_from(ways: Ways, product: str) -> list[tuple[str, str | None]]:
    """Return the file versions that a product was made from, directly or through pipes, each with the run that used
    it; with code also the programs that ran.

    These include the earlier version whose content a product kept. A process that launched another gives it only
    programs, unless the document contains control.
    """
    lineage = ways.lineage
    found: dict[tuple[str, str | None], None] = {}
    waiting = [(one, True) for one in (product, *ways.same.get(product, ()))]
    seen = set(waiting)
    for iri, whole in waiting:  # grows during the loop
        node = lineage.node[iri]
        above: list[str] = []
        if node["type"] in ACTIVITIES:
            following = lineage.objects(iri, "continuedFrom", "carriedFrom")
            above = lineage.objects(iri, "launchedBy")
            for used in lineage.objects(iri, *(("used", "ran") if whole else ("ran",))):
                if lineage.node[used]["type"] == "FileVersion":
                    found[used, node.get("run")] = None
                else:
                    following.append(used)
        else:
            following = lineage.objects(iri, "wasGeneratedBy")
            run = next((lineage.node[maker].get("run") for maker in following), None)
            if node["type"] != "FileVersion":  # a state that another run made
                following += lineage.objects(iri, "contentFrom")
            found.update(((old, run), None) for old in lineage.objects(iri, "wasRevisionOf", "wasDerivedFrom"))
        states = [(one, whole) for one in following] + [(one, whole and ways.control) for one in above]
        waiting += [state for state in states if state not in seen]
        seen.update(states)
    return list(found)


def count(ways: Ways) -> int:
    """Return the number of paths from the targets to their ends."""
    number: dict[str, int] = {}
    for iri in order(ways):
        number[iri] = sum(number.get(step[-1], 0) for step in ways.onward(iri)) or 1
    return sum(number[start] for start in ways.starts())


def each(ways: Ways) -> Iterator[list[str]]:
    """Yield each path from a target to an end: its nodes, the target first."""
    for start in ways.starts():
        way, stack = [start], [(1, iter(ways.onward(start)))]
        while stack:
            length, rest = stack[-1]
            del way[length:]
            step = next(rest, None)
            if step is None:
                stack.pop()
                if way == [start] and not ways.onward(start):
                    yield list(way)
                continue
            way += step
            following = [] if set(step) & set(way[:length]) else ways.onward(step[-1])
            if following:
                stack.append((len(way), iter(following)))
            else:
                yield list(way)


def with_paths(document: LineageDocument, most: int) -> LineageDocument:
    """Return the document with the first `most` paths and their total number."""
    ways = Ways(Lineage(document))
    found = [way for _, way in zip(range(most), each(ways), strict=False)]
    return {**document, "paths": found, "ways": count(ways)}


def ends(document: LineageDocument) -> list[str]:
    """Return the entities without further steps: in a complete backward document, its roots."""
    ways = Ways(Lineage(document))
    closed = {
        iri
        for iri, node in ways.lineage.node.items()
        if node["type"] not in ACTIVITIES | AGENTS and not ways.onward(iri)
    }
    used = {iri for iri in closed if ways.lineage.subjects(iri, "used")}
    return [
        iri for iri in ways.lineage.node if iri in used or (iri in closed and not used & set(ways.same.get(iri, ())))
    ]
