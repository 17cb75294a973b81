"""The graphs that a query names itself are queried, as SPARQL defines it, in the embedded store and on a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Project, assert_valid, new_project
from sparql_servers import account

from provio.store import sparql

INDEX, DERIVED = "https://w3id.org/provio/index", "https://w3id.org/provio/derived"
BOTH = "{ { ?f a provio:File BIND('plain' AS ?g) } UNION { GRAPH ?g { ?f a provio:File } } }"
QUESTIONS = [
    f"SELECT ?g ?f FROM <ONE> {BOTH}",
    f"SELECT ?g ?f FROM NAMED <ONE> {BOTH}",
    f"PREFIX r: <RUN> SELECT DISTINCT ?g ?f from r:bundle\n# FROM <TWO>\nFROM NAMED <TWO> WHERE {BOTH}",
    f"SELECT DISTINCT ?g ?f FROM <ONE> FROM <TWO> {BOTH}",
    f"SELECT ?g ?f FROM <urn:none> FROM NAMED <urn:none> {BOTH}",
    f"SELECT ?run FROM <{INDEX}> {{ ?graph provio:ofRun ?run }}",
    f"SELECT ?run FROM NAMED <{INDEX}> {{ GRAPH ?g {{ ?graph provio:ofRun ?run }} }}",
    f"SELECT (COUNT(*) AS ?n) FROM <{DERIVED}> FROM <{INDEX}> {{ ?s ?p ?o }}",
    "ASK FROM <urn:none> { ?s ?p ?o }",
    "ASK FROM <ONE> { ?s ?p ?o }",
]


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Iterator[Project]:
    """Record two runs that both read `a`."""
    project = new_project(tmp_path_factory.mktemp("two"))
    project.sh("echo 1 > a")
    project.watch("cp", "a", "b")
    project.watch("cp", "a", "c")
    yield project
    assert_valid(project.path / ".provio")


def questions(project: Project) -> list[str]:
    runs = sorted(folder.name for folder in (project.path / ".provio" / "runs").iterdir())
    one, two = (f"https://w3id.org/provio/run/{run}/" for run in runs[:2])
    named = {"ONE": f"{one}bundle", "TWO": f"{two}bundle", "RUN": one}
    found = []
    for question in QUESTIONS:
        for word, iri in named.items():
            question = question.replace(f"<{word}>", f"<{iri}>")
        found.append(question)
    return found


def answers(project: Project, *options: str) -> list[list[str]]:
    """Return the lines of each answer, sorted."""
    return [sorted(project.provio("query", question, *options).stdout.splitlines()) for question in questions(project)]


@pytest.fixture(scope="module")
def embedded(two_runs: Project) -> list[list[str]]:
    """Return the answers of the embedded store."""
    return answers(two_runs)


@pytest.mark.integration
def test_the_named_graphs_are_queried(embedded: list[list[str]]) -> None:
    """FROM without GRAPH, FROM NAMED with GRAPH, and no other graph; the index by its name."""
    ends = [
        {(line.split("\t")[0][-8:-1], line.rpartition("/")[2][:-1]) for line in answer if "<" in line}
        for answer in embedded[:5]
    ]
    assert [{graph for graph, _ in rows} for rows in ends] == [
        {'"plain'}, {"/bundle"}, {'"plain', "/bundle"}, {'"plain'}, set(),
    ]  # fmt: skip
    assert [{file for _, file in rows} & set("abc") for rows in ends] == [
        {"a", "b"}, {"a", "b"}, {"a", "b", "c"}, {"a", "b", "c"}, set(),
    ]  # fmt: skip
    index, by_graph, _, none, some = embedded[5:]
    assert (len(index), by_graph, none, some) == (3, ["?run"], ["false"], ["true"])


@pytest.mark.integration
def test_of_the_runs_that_were_chosen(project: Project) -> None:
    """With --name, other named graphs are not queried; if none of the named graphs is chosen, none is queried."""
    project.sh("echo 1 > a")
    for name in ("first", "second", "third"):
        project.provio("run", "--quiet", "--name", name, "--", "cp", "a", name)
    one = questions(project)[0]
    assert project.provio("query", one, "--name", "third").stdout == "?g\t?f\n"


@pytest.mark.slow
@pytest.mark.parametrize("server", ["oxigraph", "virtuoso"])
def test_on_a_server(two_runs: Project, embedded: list[list[str]], server: str, request: pytest.FixtureRequest) -> None:
    """Every answer equals that of the embedded store."""
    account(two_runs)
    url = request.getfixturevalue(server).url
    assert answers(two_runs, "--store", url) == embedded


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * { ?s ?p 'FROM <x:a>' } # FROM <x:b>", None),
        ("PREFIX from: <x:> SELECT * { from:a ?p from:named }", None),
        ("SELECT*FROM<x:\\u0061>FROM NAMED<x:b>{}", (["x:a"], ["x:b"])),
        ("prefix e: <http://e/a/> base <http://e/> prefix f: <b/> ask FROM e:c\\-d FROM f: FROM <g> {}",
         (["http://e/a/c-d", "http://e/b/", "http://e/g"], [])),
    ],
)  # fmt: skip
def test_graph_names_in_a_query(text: str, expected: tuple[list[str], list[str]] | None) -> None:
    """By IRIs, prefixed names and relative names; strings and comments name no graph."""
    assert sparql.dataset(text, {}) == expected


def test_a_question_without_its_graphs() -> None:
    """Each remaining character keeps its position, so that an error message has the right place."""
    text = "SELECT*FROM<x:a>FROM NAMED # FROM\n r:b WHERE {?s ?p 'FROM <x:c>'}"
    assert sparql.without_dataset(text) == "SELECT*" + " " * 26 + "\n" + " " * 4 + " WHERE {?s ?p 'FROM <x:c>'}"


@pytest.mark.parametrize("text", ["ASK FROMprov:x {}", "ASK FROM NAMEDprov:x {}", "ASK FROM e:x {}"])
@pytest.mark.integration
def test_a_name_without_a_declared_prefix(two_runs: Project, text: str) -> None:
    """It is reported in one line."""
    done = two_runs.provio("query", text, code=1)
    assert "no prefix" in done.stderr and done.stderr.count("\n") == 1
