"""Each question that has a name gives the answer that is written down for it, in every store.

`tests/queries/NAME.toml` has at least one `[[case]]`: `story`, one of `stories.py`; `values`, the parameters as people
write them; `answer`, the rows as CSV. An answer that is not there yet is shown by the test that fails.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Project, assert_valid
from sparql_servers import Server, account
from synthetic_records import STORIES

from provio.ask.parameters import bound
from provio.ask.queries import named, questions
from provio.ask.query import execute
from provio.base.vocab import RUN_BASE
from provio.graph.lines import bundle_iri
from provio.merge.runs import merge
from provio.render import rows
from provio.settings import load, schema
from provio.settings.home import Home
from provio.store import Store, open_reader

FOLDER = Path(__file__).parent.parent / "queries"
CASES = {path.stem: tomllib.loads(path.read_text())["case"] for path in sorted(FOLDER.glob("*.toml"))}
EACH = [pytest.param(name, case, id=f"{name}-{number}") for name in CASES for number, case in enumerate(CASES[name], 1)]


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Home]:
    """Return the home of each story, recorded and merged once."""
    known: dict[str, Home] = {}

    def home(name: str) -> Home:
        if name not in known:
            folder = tmp_path_factory.mktemp(name) / "record"
            folder.mkdir(mode=0o700)
            known[name] = Home(folder)
            STORIES[name](known[name])
            assert merge(known[name]).damages == []
            assert_valid(folder)
        return known[name]

    return home


def answer(reader: Store, name: str, values: dict[str, str]) -> str:
    """Return the rows as CSV."""
    question = named(name)
    assert question
    return rows_of(reader, bound(question, values, reader).text)


def rows_of(reader: Store, text: str) -> str:
    found = execute(reader, text)
    names = [variable.value for variable in found.variables]  # type: ignore[union-attr]
    cells = ([row[one] for one in names] for row in found)  # type: ignore[index, union-attr]
    return rows.render(names, cells, "csv").replace("\r\n", "\n")


@pytest.mark.parametrize("name", [question.name for question in questions() if not question.events])
def test_each_question_has_a_golden_answer(name: str) -> None:
    """At least one case, and one with a row."""
    assert any(len(case["answer"].strip().splitlines()) > 1 for case in CASES.get(name, ()))


def test_each_golden_answer_has_a_question() -> None:
    assert set(CASES) <= {question.name for question in questions()}


@pytest.mark.parametrize(("name", "case"), EACH)
def test_each_gives_its_golden_answer(name: str, case: dict[str, Any], stories: Callable[[str], Home]) -> None:
    """The rows, in their order."""
    assert set(case) == {"story", "values", "answer"}
    home = stories(case["story"])
    assert answer(open_reader(home), name, case["values"]) == case["answer"].lstrip("\n")


def assert_same_of_many(reader: Store, case: dict[str, Any]) -> None:
    """Looking up a run of few processes gives the same as reading one of many."""
    question = named("io-timeline")
    assert question
    text = bound(question, case["values"], reader).text
    assert text.count("< 100 AS") == 2
    assert rows_of(reader, text.replace("< 100 AS", "< 0 AS")) == case["answer"].lstrip("\n")


@pytest.mark.parametrize("case", CASES["io-timeline"])
def test_a_time_line_of_many_processes_is_that_of_few(case: dict[str, Any], stories: Callable[[str], Home]) -> None:
    """The rows, in their order."""
    assert_same_of_many(open_reader(stories(case["story"])), case)


def assert_golden(project: Project, stories: Callable[[str], Home], url: str) -> None:
    """Story by story: all answers are the embedded store's."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HOME", str(project.path.parent))
        settings = load.load(flags={"store": url})
        for story in dict.fromkeys(case["story"] for cases in CASES.values() for case in cases):
            home = stories(story)
            merge(home, settings=settings)
            reader = open_reader(home, settings)
            for name, cases in CASES.items():
                for case in (case for case in cases if case["story"] == story):
                    assert answer(reader, name, case["values"]) == case["answer"].lstrip("\n"), (name, case["values"])
            for case in (case for case in CASES["io-timeline"] if case["story"] == story):
                assert_same_of_many(reader, case)
            forget(home, settings)


def forget(home: Home, settings: schema.Config) -> None:
    """Remove the story's runs, and the conclusions from them, from the server."""
    from provio.store import open_writer

    with open_writer(home, settings, wait=True) as writer:
        for folder in home.run_folders():
            writer.drop(bundle_iri(RUN_BASE + folder.name))
        writer.publish()


@pytest.mark.slow
def test_oxigraph_gives_the_golden_answers(project: Project, oxigraph: Server, stories: Callable[[str], Home]) -> None:
    assert_golden(project, stories, oxigraph.url)


@pytest.mark.slow
def test_virtuoso_gives_the_golden_answers(project: Project, virtuoso: Server, stories: Callable[[str], Home]) -> None:
    account(project)
    assert_golden(project, stories, virtuoso.url)
