"""Queries of the record from Python."""

from __future__ import annotations

import datetime
import json
import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import rdflib
from conftest import ROOT, Project
from sparql_servers import Server

import provio
from provio.api import IRI, Rows
from provio.base.errors import BadQuery, ConfigError, NothingKnown, TimedOut
from provio.render.page.lineage import check_offline

HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m"


@pytest.fixture
def recorded(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in which out.csv was copied from in.csv, and this process in its folder."""
    monkeypatch.delenv("PROVIO_HOME", raising=False)
    monkeypatch.chdir(project.path)
    project.sh("printf 'x\\n1\\n' > in.csv")
    project.watch("cp", "in.csv", "out.csv")
    return project


def by_iri(document: Any) -> dict[str, Any]:
    """A lineage document's nodes by their IRIs."""
    return {node["iri"]: node for node in document["nodes"]}


@pytest.mark.integration
def test_the_page_s_examples_run(recorded: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Every example of docs/api.md, one after the other."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    recorded.watch("dd", "if=in.csv", "of=copy", "status=none")
    exec(compile(code, "docs/api.md", "exec"), {})
    assert "cp in.csv out.csv" in capsys.readouterr().out


@pytest.mark.integration
def test_impact(recorded: Project) -> None:
    """The commands to repeat, with their products."""
    runs = [(run["command"], run["products"]) for run in provio.open().impact(recorded.path / "in.csv")["runs"]]
    assert ("cp in.csv out.csv", [str(recorded.path / "out.csv")]) in runs


def test_to_import_it_loads_nothing() -> None:
    code = "import provio, sys; assert not {'pyoxigraph', 'click', 'networkx', 'rdflib'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_rows_have_names_and_types(recorded: Project) -> None:
    rows = provio.open().query(
        """SELECT ?v ?size ?at ?noise ?none ?name { ?v a provio:FileVersion ; provio:size ?size ; provio:modified ?at ;
           prov:specializationOf/provio:path ?name FILTER(STRENDS(?name, "out.csv"))
           OPTIONAL { ?v provio:nothing ?none } BIND(false AS ?noise) }"""
    )
    (row,) = rows
    assert isinstance(row.v, IRI)
    assert (row.size, row["size"], row[1]) == (4, 4, 4)
    assert isinstance(row.at, datetime.datetime)
    assert row.at.utcoffset() == datetime.timedelta()
    assert (row.noise, row.none, row.name) == (False, None, str(recorded.path / "out.csv"))
    assert (len(rows[1:]), rows[1:].columns) == (0, rows.columns)
    (counted,) = Rows(["count", "index"], [(2, "x")])
    assert (counted.count, counted.index, list(counted), "x" in counted) == (2, "x", [2, "x"], True)
    with pytest.raises(AttributeError, match="no column 'other': there are v, size"):
        _ = row.other


@pytest.mark.integration
def test_rows_of_pandas(recorded: Project) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed here")
    frame = provio.open().query("io-by-api", api="write").to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["api", "calls", "bytes", "nanoseconds"]


@pytest.mark.integration
def test_a_lineage_is_a_graph_of_networkx(recorded: Project) -> None:
    lineage = provio.open(recorded.path).lineage(recorded.path / "out.csv")
    assert isinstance(lineage, nx.DiGraph)
    assert by_iri(lineage.document) == by_iri(recorded.lineage("out.csv"))
    assert {os.path.basename(path) for path in lineage.paths.values()} == {"in.csv"}
    (source,) = lineage.paths
    assert nx.has_path(lineage, lineage.targets[0], source)
    assert lineage.nodes[source]["type"] == "FileVersion"
    assert lineage.copy().document == lineage.document
    assert lineage.subgraph([source]).number_of_nodes() == 1
    forward = provio.open().lineage("in.csv", forward=True)
    assert {os.path.basename(path) for path in forward.paths.values()} == {"out.csv"}


@pytest.mark.integration
def test_a_notebook_shows_names_as_they_are(recorded: Project) -> None:
    """Names are shown as text in a notebook: neither markup nor control codes of a terminal take effect."""
    recorded.watch("cp", "in.csv", HOSTILE)
    store = provio.open()
    rows = store.query("SELECT ?path { ?f a provio:File ; provio:path ?path FILTER(CONTAINS(?path, 'onerror')) }")
    framed = store.lineage(HOSTILE)._repr_html_()
    shown, frame = re.fullmatch(r'(?s)(.*) srcdoc="([^"]*)"(.*)', framed).group(1, 2)
    assert shown.count('sandbox="allow-scripts"') == 1
    check_offline(unescape(frame))
    for page in (framed.replace(frame, ""), rows._repr_html_()):
        assert "&lt;img src=x onerror=alert(1)&gt;\\x1b[31m" in page
        assert "<img" not in page
        assert "\x1b" not in page
        assert not re.search(r"(?:src|href)=|https?:|<script", re.sub(r"&lt;.*?&gt;", "", page))
    assert "and 40 more" in Rows(["n"], ([number] for number in range(100)))._repr_html_()


def test_errors_name_the_remedy(recorded: Project, tmp_path: Path) -> None:
    store = provio.open()
    for error, words, ask in (
        (NothingKnown, "nothing is recorded of", lambda: store.lineage("nowhere")),
        (NothingKnown, "no run, task or file 'nosuch'", lambda: store.show("nosuch")),
        (NothingKnown, "no .provio", lambda: _elsewhere(tmp_path)),
        (NothingKnown, "no .provio in /nowhere/at/all or above", lambda: provio.open("/nowhere/at/all")),
        (BadQuery, "not SPARQL", lambda: store.query("SELECT {")),
        (BadQuery, "use ask()", lambda: store.query("ASK {}")),
        (BadQuery, "has no parameter", lambda: store.query("io-by-api", nosuch=1)),
        (BadQuery, "'data', 'carried', 'control'", lambda: store.lineage("out.csv", via="control ")),
        (BadQuery, "level: 'files'", lambda: store.lineage("out.csv", level="files")),
        (BadQuery, "depth: 0", lambda: store.lineage("out.csv", depth=0)),
        (BadQuery, "depth: '2'", lambda: store.lineage("out.csv", depth="2")),
        (BadQuery, "this is an update", lambda: store.query("INSERT DATA { <a:a> <a:b> 1 }")),
        (ConfigError, "names no host", lambda: provio.open("http://")),
    ):
        with pytest.raises(error, match=re.escape(words)):
            ask()


def _elsewhere(folder: Path) -> None:
    empty = folder.parent.parent / f"{folder.name} elsewhere"
    empty.mkdir(exist_ok=True)
    os.chdir(empty)
    provio.open(empty)


@pytest.mark.integration
def test_a_question_can_be_stopped(recorded: Project) -> None:
    store = provio.open(timeout=60)
    assert store.query("SELECT ?a { ?a a provio:Run }", timeout=60)[0].a.startswith("https://w3id.org/provio/run/")
    assert by_iri(store.lineage("out.csv").document) == by_iri(recorded.lineage("out.csv"))
    endless = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
    with pytest.raises(TimedOut, match="no result within 1 s"):
        store.query(endless, timeout=1)
    with pytest.raises(NothingKnown, match="nothing is recorded of"):
        store.lineage("nowhere")


@pytest.mark.integration
def test_graphs_of_rdflib_and_figures(recorded: Project) -> None:
    store = provio.open(".provio")
    run = store.runs()[-1].run
    graph = store.graph(run)
    assert isinstance(graph, rdflib.Graph)
    assert (rdflib.URIRef(f"https://w3id.org/provio/run/{run}"), rdflib.RDF.type, None) in graph
    assert len(store.graph()) >= len(graph)
    assert store.ask("ASK { ?r a provio:Run }")
    assert len(store.construct("CONSTRUCT { ?r a provio:Run } WHERE { ?r a provio:Run }")) == 1
    assert ("wrote", str(recorded.path / "out.csv"), 4) in {tuple(row) for row in store.show("last")}
    assert re.search(r"(?m)^read +POSIX +[0-9]", str(store.stats(run)))
    assert {row["key"] if "key" in row else row.get("api") for row in store.stats(run).rows("api")}
    assert store.merge() == 1


@pytest.mark.integration
def test_a_merge_during_queries(recorded: Project) -> None:
    """An open store sees later records, and a merge in progress does not block queries."""
    store = provio.open()
    assert len(store.runs()) == 1
    recorded.provio("run", "--quiet", "--no-merge", "--", "cp", "out.csv", "more.csv")
    assert len(store.runs()) == 2
    assert {os.path.basename(path) for path in store.lineage("more.csv").paths.values()} == {"in.csv", "out.csv"}


@pytest.mark.integration
def test_a_server_is_queried(recorded: Project, oxigraph: Server) -> None:
    with provio.open(oxigraph.url) as store:
        assert {os.path.basename(path) for path in store.lineage("out.csv").paths.values()} == {"in.csv"}
        assert len(store.runs()) == 1


@pytest.mark.integration
def test_a_user_s_program_is_typed(tmp_path: Path) -> None:
    """mypy --strict accepts a program that uses it, and finds a mistake."""
    pytest.importorskip("mypy", reason="mypy is not installed here")
    program = tmp_path / "program.py"
    program.write_text(
        "import provio\n\n"
        "def paths(folder: str) -> list[str]:\n"
        "    with provio.open(folder, timeout=5) as store:\n"
        "        rows = store.query('io-by-api', api='read')\n"
        "        names: tuple[str, ...] = rows.columns\n"
        "        count: int = len(rows[:2])\n"
        "        lineage = store.lineage('x', forward=True, level='dataset')\n"
        "        return [*names, str(count), *lineage.paths.values()]\n"
    )
    check = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", program]
    done = subprocess.run(check, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    program.write_text("import provio\nprovio.open(1).lineage('x', level='other')\n")
    done = subprocess.run(check, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert done.stdout.count("[arg-type]") == 2


@pytest.mark.integration
def test_methods_answer_as_the_verbs_do(recorded: Project) -> None:
    """`why`, `impact`, `verify`: as the verb of the same name prints JSON."""
    store = provio.open()
    for name, answer in (("why", store.why("out.csv")), ("impact", store.impact("in.csv"))):
        target = "out.csv" if name == "why" else "in.csv"
        assert json.loads(json.dumps(answer)) == json.loads(recorded.provio(name, target, "--json").stdout)
    found = json.loads(recorded.provio("verify", "last", "--json").stdout)["files"]
    assert [(row.state, row.path, row.run) for row in store.verify("last")] == [
        (row["state"], row["path"], row["run"]) for row in found
    ]
    with pytest.raises(NothingKnown, match="no recorded process made"):
        store.why("in.csv")


@pytest.mark.integration
def test_runs_with_configurations_are_compared(recorded: Project) -> None:
    """`diff` returns the rows of the verb, with typed values."""
    for rate in (0.1, 0.2):
        program = f"import provio; provio.configuration({{'rate': {rate}, 'size': 8}})"
        recorded.provio("run", "--quiet", "--", "python3", "-c", program)
    store = provio.open()
    found = store.diff("last~1", "last", only=["parameters"])
    assert ("rate", 0.1, 0.2) in [(row.key, row.first, row.second) for row in found] and not found.ok
    assert found.to_pandas()["kind"].unique().tolist() == ["parameters"]
    same = store.diff("last", "last")
    assert list(same) == [] and same.ok and same.divergences == []
    assert same.notes[0].startswith("both are run ")
    assert same[:0].notes == same.notes
