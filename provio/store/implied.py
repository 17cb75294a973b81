"""What the ontology implies of a stored graph: quads of the store in, the same with PROV's own classes out.

A node of the store has provio's class alone. Which classes of PROV that implies is a small graph in the store, which
questions go through (`class_patterns`); what leaves the store for other tools has them at each node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from provio.base.vocab import NS, PROV, RDF, provio, superclasses, vocabulary

if TYPE_CHECKING:
    import pyoxigraph as ox

CLASSES = "https://w3id.org/provio/classes"  # the graph of the store that holds `lines()`
IMPLIES = NS + "impliesClass"
TYPE = RDF + "type"
ACCOMPANIED = ("Configuration", "Metric", "Checkpoint")  # a node of a class below has this one too: `kinds.types`
# Sub-properties that are stored alone.
WIDER = {NS + "usedAsNoise": PROV + "used", NS + "ranAsNoise": NS + "ran"}
ONTOLOGY = "https://w3id.org/provio/ontology"  # the graph of the store that holds the user's own words


@cache
def classes() -> Mapping[str, tuple[str, ...]]:
    """Return which classes of PROV each stored class implies, the most general last.

    Of the classes that one node has, no two are here, so that nothing is implied twice.
    """
    kinds = [iri for iri in vocabulary().terms.values() if iri in vocabulary().parents]
    above = {provio(term) for term in ACCOMPANIED}
    stored = [iri for iri in kinds if not above & superclasses(iri) and iri != provio("Extensible")]
    return {iri: tuple(_prov(iri)) for iri in sorted([*stored, PROV + "Bundle"])}


def _prov(iri: str) -> list[str]:
    """PROV's classes above a class, the most general last."""
    above = [one for one in superclasses(iri) if one.startswith(PROV)]
    return sorted(above, key=lambda one: (-len(superclasses(one)), one))


@cache
def names() -> frozenset[str]:
    """Return the classes of PROV that are implied by others."""
    return frozenset(one for found in classes().values() for one in found)


def types(term: str) -> list[str]:
    """Return a class of provio's and the classes of PROV that it implies, the most general last."""
    return [provio(term), *_prov(provio(term))]


def lines() -> list[str]:
    """Return the graph `CLASSES` as N-Triples; each class of PROV implies itself, for data that state it."""
    pairs = [(iri, one) for iri, found in classes().items() for one in found]
    pairs += [(one, one) for one in sorted(names())]
    return [f"<{iri}> <{IMPLIES}> <{one}> .\n" for iri, one in pairs]


def quads(stored: Iterable[ox.Quad]) -> Iterator[ox.Quad]:
    """Yield quads of the store, each with what it implies after it, and without the graph `CLASSES` and its index."""
    import pyoxigraph as ox  # expensive to load, and a question needs the names alone

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
