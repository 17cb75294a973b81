"""The shapes: the example conforms, and each violation is reported."""

from pathlib import Path

import pytest
from pyoxigraph import Quad
from pyshacl import validate
from rdflib import RDF, Graph, Literal, Namespace, URIRef
from test_prov_package import FORMATS, lost, quads

from provio.base import vocab
from provio.merge import partitions
from provio.merge.partitions import Partitions
from provio.settings.schema import Config
from provio.store import implied
from provio.trace.read import read_run

ONTOLOGY = Path(__file__).resolve().parent.parent.parent / "ontology"
RUN = Path(__file__).resolve().parent.parent / "traces" / "good" / "01936b2e-7c00-7abc-8def-0123456789ab"
NS = Namespace(vocab.NS)
PROV = Namespace(vocab.PROV)


@pytest.fixture
def example() -> Graph:
    return Graph().parse(ONTOLOGY / "example.ttl")


def report(graph: Graph) -> tuple[bool, str]:
    conforms, _, text = validate(
        graph,
        shacl_graph=Graph().parse(ONTOLOGY / "shapes.ttl"),
        ont_graph=Graph().parse(ONTOLOGY / "provio.ttl"),
        inference="none",
    )
    return bool(conforms), str(text)


def first(graph: Graph, kind: URIRef, having: URIRef | None = None) -> URIRef:
    found = graph.subjects(RDF.type, kind)
    return next(s for s in sorted(found) if isinstance(s, URIRef) and (having is None or (s, having, None) in graph))


@pytest.mark.integration
def test_the_example_is_well_formed(example: Graph) -> None:
    conforms, text = report(example)
    assert conforms, text


def test_the_example_shows_each_kind_of_node_and_relation(example: Graph) -> None:
    shown = {str(term) for triple in example for term in triple if str(term).startswith((vocab.NS, vocab.PROV))}
    classes = "Run Process Phase Copy Open Read Write Delete User Program Thread File FileVersion Pipe Dataset Gap"
    relations = "carriedFrom launchedBy partOf wasOpenedBy wasReadBy wasWrittenBy noise about"
    assert {vocab.provio(word) for word in (classes + " " + relations).split()} <= shown
    relations = """used wasGeneratedBy wasInformedBy wasAssociatedWith qualifiedAssociation hadPlan actedOnBehalfOf
        wasAttributedTo specializationOf wasRevisionOf wasDerivedFrom alternateOf wasInvalidatedBy hadMember"""
    assert {vocab.PROV + word for word in relations.split()} <= shown


def test_an_entity_has_an_explicit_type(example: Graph) -> None:
    example.remove((first(example, NS.File), RDF.type, PROV.Entity))
    assert "an entity must be typed prov:Entity too" in report(example)[1]


@pytest.mark.integration
def test_no_node_is_both_an_entity_and_an_activity(example: Graph) -> None:
    example.add((first(example, NS.FileVersion), RDF.type, PROV.Activity))
    assert not report(example)[0]


@pytest.mark.integration
def test_types_that_a_store_does_not_infer_are_asserted(example: Graph) -> None:
    phase = first(example, NS.Phase, NS.carriedFrom)
    example.remove((phase, PROV.wasInformedBy, None))
    assert "carriedFrom without prov:wasInformedBy" in report(example)[1]


def test_a_version_is_generated_once(example: Graph) -> None:
    version = first(example, NS.FileVersion, PROV.wasGeneratedBy)
    for phase in example.subjects(RDF.type, NS.Phase):
        example.add((version, PROV.wasGeneratedBy, phase))
    assert "one generation a version" in report(example)[1]


def test_only_phases_tasks_and_copies_generate(example: Graph) -> None:
    version = first(example, NS.FileVersion, PROV.wasGeneratedBy)
    example.set((version, PROV.wasGeneratedBy, first(example, NS.Process)))
    assert not report(example)[0]


def test_nothing_ends_before_it_begins(example: Graph) -> None:
    phase = first(example, NS.Phase)
    example.set(
        (phase, PROV.endedAtTime, Literal("1999-01-01T00:00:00.000000Z", datatype=URIRef(vocab.XSD + "dateTime")))
    )
    assert not report(example)[0]


def test_a_process_has_one_program(example: Graph) -> None:
    process = first(example, NS.Process)
    for program in example.subjects(RDF.type, NS.Program):
        example.add((process, PROV.wasAssociatedWith, program))
    assert not report(example)[0]


@pytest.fixture(scope="module")
def merged() -> list[Quad]:
    """Return the exported graph of a hand-written run folder with a record of each frequent kind."""
    trace = read_run(RUN)
    assert not trace.damages
    return list(implied.quads(quads("".join(partitions.prepare(Partitions(trace), Config()).pieces))))


@pytest.mark.integration
def test_a_merged_graph_is_well_formed(merged: list[Quad]) -> None:
    text = "".join(f"{quad.triple} .\n" for quad in merged)
    conforms, text = report(Graph().parse(data=text, format="nt"))
    assert conforms, text


@pytest.mark.parametrize("form", FORMATS)
def test_a_merged_graph_is_read_whole_by_prov(merged: list[Quad], form: str) -> None:
    assert lost(merged, form) == (set(), set())
