"""Adds the classes and properties that the ontology implies for the quads of a stored graph.

A node of the store has only provio's class. A small graph in the store lists the PROV classes that each class
implies, and queries go through it (`sparql_patterns`). Exports for other tools add the PROV classes to each node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from provio.base.vocab import NS, PROV, RDF, provio, superclasses, vocabulary

if TYPE_CHECKING:
    import pyoxigraph as ox

CLASSES = "https://w3id.org/provio/classes"  # the graph of the store that contains `lines()`
IMPLIES = NS + "impliesClass"
TYPE = RDF + "type"
ACCOMPANIED = ("Configuration", "Metric", "Checkpoint")  # a node of a subclass has this class too: `types_of_kind`
# The store contains these sub-properties only, without the wider property.
WIDER = {NS + "usedAsNoise": PROV + "used", NS + "ranAsNoise": NS + "ran"}
ONTOLOGY = "https://w3id.org/provio/ontology"  # the graph of the store with the user vocabulary


@cache
def classes() -> Mapping[str, tuple[str, ...]]:
    """Return the PROV classes that each stored class implies, the most general last.

    No two classes of the same node are keys here, so no class is implied twice.
    """
    kinds = [iri for iri in vocabulary().terms.values() if iri in vocabulary().parents]
    above = {provio(term) for term in ACCOMPANIED}
    stored = [iri for iri in kinds if not above & superclasses(iri) and iri != provio("Extensible")]
    return {iri: tuple(_prov(iri)) for iri in sorted([*stored, PROV + "Bundle"])}


def _prov(iri: str) -> list[str]:
    """Return the PROV superclasses of a class, the most general last."""
    above = [one for one in superclasses(iri) if one.startswith(PROV)]
    return sorted(above, key=lambda one: (-len(superclasses(one)), one))


@cache
def names() -> frozenset[str]:
    """Return the PROV classes that other classes imply."""
    return frozenset(one for found in classes().values() for one in found)


def types(term: str) -> list[str]:
    """Return a provio class and the PROV classes that it implies, the most general last."""
    return [provio(term), *_prov(provio(term))]


def lines() -> list[str]:
    """Return the graph `CLASSES` as N-Triples; each PROV class implies itself, for data that use it directly."""
    pairs = [(iri, one) for iri, found in classes().items() for one in found]
    pairs += [(one, one) for one in sorted(names())]
    return [f"<{iri}> <{IMPLIES}> <{one}> .\n" for iri, one in pairs]


def quads(stored: Iterable[ox.Quad]) -> Iterator[ox.Quad]:
    """Yield the quads of the store, each followed by the quads that it implies, without the graph `CLASSES` and its
    index entries."""
    import pyoxigraph as ox  # slow to import, and queries need only the names

    kind, own = ox.NamedNode(TYPE), ox.NamedNode(CLASSES)
    more = {ox.NamedNode(iri): tuple(map(ox.NamedNode, found)) for iri, found in classes().items()}
    wider = {ox.NamedNode(iri): ox.NamedNode(found) for iri, found in WIDER.items()}
    left_out = ox.NamedNode(IMPLIES)
    for quad in stored:
        subject, predicate, value, graph = quad
        if predicate == left_out or subject == own:
            continue
        yield quad
        if predicate == kind:
            for one in more.get(value, ()):
                yield ox.Quad(subject, kind, one, graph)
        elif predicate in wider:
            yield ox.Quad(subject, wider[predicate], value, graph)
