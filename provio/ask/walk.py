"""Reads nodes of the graph, and follows the graph from versions, backward or forward. In: starting points and a store.
Out: the visited part.

version → prov:wasGeneratedBy → phase → (carriedFrom | launchedBy)* → prov:used → version, and again; revisions and
alternates lead from version to version. `provio.ask.lineage` selects the shown part and computes the strength of the
ties.

A walk and the description of its result need the same nodes: each node is read from the store once, with all its
properties in one lookup. Properties that no lineage query needs (which process read a version, in which call …) are
not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product

from provio.ask.document import PIPES, Node, local_name
from provio.ask.housekeeping import rule_of
from provio.base.turtle import instant_text
from provio.base.vocab import NS, PROV, RDF, RDFS
from provio.lineage.identity import BASE, is_within_files
from provio.store import Reader

MANY = 2_000  # nodes: from this number on a bulk read is worthwhile
BATCH = 2_000
CONFIGURATION = BASE + "configuration/"
NOISE = NS + "noise"
USED, USED_AS_NOISE = PROV + "used", NS + "usedAsNoise"
NAMED_BY_FILE = PROV + "specializationOf"
FEW = 4  # nodes: to parse and plan a query takes longer than a lookup of each of them
# An ordered set: two runs that observed the same thing state the same properties twice.
Properties = Mapping[str, Mapping[str, None]]

# The properties that lead to other nodes or describe a node. The most frequent ones come first: the filter compares
# an unwanted property with all of them.
WANTED = (
    *(
        PROV + name
        for name in "used wasGeneratedBy specializationOf wasAssociatedWith startedAtTime endedAtTime".split()
    ),
    *(NS + name for name in "partOf path carriedFrom launchedBy continuedFrom noise pathEncoded".split()),
    *(NS + name for name in "usedAsNoise ranAsNoise".split()),
    *(PROV + name for name in "wasRevisionOf wasDerivedFrom alternateOf".split()),
    *(
        NS + name
        for name in "sameContentAs contentFrom mapsOnto madeIn format leadsTo without name nameEncoded".split()
    ),
    *(NS + name for name in "argv cwd host pid rank exitCode kind number sourceText status version".split()),
    RDFS + "label",
)
_OF_PROCESSES = frozenset(
    (
        *(PROV + name for name in "used wasAssociatedWith startedAtTime endedAtTime".split()),
        *(NS + name for name in "usedAsNoise ranAsNoise partOf carriedFrom launchedBy continuedFrom".split()),
        *(NS + name for name in "argv cwd host pid rank exitCode sourceText status".split()),
    )
)
FILE_WORDS = tuple(word for word in WANTED if word not in _OF_PROCESSES)
_IN_NAME = (NS + "size", NS + "modified")  # part of the name of a version
_CLASSES = (NS + "FileVersion", NS + "File", NS + "Phase")  # each recognisable by the form of the name
VERSION = re.compile(r"https://w3id\.org/provio/version/[^/]+/\d+\.\d+\.(\d+)\.(\d+)")
_PHASE = re.compile(r"https://w3id\.org/provio/run/.*\.[0-9a-z]+/phase/\d+(/\d+)?")  # not of a Task
_KEPT = frozenset((RDF + "type", *_IN_NAME, *WANTED))


def _any(predicates: Iterable[str]) -> str:
    return "||".join(f"?p=<{iri}>" for iri in predicates)


_REST = f"||?p=<{RDF}type>&&?o NOT IN(" + ",".join(f"<{iri}>" for iri in _CLASSES) + ")"


def batches(nodes: Iterable[str]) -> list[list[str]]:
    """Return the nodes in lists short enough for one query."""
    left = list(nodes)
    return [left[place : place + BATCH] for place in range(0, len(left), BATCH)]


class Nodes:
    """The nodes that were read so far: `properties` maps an IRI to a predicate to values."""

    def __init__(self, reader: Reader, without: Iterable[str] = ()) -> None:
        """Start with an empty cache; `without` are properties that the caller does not need, and that are not read."""
        self.reader, self._without = reader, frozenset(without)
        self._words = [word for word in FILE_WORDS if word not in self._without]
        self.properties: dict[str, dict[str, dict[str, None]]] = {}

    def of(self, iris: Iterable[str]) -> Mapping[str, Properties]:
        """Return a mapping with the properties of these IRIs (and of all IRIs requested before)."""
        new = {iri: _from_name(iri) for iri in iris if iri not in self.properties}
        if not new:
            return self.properties
        self.properties.update(new)
        if len(new) <= FEW:
            self._read_few(new)
            return self.properties
        if len(new) > MANY:
            self._read_files(new)
        wanted = [word for word in WANTED if word not in self._without]
        for batch in batches(iri for iri, known in new.items() if known):
            self._read(batch, _any(wanted) + _REST)
        for batch in batches(iri for iri, known in new.items() if not known):
            self._read(batch, _any((RDF + "type", *_IN_NAME, *wanted)))
        return self.properties

    def _read_files(self, new: dict[str, dict[str, dict[str, None]]]) -> None:
        """Read versions and files in bulk if they are very many, and remove them from `new`."""
        wanted = {iri for iri, known in new.items() if _IN_NAME[0] in known or iri.startswith("file://")}
        if len(wanted) > MANY:
            from provio.ask import bulk_fetch

            if bulk_fetch.add_files(self.reader, self.properties, wanted, self._words, _CLASSES):
                for iri in wanted:
                    del new[iri]

    def _read_few(self, new: Mapping[str, Properties]) -> None:
        filtered = [iri for iri in new if USED in self._without and "/run/" in iri]  # they may have used very many
        named = {iri for iri, known in new.items() if known}
        plain = [iri for iri in new if iri not in filtered]
        found: list[Sequence[str]] = [*self.reader.about(plain)] if plain else []
        if filtered:
            values = " ".join(f"<{iri}>" for iri in filtered)
            found += self.reader.table(f"SELECT ?s ?p ?o {{ VALUES ?s {{ {values} }} ?s ?p ?o FILTER(?p!=<{USED}>) }}")
        for iri, predicate, value in found:
            if predicate in _KEPT and not (iri in named and (predicate in _IN_NAME or value in _CLASSES)):
                _note(self.properties[iri], predicate, value)

    def _read(self, batch: list[str], wanted: str) -> None:
        # A number stands for each node in the result: the store need not look up the node's text for every row.
        values = " ".join(f"(<{iri}>{number})" for number, iri in enumerate(batch))
        query = f"SELECT ?n ?p ?o {{ VALUES (?s ?n) {{ {values} }} ?s ?p ?o FILTER({wanted}) }}"
        nodes = [self.properties[iri] for iri in batch]
        for number, predicate, value in self.reader.table(query):
            _note(nodes[int(number)], predicate, value)


def _note(properties: dict[str, dict[str, None]], predicate: str, value: str) -> None:
    """Add a value. A file used as noise counts as used, too."""
    properties.setdefault(predicate, {})[value] = None
    if predicate == USED_AS_NOISE:
        properties.setdefault(USED, {})[value] = None


def _from_name(iri: str) -> dict[str, dict[str, None]]:
    """Return the properties that follow from the name of a node, as `identity` makes names; {} for other names."""
    if version := VERSION.fullmatch(iri):
        return {
            RDF + "type": {_CLASSES[0]: None},
            NS + "modified": {instant_text(int(version[1])): None},
            NS + "size": {version[2]: None},
        }
    kind = _CLASSES[1] if iri.startswith("file://") else _CLASSES[2] if _PHASE.fullmatch(iri) else None
    return {RDF + "type": {kind: None}} if kind else {}


# The walk.


# The strength of a step as an index into lineage.STRENGTH (data, carried, control); a larger number is a tie by code.
RAN = NS + "ran"
WEIGHTS = {NS + "carriedFrom": 1, NS + "launchedBy": 2, RAN: 3}
GENERATED, ALTERNATE = PROV + "wasGeneratedBy", PROV + "alternateOf"
BETWEEN = (PROV + "wasDerivedFrom", PROV + "wasRevisionOf", NS + "contentFrom", NS + "mapsOnto", ALTERNATE)
HAD_MEMBER = PROV + "hadMember"  # the data flow from subject to object
SAME = NS + "sameContentAs"  # marks an alternateOf that only means equal content: it is no tie
NO_STEP = frozenset({NS + "contentFrom", ALTERNATE})  # ties between names of one content
INFORMERS = (NS + "continuedFrom", NS + "carriedFrom", NS + "launchedBy")
SPELT = {USED: (USED, USED_AS_NOISE), RAN: (RAN, NS + "ranAsNoise")}  # an edge, and its predicates in the store
AT_ONCE = 1_000  # up to this number, all edges of a kind are read at once instead of those of each node


@dataclass
class Walk:
    """The part of the graph that a walk found: edges as asserted, and for each node the steps to it.

    `leaves` are the inputs that lead no further, of activities that used very many files; `entities` and `edges` do
    not contain them.
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
    kept: bool = False,
) -> Walk:
    """Follow the graph from entities, level by level: entity → activity → (earlier activities) → entities.

    `depth` limits the steps from file to file; plumbing (a pipe, byte code) and its other end are in one step. `ends`
    returns those of the newly found entities beyond which the walk does not go. `code` also follows the programs that
    processes ran. `ways_of` determines the steps from entities; the default follows files. `everything` also goes
    beyond the replies of the system's programs, `kept` to data that workers may have kept.
    """
    # Activities may have very many inputs: they are read with the activity only if all are needed.
    walk = Walk(list(starts), forward, known=Nodes(reader, () if ways_of else (USED,)))
    walk.has_leaves = not (forward or code or ends or ways_of)
    ways = (ways_of or Ways)(reader, walk)
    walk.entities.update(dict.fromkeys(walk.starts, 0))
    frontier = list(walk.starts)
    while frontier and (depth is None or walk.level < depth or (frontier := _plumbing(walk, frontier))):
        walk.level += depth is None or walk.level < depth
        activities, direct = set[str](), set[str]()
        while frontier:
            count = len(walk.edges)
            found, entities = ways.from_entities(frontier)
            if code and forward:
                found |= _onward(reader, walk, frontier, RAN) | _libraries(reader, walk, frontier)
            activities |= found
            direct |= entities
            same = _same_content(islice(reversed(walk.edges), len(walk.edges) - count)) & entities
            frontier = _new(walk, same, walk.level - 1, ends, everything)
        activities = _informers(reader, walk, activities - walk.activities)
        if kept:
            from provio.ask import kept_memory  # few answers need it

            activities |= _informers(reader, walk, kept_memory.tie(reader, walk))
        if code and not forward:
            direct |= _code(reader, walk, sorted(activities)) | _libraries(reader, walk, sorted(activities))
        frontier = _new(walk, direct | ways.to_entities(activities), walk.level, ends, everything)
    for activity, leaves in walk.leaves.items():
        for iri in walk.entities.keys() & leaves.keys():  # another path leads to it, too
            walk.edges[activity, USED, iri] = None
            walk.entities[iri] = min(walk.entities[iri], leaves.pop(iri)["depth"])
    return walk


def _new(
    walk: Walk, found: set[str], depth: int, ends: Callable[[list[str]], set[str]] | None, everything: bool
) -> list[str]:
    """Add the entities that are new; return those of them beyond which the walk goes."""
    new = sorted(found - walk.entities.keys())
    walk.entities.update(dict.fromkeys(new, depth))
    stopped = (ends(new) if ends else set()) | (set() if everything else _answers(walk, new))
    return [iri for iri in new if iri not in stopped]


def _plumbing(walk: Walk, frontier: list[str]) -> list[str]:
    """Return the pipes and connections without a name, and the temporary files."""
    known, found = walk.known.of(frontier), []
    for iri in frontier:
        path = min(known[iri].get(NS + "path", ("",)))
        rule = rule_of(path)
        if rule.through if rule else not path and {*map(local_name, known[iri].get(RDF + "type", ()))} & PIPES:
            found.append(iri)
    return found


def _same_content(edges: Iterable[tuple[str, str, str]]) -> set[str]:
    """Return the versions on edges that lead to no other content: to the same content under another key, or from a
    version to the contribution of a process or phase."""
    found = set()
    for subject, predicate, object_ in edges:
        if (predicate in NO_STEP and "#" not in subject) or object_.startswith(subject + "~"):
            found |= {subject, object_}
    return found


def _answers(walk: Walk, frontier: list[str]) -> set[str]:
    """Return the replies of the system's programs (through pipes). Their inputs are already inputs of the requesting
    process."""
    pipes = [iri for iri in frontier if "/pipe/" in iri]
    return {iri for iri in pipes if NOISE in walk.known.of(pipes)[iri]}


class Ways:
    """The steps from entities to activities and to other entities, at the level of files."""

    def __init__(self, reader: Reader, walk: Walk) -> None:
        self.reader, self.walk = reader, walk
        self.alternates = _few_alternates(reader)

    def from_entities(self, frontier: list[str]) -> tuple[set[str], set[str]]:
        """Return the activities and the other versions that entities lead to."""
        reader, walk = self.reader, self.walk
        found = _onward(reader, walk, frontier, USED if walk.forward else GENERATED)
        frontier = [
            iri for iri in frontier if not iri.startswith(CONFIGURATION)
        ]  # a revision of a configuration keeps no data
        direct = _onward(reader, walk, frontier, *BETWEEN)
        if walk.forward:
            return found, direct | _stated(walk, frontier, ALTERNATE)
        if self.alternates is None:
            return found, direct | _pointing(reader, walk, frontier, ALTERNATE)
        others = [(other, iri) for iri in frontier for other in self.alternates.get(iri, ())]
        walk.edges.update(((other, ALTERNATE, iri), None) for other, iri in others)
        return found, direct | {other for other, _ in others}

    def to_entities(self, activities: Iterable[str]) -> set[str]:
        """Return the inputs of activities (forward: their products)."""
        reader, walk = self.reader, self.walk
        if walk.forward:
            return _pointing(reader, walk, sorted(activities), GENERATED)
        return _inputs(reader, walk, sorted(activities))


def _few_alternates(reader: Reader) -> dict[str, list[str]] | None:
    """Return the subjects of all alternateOf statements by their object; None if there are too many to read at
    once."""
    found: dict[str, list[str]] = {}
    rows = list(reader.table(f"SELECT ?s ?o {{ ?s <{ALTERNATE}> ?o {_unless(ALTERNATE)} }} LIMIT {AT_ONCE + 1}"))
    for subject, object_ in rows:
        if not is_within_files(object_):
            found.setdefault(object_, []).append(subject)
    return found if len(rows) <= AT_ONCE else None


def _inputs(reader: Reader, walk: Walk, activities: list[str]) -> set[str]:
    """Add the edges to the inputs of activities, and return the inputs without the leaves."""
    found = _stated(walk, activities, USED)  # as noise
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
    """Return these phases and all that they continue or were launched by (forward: that continue them)."""
    new, frontier = set(activities), set(activities)
    walk.activities |= activities
    while frontier:
        frontier = _onward(reader, walk, sorted(frontier), *INFORMERS) - walk.activities
        walk.activities |= frontier
        new |= frontier
    return new


def _onward(reader: Reader, walk: Walk, nodes: list[str], *predicates: str) -> set[str]:
    """Add the edges from `nodes` in the walk's direction, and return their other ends."""
    return _pointing(reader, walk, nodes, *predicates) if walk.forward else _stated(walk, nodes, *predicates)


def _stated(walk: Walk, nodes: list[str], *predicates: str) -> set[str]:
    """Add the edges of which `nodes` are the subjects, and return the objects."""
    found, known = set(), walk.known.properties
    if any(iri not in known for iri in nodes):
        walk.known.of(nodes)
    for iri in nodes:
        properties = known[iri]
        for predicate in predicates:
            excluded = properties.get(SAME, ()) if predicate == ALTERNATE else ()
            for object_ in properties.get(predicate, ()):
                if object_ not in excluded:
                    walk.edges[iri, predicate, object_] = None
                    found.add(object_)
    return found


def _code(reader: Reader, walk: Walk, activities: list[str]) -> set[str]:
    """Add the edges from activities to the programs that they ran; these edges are not read with the nodes."""
    found = set()
    for batch in batches(activities):
        for word in SPELT[RAN]:
            for subject, object_ in _pairs(reader, batch, word):
                walk.edges[subject, RAN, object_] = None
                found.add(object_)
    return found


def _libraries(reader: Reader, walk: Walk, nodes: list[str]) -> set[str]:
    """Add the edges between activities and the shared libraries that they had loaded, as to code that ran, and return
    the other ends. From activities only those libraries that a recorded run made: the others are of the system."""
    near, far, of_interest = ("o", "s", "") if walk.forward else ("s", "o", "?o prov:wasGeneratedBy ?maker")
    found = set()
    for batch in batches(nodes):
        values = " ".join(f"<{iri}>" for iri in batch)
        query = f"""SELECT DISTINCT ?s ?o {{ VALUES ?{near} {{ {values} }}
            ?s provio:loaded/prov:hadMember ?o . {of_interest} }}"""
        rows = list(reader.table(query))
        walk.edges.update(((subject, RAN, object_), None) for subject, object_ in rows)
        found |= {row["so".index(far)] for row in rows}
    return found


def _pointing(reader: Reader, walk: Walk, nodes: list[str], *predicates: str) -> set[str]:
    """Add the edges of which `nodes` are the objects, and return the subjects.

    Each query has one predicate: a list of predicates combined with a list of nodes is many times slower.
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
