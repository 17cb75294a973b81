"""Implied classes: no node has two classes that imply the same, and exports contain all implied statements."""

from __future__ import annotations

import json

import pyoxigraph as ox
import pytest
from conftest import Project

from provio.base import vocab
from provio.base.vocab import NS, PROV
from provio.graph import declarations
from provio.store import implied

HEAD = f"@prefix : <{NS}> . @prefix prov: <{PROV}> . @prefix x: <urn:x:> . "


def quads(turtle: str, graph: str = "urn:g") -> list[ox.Quad]:
    found = ox.parse(HEAD + turtle + " .", format=ox.RdfFormat.TURTLE)
    return [ox.Quad(*quad.triple, ox.NamedNode(graph)) for quad in found]


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("FileVersion", [NS + "FileVersion", PROV + "Entity"]),
        ("Read", [NS + "Read", PROV + "Activity"]),
        ("Program", [NS + "Program", PROV + "SoftwareAgent", PROV + "Agent"]),
        ("User", [NS + "User", PROV + "Person", PROV + "Agent"]),
        ("Host", [NS + "Host", PROV + "Entity", PROV + "Location"]),
        ("Loss", [NS + "Loss", PROV + "Entity"]),
    ],
)
def test_types_are_all_that_a_store_would_have_to_infer_of_prov(term: str, expected: list[str]) -> None:
    """The class, and its superclasses of PROV."""
    assert implied.types(term) == expected


def test_these_classes_of_prov_are_implied() -> None:
    """The store omits no others; each of them implies itself."""
    names = {PROV + name for name in "Entity Activity Agent Person SoftwareAgent Location".split()}
    assert implied.names() == names
    assert {f"<{name}> <{implied.IMPLIES}> <{name}> .\n" for name in names} < set(implied.lines())
    assert not any("Plan" in line for line in implied.lines())
    assert f"<{PROV}Bundle> <{implied.IMPLIES}> <{PROV}Entity> .\n" in implied.lines()


@pytest.mark.parametrize("general", ["Configuration", "Metric", "Checkpoint", "DataObject"])
def test_one_class_of_a_node_implies_its_kind(general: str) -> None:
    """For any kind that a program declares: otherwise a query would find the node twice."""
    for kind in ("", "no kind", *vocab.vocabulary().terms):
        found, _ = declarations.types_of_kind(general, kind)
        assert len([one for one in found if one in implied.classes()]) == 1, (general, kind, found)


def test_every_class_implies_an_entity_an_activity_or_an_agent() -> None:
    """One of the three, and only classes that accompany another are omitted."""
    three = {PROV + "Entity", PROV + "Activity", PROV + "Agent"}
    assert all(len(three & set(found)) == 1 for found in implied.classes().values())
    left_out = {iri for iri in vocab.vocabulary().parents if iri.startswith(NS)} - implied.classes().keys()
    assert left_out == {NS + name for name in "Extensible Hyperparameter Preselection Accuracy Loss".split()}


def test_exports_have_implied_statements() -> None:
    """Each quad is followed by the implied ones, in the same graph, without the graph of classes."""
    stored = quads("""x:v a :FileVersion, prov:Plan . x:p a :Program . x:c a :Loss, :Metric ; :value 1 .
        x:a :usedAsNoise x:v""")
    words = quads("".join(implied.lines())[:-2], implied.CLASSES)
    index = [ox.Quad(ox.NamedNode(implied.CLASSES), quad.predicate, quad.object) for quad in quads("x:b a prov:Bundle")]
    found = list(implied.quads([*stored, *words, *index, *quads("x:b a prov:Bundle")]))
    expected = quads("""x:v a :FileVersion, prov:Entity, prov:Plan . x:p a :Program, prov:SoftwareAgent, prov:Agent .
        x:c a :Loss, :Metric, prov:Entity ; :value 1 . x:a :usedAsNoise x:v ; prov:used x:v .
        x:b a prov:Bundle, prov:Entity""")  # fmt: skip
    assert found == expected


@pytest.mark.integration
def test_the_graph_of_classes_is_no_run_s(project: Project) -> None:
    """It is written once, again if it is missing or of another version, and is in no export."""
    project.run("echo a > a")
    inside = f"SELECT (COUNT(*) AS ?n) {{ GRAPH <{implied.CLASSES}> {{ ?c ?p ?o }} }}"
    whole = [{"n": str(len(implied.lines()))}]
    assert project.rows(inside) == whole
    assert "0 runs merged, 1 unchanged" in project.provio("merge").stderr
    assert len(json.loads(project.provio("runs", "--as", "json").stdout)) == 1
    for form in ("trig", "nquads", "ttl"):
        exported = project.provio("export", "--as", form).stdout
        assert "impliesClass" not in exported and "Entity" in exported and implied.CLASSES not in exported
    refused = project.provio("query", "--update", f"DROP GRAPH <{implied.CLASSES}>", code=1)
    assert "the update would change provio's own data" in refused.stderr
    assert project.rows(inside) == whole
