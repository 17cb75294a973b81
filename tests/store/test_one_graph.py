"""Queries give the same answers whether each run has its own graph or all runs share one graph."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from synthetic_records import STORIES
from test_golden_questions import CASES, answer

from provio.ask import earlier, run_summary, run_uses, runs, verify, whole_run
from provio.ask.version_names import Names
from provio.base.vocab import NS, RDF
from provio.merge.runs import merge
from provio.settings.home import Home
from provio.store import INDEX, Store, implied, open_reader
from provio.store.embedded import reader as one_graph
from provio.store.embedded.reader import OneGraphStore, StoreReader
from provio.store.statements import Lists

PACKAGE = Path(__file__).resolve().parent.parent.parent / "provio"
APART = {"store", "merge", "validate", "queries", "interceptors", "ontology"}
NO_QUESTION = {
    "queries.py": "the page about queries explains GRAPH",
}


class OneGraph(StoreReader):
    """The content of a store in the default graph of another, with each fact once."""

    def __init__(self, store: Store) -> None:
        self.store = ox.Store()
        self.store.extend(ox.Quad(one.subject, one.predicate, one.object, ox.DefaultGraph()) for one in store.quads())


@pytest.fixture(scope="module", params=STORIES)
def layouts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Store, Store]:
    """A story and the two stores."""
    folder = tmp_path_factory.mktemp(request.param) / ".provio"
    folder.mkdir(mode=0o700)
    STORIES[request.param](Home(folder))
    assert merge(Home(folder)).damages == []
    store = open_reader(Home(folder))
    return request.param, store, OneGraph(store)


def column(store: Store, what: str, pattern: str) -> list[str]:
    return sorted({row[what] for row in store.rows(f"SELECT DISTINCT ?{what} {{ {pattern} }}")})


def ids(store: Store) -> list[str]:
    return [row["run"] for row in store.rows(runs.LISTING)]


def paths(store: Store) -> list[str]:
    return column(store, "p", "?f a provio:File ; provio:path ?p")


def in_order(document: dict[str, Any]) -> dict[str, Any]:
    return {
        name: sorted(json.dumps(one, sort_keys=True) for one in part) if isinstance(part, list) else part
        for name, part in document.items()
    }


def test_named_questions_give_the_same_rows(layouts: tuple[str, Store, Store]) -> None:
    """Every case of the golden answers."""
    story, graphs, one = layouts
    for name, cases in CASES.items():
        for case in (case for case in cases if case["story"] == story):
            assert answer(one, name, case["values"]) == answer(graphs, name, case["values"]), name


def test_the_history_of_names_is_the_same(layouts: tuple[str, Store, Store]) -> None:
    """For all runs, each run, and each path; removed files; the history of each name."""
    _, graphs, one = layouts
    assert verify.last_observed(one) == verify.last_observed(graphs) != []
    assert verify.removals(one) == verify.removals(graphs)
    for run in ids(graphs):
        assert verify.last_observed(one, run) == verify.last_observed(graphs, run)
    for path in paths(graphs):
        asked = [path.encode()]
        assert verify.last_observed(one, paths=asked) == verify.last_observed(graphs, paths=asked)
        pattern = f'?file provio:path "{path}" .'
        assert earlier.versions_at_name(one, pattern, [path]) == earlier.versions_at_name(graphs, pattern, [path]) != []


def test_the_facts_about_versions_are_the_same(layouts: tuple[str, Store, Store]) -> None:
    """The runs that know them, their makers, and their names in each run."""
    _, graphs, one = layouts
    versions = column(graphs, "v", "?v a provio:FileVersion")
    assert run_uses.runs(one, versions) == run_uses.runs(graphs, versions)
    names = [Names(one), Names(graphs)]
    for each in names:
        each.load(versions)
    assert names[0].known == names[1].known
    for version in versions:
        assert verify.names_of(one, version) == verify.names_of(graphs, version)
        assert verify.recorded_makers(one, version) == verify.recorded_makers(graphs, version)
        for run in ids(graphs):
            assert names[0].used_as(version, run) == names[1].used_as(version, run)


def test_a_run_is_shown_the_same(layouts: tuple[str, Store, Store]) -> None:
    """Its summary, and all its activities."""
    _, graphs, one = layouts
    for run in ids(graphs):
        assert run_summary.show(one, run) == run_summary.show(graphs, run)
        found = [in_order(dict(whole_run.document(store, run, everything=True))) for store in (one, graphs)]
        assert found[0] == found[1]


def test_no_query_depends_on_the_stating_graph() -> None:
    """A fact is stored once, also if several runs state it: its IRI shows whether it belongs to a run."""
    modules = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in APART]
    asked = [*modules, *(PACKAGE / "queries").glob("*.rq")]
    found = {path.name for path in asked if re.search(r"\bGRAPH\b", path.read_text(encoding="utf-8"))}
    assert found == set(NO_QUESTION)


@pytest.mark.parametrize("piece", [1, 20, 1 << 20])
@pytest.mark.parametrize(
    "texts", [["a", "", "b"], ["a,b", 'q"q', "two\nlines", ""], [], ["x" * 200], ["<urn:a,b>", "c"], ["<urn:a>"]]
)
def test_the_cells_of_a_table(texts: list[str], piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts and IRIs with any characters, unbound variables, in answers of any length."""
    monkeypatch.setattr(one_graph, "PIECE", piece)
    store = ox.Store()
    for number, text in enumerate(texts):
        term = ox.NamedNode(text[1:-1]) if text.startswith("<") else ox.Literal(text)
        store.add(ox.Quad(ox.NamedNode(f"urn:{number}"), ox.NamedNode("urn:p"), term, ox.NamedNode(f"urn:g{number}")))
    found = OneGraphStore(store, lambda: Lists(Path()))
    question = "SELECT ?s ?o ?u { ?s <urn:p> ?o OPTIONAL { ?s <urn:q> ?u } } ORDER BY ?s"
    values = [text.strip("<>") for text in texts]
    expected = [[f"urn:{number}", text, ""] for number, text in enumerate(values)]
    assert [*found.table(question)] == expected
    answer = found.query(question)
    assert isinstance(answer, ox.QuerySolutions)
    rows = one_graph.cells(answer)
    assert (rows and [*rows]) == (None if "<urn:a,b>" in texts else expected)
    assert [*found.rows(question)] == [{"s": f"urn:{number}", "o": text} for number, text in enumerate(values)]
    first = [[row[1]] for row in found.table(question, ["urn:g0", "urn:g9"])]
    assert first == [[text] for text in values[:1]]
    for read in (found.rows, found.table):
        with pytest.raises(TypeError, match="needs a SELECT"):
            next(iter(read("ASK {}")))


def test_graphs_of_a_store_without_runs() -> None:
    """Their statements, alone and together, with the index and the implied classes."""
    store, kind = ox.Store(), ox.NamedNode(RDF + "type")
    a, b, graph = (ox.NamedNode(f"urn:{name}") for name in "abg")
    store.add(ox.Quad(graph, kind, one_graph.BUNDLE, ox.DefaultGraph()))
    store.add(ox.Quad(a, ox.NamedNode("urn:p"), b, ox.DefaultGraph()))
    store.add(ox.Quad(a, kind, ox.NamedNode(NS + "File"), graph))
    store.add(ox.Quad(a, ox.NamedNode("urn:p"), ox.Literal("1"), ox.NamedNode("urn:h")))
    found = OneGraphStore(store, lambda: Lists(Path()))
    assert sorted(found.run_graphs()) == sorted([INDEX, "urn:g", "urn:h"])
    known = [("urn:a", RDF + "type", NS + "File"), ("urn:a", "urn:p", "1"), ("urn:a", "urn:p", "urn:b")]
    assert sorted(found.about(["urn:a", "urn:b"])) == sorted(known)
    assert found.about(["urn:a"], ["urn:h"]) == [("urn:a", "urn:p", "1")]
    assert {str(quad) for quad in found.quads("urn:h")} == {'<urn:a> <urn:p> "1" <urn:h>'}
    assert found.quads() is store
    types = set(found.triples("urn:g", ox.RdfFormat.N_TRIPLES).decode().splitlines())
    assert types == {f"<urn:a> <{RDF}type> <{one}> ." for one in implied.types("File")}
    every = found.dataset(None, ox.RdfFormat.N_QUADS).decode().splitlines()
    assert f"<urn:g> <{RDF}type> {one_graph.BUNDLE} ." in every and len(every) == 2 + len(types) + 1
    answers = [found.query("ASK { ?s ?p '1' }", graphs) for graphs in (None, ["urn:h"], ["urn:g"], [INDEX])]
    assert [*map(bool, answers)] == [True, True, False, False]
    graphs = [row["g"] for row in found.rows("SELECT ?g { GRAPH ?g { ?s ?p '1' } }", ["urn:h", "urn:g"])]
    assert graphs == ["urn:h"]
