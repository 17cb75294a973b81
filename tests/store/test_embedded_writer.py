"""The operations of the writer: statements in; answers, quads and files out."""

from __future__ import annotations

import os
from pathlib import Path

import pyoxigraph as ox
import pytest
from conftest import in_memory

from provio.base.errors import BadQuery
from provio.base.vocab import NS, PROV, RDF, RUN_BASE
from provio.settings.home import Home
from provio.store.embedded import writer
from provio.store.embedded.reader import StoreReader
from provio.store.embedded.writer import StoreWriter

tmp_path = in_memory

RUNS = [f"{RUN_BASE}01936b2e-7c00-7abc-8def-0123456789a{number}" for number in range(2)]
GRAPHS = [f"{run}/bundle" for run in RUNS]
PLAIN = "urn:mine"


def line(subject: str, predicate: str, object_: str) -> str:
    return f"<{subject}> <{predicate}> {object_} .\n"


def run_lines(run: str) -> list[str]:
    """Return the statements of a run: its own, and some about nodes that runs share."""
    return [
        line(run, RDF + "type", f"<{NS}Run>"),
        line(run, NS + "number", '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'),
        line(run, NS + "name", f'"{run[-1]}"'),
        line(run, "urn:used", f"<urn:file{run[-1]}>"),
        line("urn:file", RDF + "type", f"<{NS}File>"),
        line(f"urn:file{run[-1]}", RDF + "type", f"<{NS}File>"),
    ]


def index_lines(run: str) -> list[str]:
    return [
        line(f"{run}/bundle", RDF + "type", f"<{NS}Bundle>"),
        line(f"{run}/bundle", NS + "contentHash", f'"hash of {run[-1]}"'),
    ]


def fill(store: StoreWriter) -> None:
    """Write two runs, and a graph that is not that of a run."""
    for run, graph in zip(RUNS, GRAPHS, strict=True):
        store.replace(graph, run_lines(run))
        store.index(index_lines(run))
    store.add(PLAIN, [line("urn:a", "urn:p", '"1"'), line("urn:a", "urn:p", "<urn:b>"), line("urn:b", "urn:q", '"1"')])


def lists(home: Home) -> list[str]:
    return sorted(name.partition(".")[0][-1] for name in os.listdir(home.kept / "statements") if name.endswith(".gz"))


def content(store: ox.Store) -> set[str]:
    return {str(quad) for quad in store}


def test_questions_to_the_writer(tmp_path: Path) -> None:
    """About all graphs, about the graph of a run, and about another graph."""
    with StoreWriter(Home(tmp_path), True) as store:
        assert (store.is_new, store.listed(GRAPHS[0]), store.list_names()) == (True, "", [])
        fill(store)
        assert sorted(store.list_names()) == sorted(map(store.listed, GRAPHS))
        assert [store.listed(graph).partition(".")[0] for graph in GRAPHS] == [run[len(RUN_BASE) :] for run in RUNS]
        assert sorted(store.objects("urn:a", "urn:p")) == [("1", PLAIN), ("urn:b", PLAIN)]
        assert store.objects(RUNS[0], NS + "name") == [("0", GRAPHS[0])]
        assert store.subjects("urn:used", "urn:file1") == [(RUNS[1], GRAPHS[1])]
        assert sorted(store.subjects(NS + "number", 5)) == [*zip(RUNS, GRAPHS, strict=True)]
        assert sorted(store.subjects(RDF + "type", NS + "File")) == [(f"urn:file{end}", "") for end in ("", "0", "1")]
        assert store.subjects("urn:q", 1) == []
        members = [
            sorted(store.members(*of))
            for of in (
                (GRAPHS[0], NS + "name"), (GRAPHS[0], "urn:used", "urn:file0"), (GRAPHS[0], "urn:used", "urn:file1"),
                (GRAPHS[0], RDF + "type"), (GRAPHS[0], RDF + "type", NS + "File"), (GRAPHS[0], RDF + "type", "urn:x"),
                (PLAIN, "urn:p"), (GRAPHS[0].replace("a0/", "a7/"), NS + "name"),
            )
        ]  # fmt: skip
        files = ["urn:file", "urn:file0"]
        assert members == [[RUNS[0]], [RUNS[0]], [], files, files, [], [], []]
        mine = [("urn:a", "urn:p", "1"), ("urn:a", "urn:p", "urn:b"), ("urn:b", "urn:q", "1")]
        assert (sorted(store.statements(PLAIN)), sorted(store.about(PLAIN, "urn:a"))) == (mine, mine[:2])
        assert (store.has("urn:q"), store.has("urn:used"), store.has("urn:b")) == (True, True, False)
        assert (store.subjects_with_text("urn:q", "1"), store.subjects_with_text("urn:p", "urn:b")) == (["urn:b"], [])
        assert store.indexed(NS + "contentHash") == {graph: f"hash of {graph[-8]}" for graph in GRAPHS}
        assert [*store.rows("SELECT ?s ?n { ?s <urn:q> ?o OPTIONAL { ?s <urn:none> ?n } }")] == [{"s": "urn:b"}]
        assert (store.lists.folder.parent, lists(store.home)) == (tmp_path, ["0", "1"])


def test_removals_by_the_writer(tmp_path: Path) -> None:
    """Of statements, of a graph, and of a run with the statements that no other run makes."""
    home = Home(tmp_path)
    with StoreWriter(home, True) as store:
        fill(store)
        store.publish()
        assert (store.dropped, lists(home)) == (False, ["0", "1"])
        before = content(store.store)
        store.remove_statements(PLAIN, [("urn:a", "urn:p", "urn:b"), ("urn:a", "urn:p", "2"), ("urn:b", "urn:p", "1")])
        assert before - content(store.store) == {f"<urn:a> <urn:p> <urn:b> <{PLAIN}>"}
        store.drop("urn:none")
        store.drop(GRAPHS[0].replace("a0/", "a7/"))
        assert store.dropped is False
        store.drop(PLAIN)
        assert (store.dropped, [*store.store.named_graphs()]) == (True, [])
        store.dropped = False
        store.drop(GRAPHS[0])
        assert (store.dropped, store.listed(GRAPHS[0])) == (True, "")
        left = {text.removesuffix(" .\n") for text in (*run_lines(RUNS[1]), *index_lines(RUNS[1]))}
        assert content(store.store) == left
        store.publish()
        assert (lists(home), content(StoreReader(home).store)) == (["1"], left)


def test_a_store_is_written_again(tmp_path: Path) -> None:
    """All its statements, in pieces of any size, with the progress of the copy."""
    home, shown = Home(tmp_path), list[str]()
    with StoreWriter(home, True) as store, pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "PIECE", 8)
        fill(store)
        store.publish()
        before = content(store.store)
        store.rewrite_tables(shown.append)
        assert len(before) == 18
        assert shown == [*(f"removing their terms from the store: {done} %" for done in (44, 88, 100)), ""]
        assert (store.rebuild, (tmp_path / "store.new").exists()) == (True, True)
        store.publish()
        assert (store.rebuild, (tmp_path / "store.new").exists(), home.unfinished.exists()) == (False, False, False)
    assert content(StoreReader(home).store) == before
    with StoreWriter(home, True) as store:
        assert (store.is_new, content(store.store)) == (False, before)


def test_a_damaged_store_is_moved_away(tmp_path: Path) -> None:
    """With the marks of the merged runs, so that they are merged again; remains of a rebuild are deleted."""
    home = Home(tmp_path)
    with StoreWriter(home, True) as store:
        fill(store)
        store.publish()
    (home.store / "CURRENT").write_text("no manifest\n")
    (home.store / "LOG.old.1").touch()
    home.marks.mkdir(parents=True)
    (home.marks / RUNS[0][len(RUN_BASE) :]).touch()
    (tmp_path / "store.new").mkdir()
    with StoreWriter(home, True) as store:
        assert (store.is_new, content(store.store), home.marks.exists()) == (True, set(), False)
        assert [path.name.rstrip("0123456789") for path in tmp_path.glob("store.*") if path.is_dir()] == [
            "store.damaged-"
        ]
    (home.store / "LOG.old.1").touch()
    with StoreWriter(home, True) as store:
        assert (store.is_new, (home.store / "LOG.old.1").exists()) == (False, False)


def test_a_store_becomes_a_snapshot(tmp_path: Path) -> None:
    """The only one; no store remains."""
    home = Home(tmp_path)
    with StoreWriter(home, True) as store:
        fill(store)
        before = content(store.store)
        waited = list[str]()
        store.rewritten = lambda: waited.append("waited")
        store.become_snapshot()
        assert waited == ["waited"]
    assert (home.store.exists(), sorted(os.listdir(home.snapshots))) == (False, ["1", "current"])
    assert [name for name in os.listdir(home.snapshots / "1") if name.endswith(".log")] == []
    assert content(StoreReader(home).store) == before


@pytest.mark.parametrize(
    ("update", "refused"),
    [
        ("INSERT DATA { GRAPH <urn:mine> { <urn:a> <urn:p> 2 } }", False),
        ("DELETE WHERE { GRAPH <urn:mine> { ?s ?p ?o } }", False),
        ("INSERT DATA { GRAPH <urn:new> { <urn:a> a prov:Entity } }", False),
        ("DELETE WHERE { ?s <urn:none> ?o }", False),
        ("INSERT DATA { <urn:a> <urn:p> 2 }", True),
        ("DELETE WHERE { ?s <urn:used> ?o }", True),
        ("INSERT DATA { GRAPH <urn:derived> { <urn:a> <urn:p> 2 } }", True),
        ("CLEAR GRAPH <urn:derived>", True),
        ("INSERT DATA { <urn:new> a prov:Bundle }", True),
    ],
)
def test_updates_of_other_graphs(tmp_path: Path, update: str, refused: bool) -> None:
    """Those of the graphs that the index names are refused, and undone by the next writer."""
    home = Home(tmp_path)
    with StoreWriter(home, True) as store:
        fill(store)
        store.add("urn:derived", [line("urn:c", "urn:p", '"1"')])
        store.index([line("urn:derived", RDF + "type", f"<{PROV}Bundle>")])
        store.publish()
        before = content(store.store)
    with StoreWriter(home, True) as store:
        if refused:
            with pytest.raises(BadQuery, match="would change provio's own data"):
                store.update(update)
        else:
            store.update(update)
            assert (store.dropped, content(store.store) != before) == (True, "none" not in update)
    with StoreWriter(home, True) as store:
        assert content(store.store) == before


@pytest.mark.parametrize("small", [1, 1 << 20])
def test_unusual_terms_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    """Those that only a lenient parser accepts, in graphs of any size."""
    monkeypatch.setattr(writer, "SMALL", small)
    with StoreWriter(Home(tmp_path), True) as store:
        store.replace(GRAPHS[0], [line(RUNS[0], "urn:p", "<urn:a b>")])
        store.replace(PLAIN, [line("urn:a", "urn:p", "<urn:c d>")])
        assert store.objects(RUNS[0], "urn:p") == [("urn:a b", GRAPHS[0])]
        assert store.objects("urn:a", "urn:p") == [("urn:c d", PLAIN)]
