"""Questions that have a name: each says what it asks, its parameters are in its text, and its answer is known."""

from __future__ import annotations

import re

import pytest
from conftest import Project
from pyoxigraph import Literal

from provio.errors import BadQuery
from provio.named_questions import FOLDER, filled, named, questions
from provio.query import text_of
from provio.reports import rows

NAMES = [question.name for question in questions()]


@pytest.mark.parametrize("name", NAMES)
def test_each_says_what_it_asks(name: str) -> None:
    """Title and example are there; the parameters of the header are those of the text, each with what it does."""
    question = named(name)
    assert question
    assert 0 < len(question.title) < 50  # --list shows it whole in 80 columns
    assert question.example.startswith(f"provio query {name}")
    places = re.findall(r"VALUES \?(\w+) \{ UNDEF \}", question.text)
    assert {parameter for parameter, _ in question.parameters} == set(places)
    assert all(says for _, says in question.parameters)


@pytest.mark.parametrize("name", NAMES)
def test_each_answer_fits_80_columns(name: str) -> None:
    """However many columns it has, and whatever stands in them."""
    selected = re.search(r"^SELECT (?:DISTINCT )?(.*) WHERE", text_of(name), re.MULTILINE)
    assert selected
    names = re.findall(r"\?(\w+)(?![^()]*\) AS)", selected[1])
    cells = [Literal("x" * 40) for _ in names]
    assert max(map(len, rows.render(names, [cells], "table", width=80).splitlines())) <= 80


@pytest.mark.parametrize("name", NAMES)
def test_each_is_documented(name: str) -> None:
    page = (FOLDER.parent.parent / "docs" / "questions.md").read_text()
    assert f"`{name}`" in page


def test_parameters_are_filled_in_as_terms() -> None:
    """Integers, IRIs and text; what is text stays text, whatever stands in it."""
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


def test_the_list_and_wrong_calls(project: Project) -> None:
    """`--list` needs no record; a name that is none, and a parameter that is none, are said."""
    assert [line.split("\t")[0] for line in project.provio("query", "--list").stdout.splitlines()[1:]] == [
        f'"{name}"' for name in NAMES
    ]
    project.watch("true")
    assert "provio query --list" in project.provio("query", "io-by-nothing", code=1).stderr
    assert "it has api" in project.provio("query", "io-by-api", "-p", "rank=1", code=1).stderr
    assert "NAME=VALUE" in project.provio("query", "io-by-api", "-p", "rank", code=2).stderr
    project.provio("query", code=2)
