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

from provio.ask import earlier, run_uses, runs, verify, whole_run
from provio.ask.stale import Names
from provio.merge.runs import merge
from provio.settings.home import Home
from provio.store import Store, open_reader
from provio.store.embedded.reader import StoreReader

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
        assert runs.show(one, run) == runs.show(graphs, run)
        found = [in_order(dict(whole_run.document(store, run, everything=True))) for store in (one, graphs)]
        assert found[0] == found[1]


def test_no_query_depends_on_the_stating_graph() -> None:
    """A fact is stored once, also if several runs state it: its IRI shows whether it belongs to a run."""
    modules = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in APART]
    asked = [*modules, *(PACKAGE / "queries").glob("*.rq")]
    found = {path.name for path in asked if re.search(r"\bGRAPH\b", path.read_text(encoding="utf-8"))}
    assert found == set(NO_QUESTION)
