"""Named queries over event files: transitions, transfers, steals and warnings of Dask, in all forms and from Python."""

from __future__ import annotations

import csv
import io
import json

import pytest
from conftest import Project
from dask_projects import ODD, STEALS, VERSIONS, recorded

import provio
from provio.ask import event_questions
from provio.ask.queries import questions
from provio.base.errors import NothingKnown

pytestmark = pytest.mark.integration
BIG = "('big', 0)"


@pytest.fixture(scope="session", params=VERSIONS)
def dask(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, shim: object) -> Project:
    return recorded(request.param, tmp_path_factory)


@pytest.fixture(scope="session", params=VERSIONS)
def steals(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, shim: object) -> Project:
    return recorded(request.param, tmp_path_factory, STEALS)


def rows(project: Project, name: str, *values: str) -> list[dict[str, str]]:
    """Return the rows of a query as CSV."""
    return list(csv.DictReader(io.StringIO(project.answer("query", name, *values, "--as", "csv"))))


def test_transitions(dask: Project) -> None:
    """In time order; those of one key in the scheduler, the worker that ran it and the one that received its result."""
    every = rows(dask, "transitions", "-p", "run=last")
    assert [one["time"] for one in every] == sorted(one["time"] for one in every)
    found = rows(dask, "transitions", "-p", "run=last", "-p", f"task={BIG}")
    assert found == [one for one in every if one["key"] == BIG]
    scheduler = [(one["before"], one["after"]) for one in found if one["place"] == "scheduler"]
    assert scheduler[:3] == [("released", "waiting"), ("waiting", "processing"), ("processing", "memory")]
    places = {one["place"]: one["after"] for one in found if one["before"] in ("executing", "flight")}
    assert [*places.values()] == ["memory", "memory"]
    assert any(one["key"] == ODD for one in every)


def test_a_transfer_appears_once(dask: Project) -> None:
    """With sender, receiver, keys, bytes, times and bandwidth; none has the result of a task that stayed."""
    (found,) = rows(dask, "transfers", "-p", f"task={BIG}")
    assert json.loads(found["keys"]) == [BIG] and found["bytes"] == "100000"
    assert found["from"] != found["to"] and found["start"] < found["stop"]
    assert abs(100_000 / float(found["seconds"]) / int(found["bandwidth"]) - 1) < 0.01
    assert rows(dask, "transfers", "-p", "task=fail-1") == []


def test_forms_and_python(dask: Project) -> None:
    """SPARQL's JSON has types; the rows of Python are values; the name of a run must be known."""
    document = json.loads(dask.answer("query", "transfers", "--as", "json"))
    assert document["head"]["vars"] == "from to keys bytes start stop seconds bandwidth run".split()
    assert document["results"]["bindings"][0]["bytes"]["datatype"].endswith("#integer")
    store = provio.open(dask.path)
    (row,) = store.query("transfers", task=BIG)
    assert (row["bytes"], json.loads(row["keys"])) == (100_000, [BIG]) and row["start"] < row["stop"]
    assert len(store.query("transfers", task=BIG, timeout=60)) == 1
    with pytest.raises(NothingKnown, match="no run 'nope' is recorded"):
        store.query("transfers", run="nope")
    assert "no run 'nope'" in dask.provio("query", "steals", "-p", "run=nope", code=3).stderr


def test_steals(steals: Project) -> None:
    """A request, then the victim's consent, of a key; both workers and the stimulus."""
    found = rows(steals, "steals", "last")
    confirmed = next(one for one in found if one["event"] == "confirm")
    assert confirmed["stimulus"].startswith("steal-") and confirmed["victim"] != confirmed["thief"]
    of_key = rows(steals, "steals", "-p", f"task={confirmed['key']}")
    assert confirmed in of_key and of_key[0]["event"] == "request"
    assert {(one["victim"], one["thief"]) for one in of_key} == {(confirmed["victim"], confirmed["thief"])}


def test_warnings(steals: Project) -> None:
    """Lines of Dask's log from WARNING on, with the worker."""
    (found,) = [one for one in rows(steals, "warnings", "-p", "run=last") if one["kind"] == "line"]
    assert (found["level"], found["text"]) == ("WARNING", "look at 'three',\nand at four")
    assert found["place"].startswith("tcp://")


def test_a_run_without_events(project: Project) -> None:
    """No rows, and no error; with an option that selects runs as well."""
    project.run("true")
    assert rows(project, "transitions") == rows(project, "warnings", "last") == []
    assert "no run has the campaign" in project.provio("query", "transfers", "--campaign", "x", code=3).stderr


def test_each_header_names_a_function() -> None:
    """And the rows of the function have the columns of the SELECT, without the run."""
    named = {one.name: one.events for one in questions() if one.events}
    assert named == {name: name for name in ("steals", "transfers", "transitions", "warnings")}
    assert all(callable(getattr(event_questions, function)) for function in named.values())
