"""Follows the graph from versions, backward or forward: starting points and a store in, the part that was walked out.

version → prov:wasGeneratedBy → phase → (carriedFrom | launchedBy)* → prov:used → version, and again; revisions and
alternates lead from version to version. What is shown of it, and how strongly it is tied, `ancestry` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product

from provio.describe import PREFIXES, batches
from provio.store import Reader
from provio.vocab import NS, PROV

# How a step weakens what it leads to: an index into ancestry.STRENGTH (data, carried, control).
WEIGHTS = {NS + "carriedFrom": 1, NS + "launchedBy": 2}


@dataclass
class Walk:
    """The part of the graph that a walk found: edges as asserted, and for each node the steps to it."""

    starts: list[str]
    forward: bool
    edges: dict[tuple[str, str, str], None] = field(default_factory=dict)
    activities: set[str] = field(default_factory=set)
    entities: dict[str, int] = field(default_factory=dict)

    def steps(self) -> Iterator[tuple[str, str, int]]:
        """Yield (from, to, weight) in the walk's direction."""
        for subject, predicate, object_ in self.edges:
            weight = WEIGHTS.get(predicate, 0)
            yield (object_, subject, weight) if self.forward else (subject, object_, weight)
            if predicate == PROV + "alternateOf":
                yield (subject, object_, 0) if self.forward else (object_, subject, 0)


def follow(
    reader: Reader,
    starts: Iterable[str],
    *,
    forward: bool = False,
    depth: int | None = None,
    ends: Callable[[list[str]], set[str]] = lambda _: set(),
) -> Walk:
    """Follow the graph from entities, level by level: entity → activity → (earlier activities) → entities.

    `depth` bounds the entity-to-entity steps; `ends` says of entities newly found beyond which of them not to go.
    """
    walk = Walk(list(starts), forward)
    walk.entities.update(dict.fromkeys(walk.starts, 0))
    level, frontier = 0, list(walk.starts)
    while frontier and (depth is None or level < depth):
        level += 1
        found, direct = _from_entities(reader, walk, frontier)
        activities = _informers(reader, walk, found - walk.activities)
        frontier = []
        for iri in sorted(direct | _to_entities(reader, walk, activities)):
            if iri not in walk.entities:
                walk.entities[iri] = level
                frontier.append(iri)
        stopped = ends(frontier)
        frontier = [iri for iri in frontier if iri not in stopped]
    return walk


def _from_entities(reader: Reader, walk: Walk, frontier: list[str]) -> tuple[set[str], set[str]]:
    """The activities and the other versions that entities lead to."""
    entities = "prov:wasDerivedFrom prov:wasRevisionOf prov:alternateOf"
    found = _edges_of(reader, walk, frontier, "prov:used" if walk.forward else "prov:wasGeneratedBy")
    direct = _edges_of(reader, walk, frontier, entities)
    direct |= _edges_of(reader, walk, frontier, "prov:alternateOf", against=True)
    return found, direct


def _to_entities(reader: Reader, walk: Walk, activities: Iterable[str]) -> set[str]:
    return _edges_of(reader, walk, sorted(activities), "prov:wasGeneratedBy" if walk.forward else "prov:used")


def _informers(reader: Reader, walk: Walk, activities: set[str]) -> set[str]:
    """All phases that these carry on or were launched by (forward: that carry these on)."""
    new, frontier = set(activities), set(activities)
    walk.activities |= activities
    while frontier:
        frontier = (
            _edges_of(reader, walk, sorted(frontier), "provio:continuedFrom provio:carriedFrom provio:launchedBy")
            - walk.activities
        )
        walk.activities |= frontier
        new |= frontier
    return new


def _edges_of(reader: Reader, walk: Walk, nodes: list[str], predicates: str, against: bool = False) -> set[str]:
    """Note the edges that lead on from `nodes`, and return where they lead.

    One predicate a query: a list of them beside a list of nodes is many times slower.
    """
    found = set()
    near, far = ("s", "o") if walk.forward is against else ("o", "s")
    for batch, predicate in product(batches(nodes), predicates.split()):
        values = " ".join(f"<{iri}>" for iri in batch)
        query = f"{PREFIXES} SELECT DISTINCT ?s ?o {{ VALUES ?{near} {{ {values} }} ?s {predicate} ?o }}"
        prefix, _, name = predicate.partition(":")
        for row in reader.rows(query):
            walk.edges[row["s"], (PROV if prefix == "prov" else NS) + name, row["o"]] = None
            found.add(row[far])
    return found
