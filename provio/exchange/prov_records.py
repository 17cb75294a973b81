"""The records of PROV-DM (entities, activities, agents and relations) of an export, for formats other than RDF.

In: the statements of PROV-O that an export has. Out: records, in the order of their nodes. The statements are sorted
by their subject in temporary files, so the memory does not grow with the number of runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Final, NamedTuple, cast

import pyoxigraph as ox

from provio.base.vocab import NS, PROV, RDF, RDFS
from provio.exchange import rdf
from provio.exchange.sorted_lines import SortedLines
from provio.store import implied

if TYPE_CHECKING:
    from provio.exchange.subject import Subject

# The formal arguments of each kind of record, in the order of PROV-N.
ARGUMENTS: Final[dict[str, tuple[str, ...]]] = {
    "entity": (),
    "activity": ("startTime", "endTime"),
    "agent": (),
    "used": ("activity", "entity", "time"),
    "wasGeneratedBy": ("entity", "activity", "time"),
    "wasInvalidatedBy": ("entity", "activity", "time"),
    "wasInformedBy": ("informed", "informant"),
    "wasDerivedFrom": ("generatedEntity", "usedEntity"),
    "wasAttributedTo": ("entity", "agent"),
    "wasAssociatedWith": ("activity", "agent", "plan"),
    "actedOnBehalfOf": ("delegate", "responsible"),
    "wasStartedBy": ("activity", "trigger"),
    "wasEndedBy": ("activity", "trigger"),
    "wasInfluencedBy": ("influencee", "influencer"),
    "specializationOf": ("specificEntity", "generalEntity"),
    "alternateOf": ("alternate1", "alternate2"),
    "hadMember": ("collection", "entity"),
}
TIMES: Final = frozenset({"startTime", "endTime", "time"})
BARE: Final = frozenset({"specializationOf", "alternateOf", "hadMember"})  # relations without attributes


class Record(NamedTuple):
    """A record. All names and values are terms of N-Triples; `arguments` are those of `ARGUMENTS`, empty if unknown.
    `name` is empty for a relation without an identifier. `attributes` are pairs of a property and a value."""

    kind: str
    name: str
    arguments: tuple[str, ...]
    attributes: list[tuple[str, str]]


TYPE: Final = f"<{RDF}type>"
_OWNER: Final = "<owner>"  # from a qualified node to the node that it qualifies: the reverse of the stored statement
_CLASSES: Final = f"<{implied.CLASSES}>"
_CONFIGURATION: Final = "<https://w3id.org/provio/configuration/"


def _prov(name: str) -> str:
    return f"<{PROV}{name}>"


# A statement with one of these properties is a relation of this kind; the second is its type, if it has one.
_RELATIONS: Final[dict[str, tuple[str, str]]] = {
    **{_prov(kind): (kind, "") for kind in ARGUMENTS if kind not in ("entity", "activity", "agent")},
    f"<{NS}usedAsNoise>": ("used", f"<{NS}usedAsNoise>"),
    **{f"<{NS}{name}>": ("wasInformedBy", f"<{NS}{name}>") for name in ("carriedFrom", "continuedFrom", "launchedBy")},
    f"<{NS}mapsOnto>": ("wasDerivedFrom", f"<{NS}mapsOnto>"),
    _prov("wasRevisionOf"): ("wasDerivedFrom", _prov("Revision")),
    _prov("hadPrimarySource"): ("wasDerivedFrom", _prov("PrimarySource")),
    _prov("wasQuotedFrom"): ("wasDerivedFrom", _prov("Quotation")),
}
# Properties of RDF that PROV-DM has as its own.
_SPECIAL: Final = {TYPE: _prov("type"), f"<{RDFS}label>": _prov("label"), _prov("atLocation"): _prov("location")}
_MOMENTS: Final = {
    _prov(name): name for name in ("startedAtTime", "endedAtTime", "generatedAtTime", "invalidatedAtTime", "atTime")
}
_QUALIFIED: Final = {_prov("Usage"): "used", _prov("Association"): "wasAssociatedWith"}
_QUALIFIES: Final = {_prov("qualifiedUsage"): "used", _prov("qualifiedAssociation"): "wasAssociatedWith"}
_POINTS: Final = re.compile(rb"> <%bqualified[A-Za-z]+> (<[^>]*>) \.\n" % PROV.encode())
_KINDS: Final = {_prov("Entity"): "entity", _prov("Activity"): "activity", _prov("Agent"): "agent"}


@contextmanager
def records(subject: Subject) -> Iterator[Iterator[Record]]:
    """Yield the records of an export; the temporary files are removed at the end."""
    with SortedLines(_reversed) as lines:
        file = cast("IO[bytes]", lines)
        if rdf.is_answer(subject) or subject.hide.kinds:
            triples = (quad.triple for quad in rdf.quads(subject))
            ox.serialize(triples, file, format=ox.RdfFormat.N_TRIPLES)
        else:
            for graph in rdf.graphs_of(subject):
                subject.reader.dump(graph, file)
        yield _records(lines)


def prov_property(term: str) -> str:
    """Return the attribute of PROV-DM for a property of RDF."""
    return _SPECIAL.get(term, term)


def _reversed(lines: bytes) -> Iterable[bytes]:
    """Return a statement about each qualified node that names the node to which it belongs."""
    return [
        b"%b %b %b .\n"
        % (found[1], _OWNER.encode(), lines[lines.rfind(b"\n", 0, found.start()) + 1 : found.start() + 1])
        for found in _POINTS.finditer(lines)
    ]


def _of_node(name: str, statements: list[tuple[str, str]]) -> Iterator[Record]:
    return iter(()) if name == _CLASSES else _Node(name, statements).records()


def _records(lines: Iterable[bytes]) -> Iterator[Record]:
    subject = ""
    statements: list[tuple[str, str]] = []
    for line in lines:
        name, predicate, value = line[:-3].decode().split(" ", 2)
        if name != subject:
            yield from _of_node(subject, statements)
            subject, statements = name, []
        statements.append((predicate, value))
    yield from _of_node(subject, statements)


class _Node:
    """The statements about a node, by their meaning in PROV-DM."""

    def __init__(self, name: str, statements: list[tuple[str, str]]) -> None:
        self.name = name
        self.types: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.moments: dict[str, str] = {}
        self.relations: dict[tuple[str, str], list[str]] = {}  # the types of each relation to another node
        self.qualified: set[str] = set()
        for pair in statements:
            predicate, value = pair
            if relation := _RELATIONS.get(predicate):
                kind, its_type = relation
                self.relations.setdefault((kind, value), []).extend([its_type] if its_type else ())
            elif predicate == TYPE:
                self.types.append(value)
            elif predicate in _MOMENTS:
                moment = _MOMENTS[predicate]
                later = max if moment == "endedAtTime" else min  # several runs may state the same activity
                self.moments[moment] = later(value, self.moments.get(moment, value))
            elif predicate in _QUALIFIES:
                self.qualified.add(_QUALIFIES[predicate])
            else:
                self.attributes.append(pair)

    def records(self) -> Iterator[Record]:
        """Yield the records of the node: as an entity, activity or agent, and its relations to others."""
        kinds, shown = _kinds(tuple(self.types))
        self.attributes += [(TYPE, one) for one in shown]
        if kinds[:1] in (("used",), ("wasAssociatedWith",)):
            yield _qualified(kinds[0], self.name, self.attributes, self.moments)
            return
        for kind in kinds:
            moments = [self.moments.get(one, "") for one in ("startedAtTime", "endedAtTime") if kind == "activity"]
            yield Record(kind, self.name, tuple(moments), self.attributes)
        yield from self._related()

    def _related(self) -> Iterator[Record]:
        last = {"wasGeneratedBy": self.moments.get("generatedAtTime", "")}
        last["wasInvalidatedBy"] = self.moments.get("invalidatedAtTime", "")
        for (kind, value), its_types in self.relations.items():
            if kind in self.qualified and (kind != "used" or value.startswith(_CONFIGURATION)):
                continue  # there is a qualified one for it
            third = (last.get(kind, ""),) if len(ARGUMENTS[kind]) == 3 else ()
            yield Record(kind, "", (self.name, value, *third), [(TYPE, one) for one in its_types])
        made = {kind for kind, _ in self.relations}
        for kind, moment in last.items():
            if moment and kind not in made:
                yield Record(kind, "", (self.name, "", moment), [])


def _qualified(kind: str, node: str, attributes: list[tuple[str, str]], moments: dict[str, str]) -> Record:
    """Return a usage or an association with its identifier, time or plan."""
    second, third = (_prov("entity"), "") if kind == "used" else (_prov("agent"), _prov("hadPlan"))
    known = {predicate: value for predicate, value in attributes if predicate in (_OWNER, second, third)}
    last = known.get(third, "") if third else moments.get("atTime", "")
    rest = [(predicate, value) for predicate, value in attributes if predicate not in known]
    return Record(kind, node, (known.get(_OWNER, ""), known.get(second, ""), last), rest)


@lru_cache(maxsize=1024)
def _kinds(types: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the kinds of records of a node with these classes, and the classes that its records state."""
    for one in types:
        if one in _QUALIFIED:
            return (_QUALIFIED[one],), ()
    known = implied.classes()
    every = dict.fromkeys(types)
    for one in types:
        every |= dict.fromkeys(f"<{more}>" for more in known.get(one[1:-1], ()))
    kinds = tuple(kind for name, kind in _KINDS.items() if name in every)
    return kinds, tuple(one for one in every if one not in _KINDS)
