"""Follows the graph from versions, backward or forward: starting points and a store in, the part that was walked out.

version → prov:wasGeneratedBy → phase → (carriedFrom | launchedBy)* → prov:used → version, and again; revisions and
alternates lead from version to version. What is shown of it, and how strongly it is tied, `ancestry` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from provio.ask.document import Node
from provio.ask.nodes import CONFIGURATION, MANY, USED, USED_AS_NOISE, Nodes, batches
from provio.base.vocab import NS, PROV
from provio.lineage.identity import is_within_files
from provio.store import Reader

# How a step weakens what it leads to: an index into ancestry.STRENGTH (data, carried, control),
# or beyond them: code ties otherwise (`provio.ask.lineage`).
RAN = NS + "ran"
WEIGHTS = {NS + "carriedFrom": 1, NS + "launchedBy": 2, RAN: 3}
NOISE = NS + "noise"
GENERATED, ALTERNATE = PROV + "wasGeneratedBy", PROV + "alternateOf"
BETWEEN = (PROV + "wasDerivedFrom", PROV + "wasRevisionOf", NS + "contentFrom", NS + "mapsOnto", ALTERNATE)
HAD_MEMBER = PROV + "hadMember"  # which the data go from subject to object
SAME = NS + "sameContentAs"  # stands beside an alternateOf that is of equal content alone: that ties nothing
INFORMERS = (NS + "continuedFrom", NS + "carriedFrom", NS + "launchedBy")
SPELT = {USED: (USED, USED_AS_NOISE), RAN: (RAN, NS + "ranAsNoise")}  # an edge, and how the store spells it
FEW = 1_000  # so many edges of a kind are read at once, instead of asking each node for them


@dataclass
class Walk:
    """The part of the graph that a walk found: edges as asserted, and for each node the steps to it.

    `leaves` are, of activities that used very many files, those that lead no further: they are no `entities`, and have
    no `edges`.
    """

    starts: list[str]
    forward: bool
    edges: dict[tuple[str, str, str], None] = field(default_factory=dict)
    activities: set[str] = field(default_factory=set)
    entities: dict[str, int] = field(default_factory=dict)
    known: Nodes = field(kw_only=True)
    inside: bool = False
    level: int = 0
    has_leaves: bool = False
    leaves: dict[str, dict[str, Node]] = field(default_factory=dict)

    def steps(self) -> Iterator[tuple[str, str, int]]:
        """Yield (from, to, weight) in the walk's direction."""
        for subject, predicate, object_ in self.edges:
            weight, whole = WEIGHTS.get(predicate, 0), predicate == HAD_MEMBER
            yield (object_, subject, weight) if self.forward is not whole else (subject, object_, weight)
            if predicate == ALTERNATE:
                yield (subject, object_, 0) if self.forward else (object_, subject, 0)


def follow(
    reader: Reader,
    starts: Iterable[str],
    *,
    forward: bool = False,
    depth: int | None = None,
    ends: Callable[[list[str]], set[str]] | None = None,
    code: bool = False,
    ways_of: Callable[[Reader, Walk], Ways] | None = None,
    everything: bool = True,
) -> Walk:
    """Follow the graph from entities, level by level: entity → activity → (earlier activities) → entities.

    `depth` bounds the entity-to-entity steps; `ends` says of entities newly found beyond which of them not to go;
    `code` follows what processes ran, too; `ways_of` says how entities lead on, where it is not from file to file;
    `everything` goes beyond the answers of the system's programs.
    """
    # What activities used may be very much, and is read with them only where it is wanted of each.
    walk = Walk(list(starts), forward, known=Nodes(reader, () if ways_of else (USED,)))
    walk.has_leaves = not (forward or code or ends or ways_of)
    ways = (ways_of or Ways)(reader, walk)
    walk.entities.update(dict.fromkeys(walk.starts, 0))
    frontier = list(walk.starts)
    while frontier and (depth is None or walk.level < depth):
        walk.level += 1
        found, direct = ways.from_entities(frontier)
        if code and forward:
            found |= _onward(reader, walk, frontier, RAN)
        activities = _informers(reader, walk, found - walk.activities)
        if code and not forward:
            direct |= _code(reader, walk, sorted(activities))
        frontier = []
        for iri in sorted(direct | ways.to_entities(activities)):
            if iri not in walk.entities:
                walk.entities[iri] = walk.level
                frontier.append(iri)
        stopped = (ends(frontier) if ends else set()) | (set() if everything else _answers(walk, frontier))
        frontier = [iri for iri in frontier if iri not in stopped]
    for activity, leaves in walk.leaves.items():
        for iri in walk.entities.keys() & leaves.keys():  # it was found on another way, too
            walk.edges[activity, USED, iri] = None
            walk.entities[iri] = min(walk.entities[iri], leaves.pop(iri)["depth"])
    return walk


def _answers(walk: Walk, frontier: list[str]) -> set[str]:
    """Those of these that the system answered to who asked: whatever its programs came from, he who asked does, too."""
    pipes = [iri for iri in frontier if "/pipe/" in iri]
    return {iri for iri in pipes if NOISE in walk.known.of(pipes)[iri]}


class Ways:
    """How entities lead to activities and to other entities: from file to file, whatever lies inside."""

    def __init__(self, reader: Reader, walk: Walk) -> None:
        self.reader, self.walk = reader, walk
        self.alternates = _few_alternates(reader)

    def from_entities(self, frontier: list[str]) -> tuple[set[str], set[str]]:
        """Return the activities and the other versions that entities lead to."""
        reader, walk = self.reader, self.walk
        found = _onward(reader, walk, frontier, USED if walk.forward else GENERATED)
        frontier = [iri for iri in frontier if not iri.startswith(CONFIGURATION)]  # a revision keeps nothing of it
        direct = _onward(reader, walk, frontier, *BETWEEN)
        if walk.forward:
            return found, direct | _said(walk, frontier, ALTERNATE)
        if self.alternates is None:
            return found, direct | _pointing(reader, walk, frontier, ALTERNATE)
        others = [(other, iri) for iri in frontier for other in self.alternates.get(iri, ())]
        walk.edges.update(((other, ALTERNATE, iri), None) for other, iri in others)
        return found, direct | {other for other, _ in others}

    def to_entities(self, activities: Iterable[str]) -> set[str]:
        """Return what activities used (forward: what they generated)."""
        reader, walk = self.reader, self.walk
        if walk.forward:
            return _pointing(reader, walk, sorted(activities), GENERATED)
        return _inputs(reader, walk, sorted(activities))


def _few_alternates(reader: Reader) -> dict[str, list[str]] | None:
    """All that is alternateOf anything, by what that is; None where it is too much to read at once."""
    found: dict[str, list[str]] = {}
    rows = list(reader.table(f"SELECT ?s ?o {{ ?s <{ALTERNATE}> ?o {_unless(ALTERNATE)} }} LIMIT {FEW + 1}"))
    for subject, object_ in rows:
        if not is_within_files(object_):
            found.setdefault(object_, []).append(subject)
    return found if len(rows) <= FEW else None


def _inputs(reader: Reader, walk: Walk, activities: list[str]) -> set[str]:
    """Note what activities used, and return that but for the leaves."""
    found = _said(walk, activities, USED)  # as noise
    for batch in batches(activities) if activities else ():
        pairs: Sequence[Sequence[str]] = _pairs(reader, batch, USED, MANY + 1 if walk.has_leaves else None)
        if walk.has_leaves and len(pairs) > MANY:
            from provio.ask import bulk_fetch

            read = bulk_fetch.inputs(reader, batch, walk.level)
            walk.leaves |= read.leaves if read else {}
            pairs = read.others if read else _pairs(reader, batch, USED)
        for activity, iri in pairs:
            walk.edges[activity, USED, iri] = None
            found.add(iri)
    return found


def _pairs(reader: Reader, subjects: list[str], predicate: str, most: int | None = None) -> list[list[str]]:
    """Return (subject, object) for the statements of these subjects with a predicate, at most `most`."""
    values = " ".join(f"<{iri}>" for iri in subjects)
    limit = "" if most is None else f" LIMIT {max(0, most)}"
    return list(reader.table(f"SELECT ?s ?o {{ VALUES ?s {{ {values} }} ?s <{predicate}> ?o }}{limit}"))


def _informers(reader: Reader, walk: Walk, activities: set[str]) -> set[str]:
    """All phases that these carry on or were launched by (forward: that carry these on)."""
    new, frontier = set(activities), set(activities)
    walk.activities |= activities
    while frontier:
        frontier = _onward(reader, walk, sorted(frontier), *INFORMERS) - walk.activities
        walk.activities |= frontier
        new |= frontier
    return new


def _onward(reader: Reader, walk: Walk, nodes: list[str], *predicates: str) -> set[str]:
    """Note the edges that lead on from `nodes`, and return where they lead."""
    return _pointing(reader, walk, nodes, *predicates) if walk.forward else _said(walk, nodes, *predicates)


def _said(walk: Walk, nodes: list[str], *predicates: str) -> set[str]:
    """Note the edges from `nodes`, as they say them, and return the objects."""
    found, known = set(), walk.known.properties
    if any(iri not in known for iri in nodes):
        walk.known.of(nodes)
    for iri in nodes:
        properties = known[iri]
        for predicate in predicates:
            apart = properties.get(SAME, ()) if predicate == ALTERNATE else ()
            for object_ in properties.get(predicate, ()):
                if object_ not in apart:
                    walk.edges[iri, predicate, object_] = None
                    found.add(object_)
    return found


def _code(reader: Reader, walk: Walk, activities: list[str]) -> set[str]:
    """Note what activities ran; asked of those alone, for other questions read no such edge."""
    found = set()
    for batch in batches(activities):
        for word in SPELT[RAN]:
            for subject, object_ in _pairs(reader, batch, word):
                walk.edges[subject, RAN, object_] = None
                found.add(object_)
    return found


def _pointing(reader: Reader, walk: Walk, nodes: list[str], *predicates: str) -> set[str]:
    """Note the edges to `nodes`, and return the subjects.

    One predicate a query: a list of them beside a list of nodes is many times slower.
    """
    found = set()
    spelt = [(predicate, word) for predicate in predicates for word in SPELT.get(predicate, (predicate,))]
    for batch, (predicate, word) in product(batches(nodes), spelt):
        values = " ".join(f"<{iri}>" for iri in batch)
        query = f"SELECT ?s ?o {{ VALUES ?o {{ {values} }} ?s <{word}> ?o {_unless(predicate)} }}"
        for subject, object_ in reader.table(query):
            if walk.inside or not is_within_files(subject):
                walk.edges[subject, predicate, object_] = None
                found.add(subject)
    return found


def _unless(predicate: str) -> str:
    return f"FILTER NOT EXISTS {{ ?s <{SAME}> ?o }}" if predicate == ALTERNATE else ""
