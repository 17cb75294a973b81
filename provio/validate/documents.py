"""Reads files into graphs to validate: one for the default graph and one for each named graph, each a separate
bundle.

It first adds the statements that PROV-O permits to omit: the plain relation of a qualified one, PROV's own
superproperties and superclasses, and (separately, as `urn:provio:typeOf`) the type of a node that follows from its
position in a relation.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pyoxigraph as ox

from provio.base.errors import NothingKnown, ProvioError
from provio.base.vocab import PREFIXES, PROV
from provio.validate import statements
from provio.validate.rules import Graph

FORMATS = {
    ".ttl": ox.RdfFormat.TURTLE,
    ".trig": ox.RdfFormat.TRIG,
    ".nq": ox.RdfFormat.N_QUADS,
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".n3": ox.RdfFormat.N3,
    ".rdf": ox.RdfFormat.RDF_XML,
    ".owl": ox.RdfFormat.RDF_XML,
    ".jsonld": ox.RdfFormat.JSON_LD,
}
STATEMENTS = (".json", ".provjson", ".xml", ".provx")
SUFFIXES = (*FORMATS, *STATEMENTS)

QUALIFIED = {
    "Generation": ("wasGeneratedBy", "activity"), "Usage": ("used", "entity"), "Start": ("wasStartedBy", "entity"),
    "Invalidation": ("wasInvalidatedBy", "activity"), "End": ("wasEndedBy", "entity"),
    "Communication": ("wasInformedBy", "activity"), "Association": ("wasAssociatedWith", "agent"),
    "Attribution": ("wasAttributedTo", "agent"), "Delegation": ("actedOnBehalfOf", "agent"),
    "Derivation": ("wasDerivedFrom", "entity"), "Influence": ("wasInfluencedBy", "influencer"),
}  # fmt: skip
NARROWER = {
    "wasRevisionOf": "wasDerivedFrom", "wasQuotedFrom": "wasDerivedFrom", "hadPrimarySource": "wasDerivedFrom",
    "qualifiedRevision": "qualifiedDerivation", "qualifiedQuotation": "qualifiedDerivation",
    "qualifiedPrimarySource": "qualifiedDerivation",
}  # fmt: skip
INVERSE = {"generated": "wasGeneratedBy", "invalidated": "wasInvalidatedBy", "influenced": "wasInfluencedBy"}
KINDS = {
    "Bundle": "Entity", "Plan": "Entity", "EmptyCollection": "Entity", "Collection": "Entity",
    "Person": "Agent", "Organization": "Agent", "SoftwareAgent": "Agent",
    "Revision": "Derivation", "Quotation": "Derivation", "PrimarySource": "Derivation",
}  # fmt: skip
# For relations between entities and activities: the type of each end (PROV-CONSTRAINTS, constraint 50).
ENDS = {
    "used": ("Activity", "Entity"), "wasGeneratedBy": ("Entity", "Activity"),
    "wasInvalidatedBy": ("Entity", "Activity"), "wasStartedBy": ("Activity", "Entity"),
    "wasEndedBy": ("Activity", "Entity"), "wasInformedBy": ("Activity", "Activity"),
    "wasAssociatedWith": ("Activity", ""), "wasAttributedTo": ("Entity", ""), "hadMember": ("Entity", "Entity"),
    "wasDerivedFrom": ("Entity", "Entity"), "specializationOf": ("Entity", "Entity"),
    "alternateOf": ("Entity", "Entity"), "hadPlan": ("", "Entity"),
}  # fmt: skip


def graphs(path: Path) -> list[Graph]:
    """Return the graphs of a file: a document and its bundles are validated separately, as PROV-CONSTRAINTS requires.

    Raises NothingKnown if there is no such file, ProvioError (with the line) if its content does not match its
    suffix.
    """
    stores: dict[ox.NamedNode | ox.BlankNode | ox.DefaultGraph, list[ox.Quad]] = {}
    for quad in _read(path):
        plain = ox.Quad(quad.subject, quad.predicate, quad.object)
        stores.setdefault(quad.graph_name, []).append(plain)
    found = []
    for name, quads in stores.items():
        graph = Graph(ox.Store())
        graph.store.bulk_extend(quads)
        _complete(graph.store)
        graph.label = name.value if isinstance(name, ox.NamedNode | ox.BlankNode) else None
        found.append(graph)
    return found


def _read(path: Path) -> Iterator[ox.Quad]:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ProvioError(f"{path}: unknown format: give it one of these suffixes: {' '.join(SUFFIXES)}")
    try:
        if suffix in FORMATS:
            yield from ox.parse(path=path, format=FORMATS[suffix], base_iri=path.resolve().as_uri(), lenient=True)
        elif suffix in (".json", ".provjson"):
            yield from statements.quads(statements.of_json(path.read_text(encoding="utf-8")))
        else:
            with path.open("rb") as stream:
                yield from statements.quads(statements.of_xml(stream))
    except SyntaxError as error:  # also ElementTree's ParseError
        line, column = getattr(error, "position", (error.lineno, error.offset))
        reason = " ".join(str(error.msg).split())
        place = f"{path}:{line}:{column}" if line is not None else path
        raise ProvioError(f"{place}: {reason}: correct the file, or give it the suffix of its format") from error
    except FileNotFoundError as error:
        raise NothingKnown(f"there is no file {path}") from error
    except RecursionError as error:
        raise ProvioError(f"{path}: nested too deeply to be read") from error
    except (AttributeError, TypeError, ValueError, ElementTree.ParseError) as error:
        raise ProvioError(f"{path}: not in the format of its suffix: {' '.join(str(error).split())}") from error


def _complete(store: ox.Store) -> None:
    for update in _updates():
        store.update(update, prefixes=PREFIXES)


def _updates() -> Iterator[str]:
    for narrow, wide in NARROWER.items():
        yield f"INSERT {{ ?s prov:{wide} ?o }} WHERE {{ ?s prov:{narrow} ?o }}"
    for narrow, wide in INVERSE.items():
        yield f"INSERT {{ ?o prov:{wide} ?s }} WHERE {{ ?s prov:{narrow} ?o }}"
    for narrow, wide in KINDS.items():
        yield f"INSERT {{ ?s a prov:{wide} }} WHERE {{ ?s a prov:{narrow} }}"
    for kind, (plain, end) in QUALIFIED.items():
        yield (
            f"INSERT {{ ?s prov:{plain} ?o }} WHERE "
            f"{{ ?s prov:qualified{kind} ?q . ?q prov:{end} ?o . FILTER(?o != <{statements.NONE.value}>) }}"
        )
        yield f"INSERT {{ ?q a prov:{kind} }} WHERE {{ ?s prov:qualified{kind} ?q }}"
    for kind, time in (("Start", "startedAtTime"), ("End", "endedAtTime")):
        yield (
            f"INSERT {{ ?s prov:{time} ?t }} WHERE {{ ?s prov:qualified{kind} ?q . ?q prov:atTime ?t . "
            f"FILTER NOT EXISTS {{ ?s prov:{time} ?other }} }}"
        )
    for plain, ends in ENDS.items():
        for node, kind in zip(("?s", "?o"), ends, strict=True):
            if kind:
                yield f"INSERT {{ {node} <urn:provio:typeOf> <{PROV}{kind}> }} WHERE {{ ?s prov:{plain} ?o }}"
