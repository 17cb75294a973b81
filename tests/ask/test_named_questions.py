"""Named queries: each has a description, its parameters are in its text, and its answer is known."""

from __future__ import annotations

import json
import re

import pytest
from conftest import Project
from pyoxigraph import Literal, QuerySolutions, RdfFormat, Store

from provio.ask.parameters import TERMS, bound
from provio.ask.queries import ANY, FOLDER, KINDS, PLACES, filled, named, of_text, questions
from provio.ask.query import find
from provio.base.errors import BadQuery
from provio.base.vocab import PREFIXES, PROLOGUE, XSD
from provio.render import rows
from provio.render.queries import page

NAMES = [question.name for question in questions()]


@pytest.mark.parametrize("name", NAMES)
def test_each_says_what_it_asks(name: str) -> None:
    """Title and example exist; the parameters of the header are those of the text, each with a description."""
    question = named(name)
    assert question
    assert 0 < len(question.title) < 50  # --list shows it whole in 80 columns
    assert question.example.startswith(f"provio query {name}")
    places = {found["name"] or found["most"] or found["iri"]: found[0] for found in PLACES.finditer(question.text)}
    assert {parameter.name for parameter in question.parameters} == set(places)
    for parameter in question.parameters:
        assert parameter.kind in KINDS and parameter.kind != ANY and parameter.says
        absent = parameter.default or ("urn:parameter" if "<urn:" in places[parameter.name] else "UNDEF")
        assert absent in places[parameter.name]
        assert parameter.required or "<urn:" not in places[parameter.name]


@pytest.mark.parametrize("name", NAMES)
def test_each_answer_fits_80_columns(name: str) -> None:
    """With any number of columns and any content."""
    selected = re.search(r"^SELECT (?:DISTINCT )?(.*) WHERE", find(name).text, re.MULTILINE)
    assert selected
    names = re.findall(r"\?(\w+)(?![^()]*\) AS)", selected[1])
    cells = [Literal("x" * 40) for _ in names]
    assert max(map(len, rows.render(names, [cells], "table", width=80).splitlines())) <= 80


def test_the_page_of_questions_is_fresh() -> None:
    """It is the output of `python -m provio.render.queries`, and contains each query."""
    written = (FOLDER.parent.parent / "docs" / "queries.md").read_text()
    assert written == page(questions())
    assert all(f"\n## {name}\n" in written for name in NAMES)


def test_parameters_are_filled_in_as_terms() -> None:
    """Integers, IRIs and text; text stays text with any content."""
    text = "SELECT * { VALUES ?a { UNDEF } VALUES ?b { UNDEF } }"
    assert filled(text, {"a": "3"}) == "SELECT * { VALUES ?a { 3 } VALUES ?b { UNDEF } }"
    assert filled(text, {"b": "<urn:x>"}) == "SELECT * { VALUES ?a { UNDEF } VALUES ?b { <urn:x> } }"
    assert filled(text, {"a": '" } \\1'}) == r'SELECT * { VALUES ?a { "\" } \\1" } VALUES ?b { UNDEF } }'
    with pytest.raises(BadQuery, match="no parameter c: it has a, b"):
        filled(text, {"c": "3"})


@pytest.fixture
def copied(project: Project) -> Project:
    """`dd` copies three blocks of 512 bytes, and one more run of it another one."""
    (project.path / "in").write_bytes(b"x" * 1536)
    project.watch("dd", "if=in", "of=out", "bs=512", "status=none")
    project.watch("dd", "if=in", "of=one", "bs=512", "count=1", "status=none")
    return project


def counted(project: Project, *question: str) -> list[list[str]]:
    """The rows of an answer but for the time, which differs."""
    lines = project.provio("query", *question, "--as", "csv").stdout.splitlines()
    assert lines[0].endswith(",nanoseconds")
    assert all(int(line.rpartition(",")[2]) > 0 for line in lines[1:])
    return [line.split(",")[:-1] for line in lines[1:]]


@pytest.mark.integration
def test_calls_and_bytes_of_each_function(copied: Project) -> None:
    """Summed over both runs, or of one function; of a file all that was done to it, in whichever version."""
    assert ["write", "4", "2048"] in counted(copied, "io-by-api")
    assert counted(copied, "io-by-api", "-p", "api=write") == [["write", "4", "2048"]]
    name = str(copied.path / "in")
    answer = counted(copied, "io-by-file", "-p", f"path={name}")
    assert answer == [[name, "open", "2", "0"], [name, "read", "5", "2048"]]
    assert counted(copied, "io-by-file", "-p", "api=write") == [
        [str(copied.path / "one"), "write", "1", "512"],
        [str(copied.path / "out"), "write", "3", "1536"],
    ]


HOSTILE = [
    '" } ?x ?y ?z { ?s ?p ?o',
    "a\\",
    '"""',
    "VALUES ?b { UNDEF }",
    "?b }",
    "LIMIT 1 # ?most",
    "\n# parameter",
    "\x00\ud800",
]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("file", "run")])
@pytest.mark.parametrize("value", HOSTILE)
def test_no_value_breaks_out_of_its_place(kind: str, value: str) -> None:
    """Any value of a parameter is refused, or becomes one term, and the other places keep their own."""
    text = f"# parameter: a ({kind}): one\n# parameter: b (text): other\n"
    text += "SELECT * { VALUES ?a { UNDEF } VALUES ?b { UNDEF } }"
    try:
        found = bound(of_text(text), {"a": value, "b": 'x" }'}, Nobody()).text  # type: ignore[arg-type]
    except BadQuery:
        return
    (row,) = Store().query(found)  # type: ignore[misc]
    assert row["b"] == Literal('x" }')
    assert isinstance(row["a"], Literal)


class Nobody:
    """A store that no query uses."""


@pytest.mark.parametrize(
    ("kind", "value", "term"),
    [
        ("integer", "-07", "-7"),
        ("count", "5", "5"),
        ("decimal", "1.50", f'"1.50"^^<{XSD}decimal>'),
        ("boolean", "true", "true"),
        ("dateTime", "2026-11-20T12:15:00.5Z", f'"2026-11-20T12:15:00.500000Z"^^<{XSD}dateTime>'),
        ("duration", "1.5 s", "1500000000"),
        ("duration", "200ms", "200000000"),
        ("duration", "2 min", "120000000000"),
        ("iri", "provio:Read", "<https://w3id.org/provio/ns#Read>"),
        ("iri", "urn:x", "<urn:x>"),
        ("path", "/a/../b", '"/b"'),
        ("any", "7", "7"),
    ],
)
def test_a_value_becomes_a_term_of_its_type(kind: str, value: str, term: str) -> None:
    text = f"# parameter: a ({kind}, default 0): one\nSELECT * {{ VALUES ?a {{ 0 }} }} LIMIT 20 # ?a"
    filled_in = bound(of_text(text), {"a": value}, Nobody()).text  # type: ignore[arg-type]
    assert f"VALUES ?a {{ {term} }}" in filled_in and f"LIMIT {term} # ?a" in filled_in


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("integer", "1e3"), ("integer", ""), ("count", "-1"), ("decimal", "x"), ("boolean", "yes"), ("iri", "a b:c"),
        ("dateTime", "soon"), ("duration", "5 days"), ("duration", "-1 s"), ("path", ""), ("iri", "no"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_said_with_what_is_wanted(kind: str, value: str) -> None:
    text = f"# example: provio query x 1\n# parameter: a ({kind}): one\nSELECT * {{ VALUES ?a {{ UNDEF }} }}"
    with pytest.raises(BadQuery) as refusal:
        bound(of_text(text), {"a": value}, Nobody())  # type: ignore[arg-type]
    assert KINDS[kind] in str(refusal.value) and "example: provio query x 1" in str(refusal.value)


def test_types_have_words_and_terms() -> None:
    assert set(TERMS) == set(KINDS)


@pytest.mark.integration
def test_values_stand_behind_the_name(copied: Project) -> None:
    """In the order of the header, a path from the current folder; `--show` lists the parameters."""
    assert counted(copied, "io-by-file", "one") == counted(copied, "io-by-file", "-p", f"path={copied.path / 'one'}")
    assert counted(copied, "io-by-file", "in", "read")[0][1:] == ["read", "5", "2048"]
    shown = copied.provio("query", "--show", "io-by-file").stdout.splitlines()
    assert shown[0] == "io-by-file: Calls, bytes and time of each function, by file"
    assert shown[1] == "  path  (path, which is made absolute)  only of this file"
    assert "SELECT ?path ?api" in "".join(shown)
    for wrong, says, code in (
        (["io-by-api", "read", "x"], "takes 1 value, not 2 (example: provio query io-by-api", 1),
        (["io-by-api", "read", "-p", "api=write"], "api is given twice", 2),
        (["io-by-rank", "-p", "rnak=1"], "no parameter rnak: did you mean 'rank'?: it has api, rank", 1),
        (["io-by-rank", "-p", "rank=first"], "rank: 'first' is no integer", 1),
        (["io-by-rang"], "io-by-rang: did you mean 'io-by-rank'?", 1),
    ):
        assert says in copied.provio("query", *wrong, code=code).stderr


@pytest.mark.integration
def test_own_questions(copied: Project) -> None:
    """A folder in the settings, relative to the settings file; a query there replaces one of provio's own, with a note;
    required parameters and types are checked there, too."""
    (copied.path / "provio.toml").write_text('queries = ["mine"]\n')
    (copied.path / "mine").mkdir()
    own = (
        "# title: Mine\n# parameter: most (count, default 1): so many\n# parameter: run (run, required): of this run\n"
    )
    select = "SELECT ?run ?p { VALUES ?run { UNDEF } ?f a provio:File ; provio:path ?p } ORDER BY ?p LIMIT 1 # ?most\n"
    (copied.path / "mine" / "io-by-api.rq").write_text(own + select)
    asked = copied.provio("query", "io-by-api", "2", "last", "--as", "csv")
    assert len(asked.stdout.splitlines()) == 3 and "/run/" in asked.stdout
    assert asked.stderr.startswith(f"io-by-api is {copied.path}/mine/io-by-api.rq (instead of ")
    assert "needs run" in copied.provio("query", "io-by-api", code=1).stderr
    assert "no run 'first'" in copied.provio("query", "io-by-api", "2", "first", code=3).stderr
    assert "Mine" in copied.provio("query", "--list").stdout
    (copied.path / "mine" / "io-by-api.rq").write_text("# parameter: most (number): so many\n" + select)
    assert "no type 'number'" in copied.provio("query", "io-by-api", code=1).stderr
    (copied.path / "provio.toml").write_text('queries = ["others"]\n')
    assert (
        f"{copied.path}/others, a folder of queries, cannot be read" in copied.provio("query", "--list", code=1).stderr
    )


@pytest.mark.integration
def test_the_list_and_wrong_calls(project: Project) -> None:
    """`--list` needs no record; an unknown name and an unknown parameter are reported."""
    assert [line.split("\t")[0] for line in project.provio("query", "--list").stdout.splitlines()[1:]] == NAMES
    project.watch("true")
    assert "provio query --list" in project.provio("query", "io-by-nothing", code=1).stderr
    assert "it has api" in project.provio("query", "io-by-api", "-p", "rank=1", code=1).stderr
    assert "NAME=VALUE" in project.provio("query", "io-by-api", "-p", "rank", code=2).stderr
    said = "to fill in path by name, use -p 'path=a b'"
    assert said in project.provio("query", "who-wrote", "path=a b", code=2).stderr
    (project.path / "path=a b").touch()
    project.provio("query", "who-wrote", "path=a b")
    project.provio("query", code=2)


@pytest.mark.integration
def test_stale_products_are_those_of_lineage(project: Project) -> None:
    """With complete records: all products, direct or not, of changed files are stale; repeated products are not."""
    project.sh("echo 2 > a; echo 1 >> a; echo x > k")
    project.run("sort a > b; cat b k > c; cp a kept; cp k other")
    project.run("sort b > again")
    project.run("echo 3 >> a; sort a > again")
    document = project.lineage("a", "--forward", "--stale")
    paths = {node["iri"]: node.get("path") for node in document["nodes"]}
    stale = {paths[one["product"]] for one in document["stale"]}
    answer = project.provio("query", "stale-products", "--as", "json").stdout
    found = {row["product"]["value"] for row in json.loads(answer)["results"]["bindings"]}
    assert found == stale == {str(project.path / name) for name in ("b", "c", "kept")}
    assert project.provio("query", "stale-products", "k", "--as", "csv").stdout.splitlines()[1:] == []


@pytest.mark.integration
def test_content_decides_about_stale_products(project: Project) -> None:
    """Neither a touch nor a repeated step with the same result; a file that was not hashed was not compared."""
    for name in ("same", "other", "plain", "longer", "again"):
        (project.path / name).write_text(name)
    (project.path / "empty").touch()

    def run(script: str) -> None:
        project.hashed("bash", "-c", script)

    def unhashed(script: str) -> None:
        project.provio("run", "--quiet", "--no-hash", "--", "bash", "-c", script)

    run("cat same > of-same; cat other > of-other; cat empty > of-empty; cat again > step; cat step > last")
    unhashed("cat plain > of-plain; cat longer > of-longer")
    project.sh("touch same empty plain; echo OTHE > other; echo > longer")
    run("cat same empty; cat again > step")  # the present versions are recorded
    unhashed("cat other; cat plain longer")
    run("cat other")
    lines = project.provio("query", "stale-products", "--as", "csv").stdout.replace(f"{project.path}/", "").splitlines()
    assert [[line.split(",")[column] for column in (0, 1, 4)] for line in lines] == [
        ["product", "input", "content"],
        ["of-longer", "longer", "changed"],
        ["of-other", "other", "changed"],
        ["of-plain", "plain", "not compared by content"],
    ]


@pytest.mark.integration
@pytest.mark.parametrize("name", ["io-by-file", "io-timeline", "slowest", "small-io"])
def test_a_name_that_is_not_utf_8_counts(project: Project, name: str) -> None:
    """As the graph has it, encoded."""
    project.watch("sh", "-c", "head -c 9 /dev/zero > \"$(printf 'odd\\377')\"")
    values = ["-p", "least=1"] if name == "small-io" else []
    assert f"{project.path}/odd%FF" in project.provio("query", name, *values, "--as", "csv").stdout


TURTLE = " ".join(f"@prefix {name}: <{iri}> ." for name, iri in PREFIXES.items())
TASK = """<t{n}/> a provio:Task ; provio:name "fit" ; prov:startedAtTime "2026-11-28T08:54:29.93606Z"^^xsd:dateTime ;
    provio:partOf <p> . <t{n}/phase/0> provio:partOf <t{n}/> . <w{n}> a provio:Write ; provio:partOf <t{n}/phase/0> .
    <v{n}> provio:wasWrittenBy <w{n}> ; prov:specializationOf <f> . """


def test_tasks_that_start_in_one_microsecond_stay_apart() -> None:
    """Also with the same name and the same file."""
    store = Store()
    text = '<p> a provio:Process ; provio:partOf <r> . <f> a provio:File ; provio:path "/out" . '
    text += TASK.format(n=1) + TASK.format(n=2)
    store.load(f"{TURTLE} @base <http://a/> . {text}".encode(), format=RdfFormat.TURTLE)
    found = store.query(PROLOGUE + find("tasks", []).text)
    assert isinstance(found, QuerySolutions)
    assert [(one["task"].value, one["path"].value) for one in found] == [("fit", "/out"), ("fit", "/out")]


@pytest.mark.integration
def test_a_table_has_command_lines_as_a_shell_takes_them(project: Project) -> None:
    """Only for people: output for programs is unchanged."""
    project.watch("true", "two words")
    assert "  true 'two words'\n" in project.provio("query", "runs-with", "--as", "table").stdout
    assert project.provio("query", "runs-with", "--as", "tsv").stdout.endswith('\t"true two%20words"\n')
    own = "SELECT ?text WHERE { ?run provio:commandLine ?text }"
    assert project.provio("query", own, "--as", "table").stdout.endswith("\ntrue 'two words'\n")
