"""Declarations of programs and the shapes: the merged graph conforms, and each violation is found."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest
from conftest import Project, new_project
from synthetic_traces import File, Run

from provio.base.vocab import NS, PROV, RDF, XSD
from provio.settings.home import Home
from provio.store import user_vocabulary
from provio.validate import shapes
from provio.validate.rules import Graph, findings

N_QUADS = ox.RdfFormat.N_QUADS
LAB = "https://lab.example/terms#"
TERMS = f"""@prefix provio: <{NS}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix lab: <{LAB}> .
lab:Schedule rdfs:subClassOf provio:Configuration . lab:F1 rdfs:subClassOf provio:Metric .
lab:Row rdfs:subClassOf provio:DataObject .
"""
DAMAGES = {
    "": "",
    "Configuration": """
        DELETE { ?x a provio:Configuration } WHERE { ?x a lab:Schedule, provio:Configuration }
        INSERT { ?x provio:complete 'yes' } WHERE { ?x a provio:Configuration }
        INSERT { ?x provio:version 0 } WHERE { ?x a provio:Configuration }
        INSERT { ?x provio:name 'other' } WHERE { ?x a provio:Configuration }
        INSERT { ?x prov:wasRevisionOf ?y } WHERE { ?x a provio:Configuration . ?y a provio:Run }
        INSERT { <urn:odd> a provio:Configuration, prov:Entity, prov:Plan } WHERE { }""",
    "Setting": """
        DELETE { ?x provio:value ?y } WHERE { ?x a provio:Setting ; provio:value ?y }
        DELETE { ?x provio:name ?y } WHERE { ?x a provio:Setting ; provio:name ?y }
        INSERT { ?x provio:name 'other' } WHERE { ?x a provio:Setting }
        DELETE { ?x provio:name ?y } INSERT { ?x provio:name 7 } WHERE { ?x a provio:Setting ; provio:name ?y }""",
    "Metric": """
        DELETE { ?x a provio:Metric } WHERE { ?x a lab:F1, provio:Metric }
        DELETE { ?x provio:value ?y } WHERE { ?x a provio:Metric ; provio:value ?y }
        INSERT { ?x provio:step 'first' } WHERE { ?x a provio:Metric }""",
    "Checkpoint": """
        DELETE { ?x a provio:Checkpoint } WHERE { ?x a provio:Checkpoint }
        DELETE { ?x prov:generatedAtTime ?y } WHERE { ?x a provio:Checkpoint ; prov:generatedAtTime ?y }
        DELETE { ?x prov:wasGeneratedBy ?y } WHERE { ?x a provio:Checkpoint ; prov:wasGeneratedBy ?y }
        INSERT { ?x provio:step 'last' } WHERE { ?x a provio:Checkpoint }
        INSERT { ?x provio:hadMetric ?y } WHERE { ?x a provio:Checkpoint . ?y a provio:Configuration }
        INSERT { ?x provio:hadConfiguration ?y } WHERE { ?x a provio:Checkpoint . ?y a provio:Metric }
        INSERT { ?x prov:hadMember ?y } WHERE { ?x a provio:Checkpoint . ?y a provio:Setting }""",
    "used": """
        INSERT { ?x prov:used ?y } WHERE { ?x a provio:Task . ?y a provio:Setting }
        INSERT { ?x prov:used ?x } WHERE { ?x a provio:Phase }
        DELETE { ?x a prov:Entity } WHERE { ?x provio:kind 'Unheard' ; a prov:Entity }
        DELETE { ?x a provio:DataObject } WHERE { ?x provio:kind 'Unheard' ; a provio:DataObject }""",
    "generated": """
        INSERT { ?x prov:wasGeneratedBy ?y } WHERE { ?x provio:name '8' . ?y a provio:Process }
        INSERT { ?x prov:wasGeneratedBy ?y } WHERE { ?x provio:name '8' . ?y a provio:Checkpoint }
        DELETE { ?x a prov:Entity } WHERE { ?x provio:name '8' ; a prov:Entity }
        INSERT { ?x a prov:Activity } WHERE { ?x provio:name '8' }""",
}
CASES = [(kind, update.strip()) for kind, updates in DAMAGES.items() for update in updates.strip().split("\n")]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Project:
    """Record a training with declarations of every kind, with user classes, and with unknown kinds."""
    project = new_project(tmp_path_factory.mktemp("told"))
    (project.path / "terms.ttl").write_text(TERMS)
    (project.path / "provio.toml").write_text('ontology = ["terms.ttl"]\n')
    run = Run(Home(project.path / ".provio"), 1, "train.py")
    process = run.process("train.py")
    process.configure("args", LAB + "Schedule", lr=0.1, name="x")
    process.configure("args", LAB + "Schedule", lr=0.2, name="x")
    process.used(process.entity("7", LAB + "Row"))
    process.begin("train")
    process.configure("unknown", "Weather", wind=3)
    process.metric("f1", 0.5, 1, LAB + "F1")
    process.metric("odd", 0.5, 1, "Nowhere")
    file = File("/data/ck.pt", 50)
    process.plain(file, "w").write().close()
    process.checkpoint(file.path, 1, loss=0.5)
    process.used(process.entity("8", LAB + "Row"), made=True)
    process.used(process.entity("9", "Unheard"))
    process.finish()
    run.write()
    project.provio("merge")
    return project


@pytest.fixture(scope="module")
def merged(recorded: Project) -> ox.Store:
    """Return the merged graph of the run, without the user's terms that an export contains too."""
    recorded.provio("export", "--as", "nquads", "-o", "all.nq")
    store = ox.Store()
    for quad in ox.parse(path=str(recorded.path / "all.nq"), format=N_QUADS):
        if quad.graph_name != ox.NamedNode(user_vocabulary.ONTOLOGY):
            store.add(ox.Quad(quad.subject, quad.predicate, quad.object))
    return store


def broken(merged: ox.Store, update: str) -> ox.Store:
    store = ox.Store()
    store.bulk_extend(merged)
    if update:
        store.update(update, prefixes={"prov": PROV, "provio": NS, "xsd": XSD, "rdf": RDF, "lab": LAB})
        assert set(store) != set(merged), "nothing was broken"
    return store


def written(store: ox.Store, path: Path) -> None:
    path.write_bytes(store.dump(format=N_QUADS) or b"")


@pytest.mark.integration
@pytest.mark.parametrize(("kind", "update"), CASES)
def test_violations_are_found(merged: ox.Store, kind: str, update: str) -> None:
    """Each change violates a shape; the merged graph violates none."""
    found = list(findings(Graph(broken(merged, update)), shapes.rules()))
    assert bool(found) == bool(kind), found


@pytest.mark.slow
@pytest.mark.parametrize("way", [(), ("--shacl",)], ids=["SPARQL", "pyshacl"])
def test_own_subclasses_are_held_against_the_shapes(recorded: Project, merged: ox.Store, way: tuple[str, ...]) -> None:
    """Nodes with only a user class; without the vocabulary file they have no class."""
    written(merged, recorded.path / "whole.nq")
    assert recorded.provio("validate", "whole.nq", *way).stdout.endswith("nothing found\n")
    words = {"Schedule": "Configuration", "F1": "Metric", "Row": "DataObject"}
    nodes = " . ".join(f"<urn:{name}> a lab:{name}" for name in words)
    written(broken(merged, f"INSERT {{ {nodes} }} WHERE {{ }}"), recorded.path / "own.nq")
    done = recorded.provio("validate", "own.nq", *way, code=1).stdout
    assert all(f"urn:{name}" in done for name in words), done
    assert "a configuration must be typed provio:Configuration too" in done
    assert "a metric must be typed provio:Metric too" in done
    settings = recorded.path / "provio.toml"
    settings.rename(recorded.path / "aside")
    try:
        assert "urn:" not in recorded.provio("validate", "own.nq", *way).stdout
    finally:
        (recorded.path / "aside").rename(settings)


@pytest.mark.integration
def test_an_unknown_kind_has_the_general_class(recorded: Project) -> None:
    """The declared kind is stated in addition."""
    kinds = "SELECT ?kind ?class { ?x provio:kind ?kind ; a ?class FILTER(STRSTARTS(STR(?class), STR(provio:))) }"
    assert {(row["kind"], row["class"].removeprefix(NS)) for row in recorded.rows(kinds)} == {
        ("Weather", "Configuration"), ("Nowhere", "Metric"), ("Unheard", "DataObject"),
    }  # fmt: skip
