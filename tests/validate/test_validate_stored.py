"""A store omits implied statements, its export includes them: both have the same findings."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest
from test_validate import EXAMPLE, damaged

from provio.base.vocab import PREFIXES, RDF
from provio.store import implied
from provio.validate import documents
from provio.validate.check import check
from provio.validate.rules import Graph

REPAIRED = (17, 20)  # damages that reading a document repairs: a plain relation next to a narrower or qualified one


def lean(store: ox.Store) -> ox.Store:
    """Return a graph as a store contains it: without implied statements, with the graph of classes."""
    found, kind, graph = ox.Store(), ox.NamedNode(RDF + "type"), ox.NamedNode("urn:g")
    gone = {
        (quad.subject, kind, ox.NamedNode(one))
        for quad in store.quads_for_pattern(None, kind, None, None)
        for one in implied.classes().get(quad.object.value, ())
    }
    found.extend(ox.Quad(*quad.triple, graph) for quad in store if tuple(quad.triple) not in gone)
    words = "".join(implied.lines()).encode()
    found.load(words, format=ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode(implied.CLASSES))
    return found


@pytest.mark.integration
def test_a_store_and_its_export_are_found_wrong_alike(tmp_path: Path) -> None:
    """As a whole, and read from a file: the example, its copies with one error each, and a graph of entities that
    are activities and agents."""
    example, bad = ox.Store(), ox.Store()
    example.load(path=str(EXAMPLE), format=ox.RdfFormat.TURTLE)
    bad.extend(example)
    bad.update(
        """INSERT { ?v a provio:Phase ; prov:used ?v . ?p a provio:Program ; prov:specializationOf ?v .
        ?p prov:wasInformedBy ?v .
        ?v prov:qualifiedUsage ?v . ?v a prov:Usage . ?p prov:used <urn:nothing> . <urn:l> a provio:Loss }
        WHERE { ?v a provio:FileVersion . ?p a provio:Phase }""",
        prefixes=PREFIXES,
    )
    path, wrong = tmp_path / "export.nq", set()
    for number, graph in enumerate([*damaged(example), bad]):
        stored = lean(graph)
        exported = ox.Store()
        exported.extend(ox.Quad(*quad.triple) for quad in implied.quads(stored))
        exported.dump(str(path), ox.RdfFormat.N_QUADS)
        found = [
            {(one.rule, one.message, frozenset(one.nodes)) for one in check("", [graph]).findings}
            for graph in (Graph(exported), Graph(stored, union=True), Graph(stored, "urn:g"))
        ]
        assert found[0] == found[1] == found[2], number
        rules = {rule for rule, *_ in found[0]}
        if number not in REPAIRED:
            assert rules == {one.rule for one in check("", documents.graphs(path)).findings}, number
        wrong |= rules
    assert {"50 typing", "54 impossible-object-property-overlap", "55 entity-activity-disjoint"} < wrong
    assert {"untyped-endpoint", "shape Entity", "shape Activity"} < wrong


@pytest.mark.integration
def test_pyshacl_sees_implied_statements() -> None:
    """For a valid store, and for an invalid one."""
    example = ox.Store()
    example.load(path=str(EXAMPLE), format=ox.RdfFormat.TURTLE)
    assert check("", [Graph(lean(example), "urn:g")], shacl=True).of("violation") == []
    example.update("INSERT { ?x a provio:Phase } WHERE { ?x a provio:FileVersion }", prefixes=PREFIXES)
    assert check("", [Graph(lean(example), "urn:g")], shacl=True).of("violation")
