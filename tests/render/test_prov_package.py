"""The graph, read by the package `prov`: every record and every attribute arrives, from each format.

Other tests use `lost(quads, format)` for their graphs: it is empty if nothing was lost.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyoxigraph
import pytest
from prov.constants import PROV_ID_ATTRIBUTES_MAP
from prov.identifier import Identifier
from prov.model import Literal, ProvDocument, ProvElement, ProvRecord
from pyoxigraph import NamedNode, Quad, RdfFormat

from provio.base.vocab import NS, PREFIXES, PROV, RDF, RDFS, XSD

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "ontology" / "example.ttl"
BUNDLE = "https://w3id.org/provio/run/01936b2e-7c00-7abc-8def-0123456789ab/bundle"
FORMATS = {
    "trig": RdfFormat.TRIG,
    "nquads": RdfFormat.N_QUADS,
    "turtle": RdfFormat.TURTLE,
    "nt": RdfFormat.N_TRIPLES,
}
ELEMENTS = ("Entity", "Activity", "Agent")
RELATIONS = {
    "used": "Usage",
    "wasGeneratedBy": "Generation",
    "wasInvalidatedBy": "Invalidation",
    "wasInformedBy": "Communication",
    "wasDerivedFrom": "Derivation",
    "wasAssociatedWith": "Association",
    "wasAttributedTo": "Attribution",
    "actedOnBehalfOf": "Delegation",
    "specializationOf": "Specialization",
    "alternateOf": "Alternate",
    "hadMember": "Membership",
    "wasInfluencedBy": "Influence",
    "wasStartedBy": "Start",
    "wasEndedBy": "End",
}
QUALIFYING = {"qualifiedAssociation", "agent", "hadPlan"}

# ("element", graph, kind, IRI) · ("relation", graph, kind, from, to) · ("plan", graph, association, plan)
# · ("attribute", graph, IRI, property, value); the graph is empty for the default graph.
Record = tuple[str, ...]


def lost(quads: Iterable[Quad], form: str) -> tuple[set[Record], set[Record]]:
    """The records of a graph that `prov` does not read from it in a format, and those that it reads beyond them."""
    quads = set(quads)
    flat = not FORMATS[form].supports_datasets
    if flat:
        quads = {Quad(q.subject, q.predicate, q.object) for q in quads}
    data = pyoxigraph.serialize(quads, format=FORMATS[form], prefixes=None if form in ("nt", "nquads") else PREFIXES)
    document = ProvDocument.deserialize(content=data.decode(), format="rdf", rdf_format=form)
    expected, found = set(records_of_graph(quads)), set(records_of_document(document))
    return expected - found, found - expected


def records_of_graph(quads: Iterable[Quad]) -> Iterator[Record]:
    """Return the records of a graph, by the rules of PROV-O."""
    quads = list(quads)
    elements = {_key(q) for q in quads if q.predicate.value == RDF + "type" and _local(q.object.value) in ELEMENTS}
    for quad in quads:
        graph, subject = _key(quad)
        predicate, value = quad.predicate.value, quad.object
        word = _local(predicate) if predicate.startswith(PROV) else ""
        if predicate == RDF + "type" and _local(value.value) in ELEMENTS:
            yield "element", graph, _local(value.value), subject
        elif word in RELATIONS:
            yield "relation", graph, RELATIONS[word], subject, value.value
        elif word == "hadPlan":
            yield "plan", graph, subject, value.value
        elif word in QUALIFYING or (graph, subject) not in elements:
            assert word in QUALIFYING or value.value == PROV + "Association", f"prov cannot keep {quad}"
        else:
            yield "attribute", graph, subject, predicate, _lexical(value)


def records_of_document(document: ProvDocument) -> Iterator[Record]:
    """Return the records that `prov` read."""
    for graph, container in [("", document), *((b.identifier.uri, b) for b in document.bundles)]:
        for record in container.records:
            yield from _element(graph, record) if isinstance(record, ProvElement) else _relation(graph, record)


def _element(graph: str, record: ProvRecord) -> Iterator[Record]:
    iri = record.identifier.uri
    yield "element", graph, record.get_type().localpart, iri
    for name, value in record.attributes:
        yield "attribute", graph, iri, _property(name), _lexical(value)


def _relation(graph: str, record: ProvRecord) -> Iterator[Record]:
    ends = [value.uri for _, value in record.formal_attributes[:2]]
    yield "relation", graph, record.get_type().localpart, *ends
    if record.identifier and record.args[2]:
        yield "plan", graph, record.identifier.uri, record.args[2].uri


def _property(name: Identifier) -> str:
    renamed = {
        PROV + "type": RDF + "type",
        PROV + "label": RDFS + "label",
        PROV + "startTime": PROV + "startedAtTime",
        PROV + "endTime": PROV + "endedAtTime",
    }
    assert name not in PROV_ID_ATTRIBUTES_MAP or name.uri in renamed, name
    return renamed.get(name.uri, name.uri)


def _lexical(value: object) -> str:
    """A value as both sides spell it: times in UTC with six digits."""
    if isinstance(value, Identifier):
        return value.uri
    if isinstance(value, pyoxigraph.Literal) and value.datatype.value == XSD + "dateTime":
        value = datetime.fromisoformat(value.value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Literal | NamedNode | pyoxigraph.Literal):
        return str(value.value)
    return str(value)


def _key(quad: Quad) -> tuple[str, str]:
    return getattr(quad.graph_name, "value", ""), quad.subject.value


def _local(iri: str) -> str:
    return iri[len(PROV) :] if iri.startswith(PROV) else ""


def quads(turtle: str) -> list[Quad]:
    head = f"@prefix : <{NS}> . @prefix prov: <{PROV}> . @base <https://w3id.org/provio/run/R/> .\n"
    return [*pyoxigraph.parse(head + turtle, format=RdfFormat.TURTLE)]


@pytest.fixture(scope="module")
def example() -> list[Quad]:
    graph = NamedNode(BUNDLE)
    parsed = pyoxigraph.parse(path=EXAMPLE, format=RdfFormat.TURTLE)
    return [Quad(q.subject, q.predicate, q.object, graph) for q in parsed]


@pytest.mark.parametrize("form", FORMATS)
def test_the_example_is_read_whole(example: list[Quad], form: str) -> None:
    assert lost(example, form) == (set(), set())


def test_the_index_beside_the_bundles_is_read_too(example: list[Quad]) -> None:
    index = quads(f'<{BUNDLE}> a prov:Bundle, prov:Entity ; :ofRun <{BUNDLE[:-7]}> ; :contentHash "00" .')
    assert lost(example + index, "trig") == (set(), set())


@pytest.mark.parametrize(
    "path",
    ["a%20b%23%25", "%C3%A9%FF'()*,;=:@&=+$!~", "trailing;", "folder/", "", "x~node07.4711.82113.0", "é/日本"],
)
def test_odd_names_are_read(path: str) -> None:
    graph = quads(
        f'<file://d/{path}> a :File, prov:Entity ; :path "\\"\\n<>\\\\" .'
        f"<https://w3id.org/provio/version/d/{path}> a :FileVersion, prov:Entity ;"
        f" prov:specializationOf <file://d/{path}> ; prov:hadMember <https://w3id.org/provio/version/d/{path}#/g/@n> ."
        f"<https://w3id.org/provio/version/d/{path}#/g/@n> a :Attribute, prov:Entity ."
    )
    assert lost(graph, "trig") == lost(graph, "nt") == (set(), set())


@pytest.mark.parametrize(
    "turtle",
    [
        pytest.param("<p> a prov:SoftwareAgent, :Program .", id="an agent without prov:Agent"),
        pytest.param("<v> a prov:Plan, :FileVersion .", id="a plan without prov:Entity"),
    ],
)
def test_a_node_without_one_of_the_three_kinds_is_refused(turtle: str) -> None:
    with pytest.raises(AssertionError, match="prov cannot keep"):
        list(records_of_graph(quads(turtle)))


@pytest.mark.parametrize(
    "turtle",
    [
        pytest.param("<v> a prov:Entity, prov:Activity .", id="an entity that is an activity"),
        pytest.param(
            "<p/> a prov:Activity ; prov:wasAssociatedWith <program>, <user> ; prov:qualifiedAssociation <a> ."
            "<a> a prov:Association ; prov:agent <program> . <program> a prov:Agent . <user> a prov:Agent .",
            id="two associations, one of them qualified",
        ),
    ],
)
def test_what_prov_does_not_keep_is_noticed(turtle: str) -> None:
    assert lost(quads(turtle), "turtle")[0]
