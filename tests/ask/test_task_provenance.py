"""`provio show TASK` of a task of Dask: graph, relatives, attempts, states, result, transfers, arguments, I/O."""

from __future__ import annotations

import json
import re

import pytest
from conftest import Project
from dask_projects import ODD, VERSIONS, recorded

pytestmark = pytest.mark.integration

SAVED = "save-0123456789abcdef0123456789abcdef"
LOADED = "('load-7', 0)"


@pytest.fixture(scope="session", params=VERSIONS)
def dask(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, shim: object) -> Project:
    return recorded(request.param, tmp_path_factory)


def shown(project: Project, name: str, *options: str) -> dict[str, list[str]]:
    """Return the facts of a thing by their titles."""
    rows = json.loads(project.answer("show", name, "--as", "json", *options))
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["what"], []).append(row["value"])
    return found


def test_a_task_that_reads_a_file(dask: Project) -> None:
    """Its graph is the first of the run, it has a dependent, a result, and an I/O record without offsets."""
    found = shown(dask, LOADED)
    assert (found["task"], found["status"], found["prefix"]) == ([LOADED], ["ok"], ["load"])
    assert re.fullmatch(r"1 of 6, update-graph-[\d.]+, Client-[-\w]+", found["graph"][0])
    assert re.fullmatch(re.escape(SAVED) + r"  ok  tcp://\S+", found["dependent"][0])
    assert "dependency" not in found and "attempt" not in found and "exception" not in found
    assert re.fullmatch(r"list, \d+ B  tcp://\S+", found["result"][0])
    assert found["arguments"] == ['["__main__.load",["in.txt"]]']
    assert re.fullmatch(
        rf"read {re.escape(str(dask.path))}/in.txt: \d calls? of \w+, 6 B, [\d:.]+ to [\d:.]+", found["io"][0]
    )
    assert found["io"][1] == "offsets and single calls are not recorded: record them with provio run --detail call"


def test_states_have_place_time_and_duration(dask: Project) -> None:
    """In the scheduler from waiting to memory, in the worker from waiting over executing to memory."""
    states = [re.fullmatch(r"([\d:.]+)  (\w+) +(?:[\d.]+ \w+)?  (scheduler|tcp)\S* ?\S*  \S+", one)
              for one in shown(dask, SAVED)["state"]]  # fmt: skip
    known = [(one[3], one[2]) for one in states if one]
    assert len(known) == len(states)
    assert [state for place, state in known if place == "scheduler"][:3] == ["waiting", "processing", "memory"]
    assert [state for place, state in known if place == "tcp"][:4] == ["waiting", "ready", "executing", "memory"]


def test_a_result_that_another_worker_received(dask: Project) -> None:
    """The transfer has receiver, time, duration, size and sender."""
    found = shown(dask, "('big', 0)")
    kept = found["result"][0].split()[-1]
    receiver, rest = found["transfer"][0].split("  ")
    assert receiver.startswith("tcp://") and receiver != kept
    assert re.fullmatch(rf"[\d:.]+, [\d.]+ \S+, 100.0 kB from {kept}", rest)
    assert shown(dask, ODD)["dependency"] == [f"('big', 0)  ok  {kept}"]


def test_attempts_and_errors(dask: Project) -> None:
    """Both attempts of a retried task; the exception and the traceback of a failed one."""
    found = shown(dask, "second_time-1")
    assert [re.sub(r".*, (\w+)  tcp:\S+", r"\1", one) for one in found["attempt"]] == ["error", "ok  (this one)"]
    assert "exception" not in found  # it belongs to the first attempt
    found = shown(dask, "fail-1")
    assert "ValueError" in found["exception"][0] and any("in fail" in line for line in found["traceback"])


def test_a_task_is_found_by_the_start_of_its_key(dask: Project) -> None:
    """If it is unambiguous; a name with a line end and quotes too."""
    assert shown(dask, "save-0123")["task"] == [SAVED]
    assert shown(dask, "length of 'big'")["task"] == shown(dask, ODD)["task"] == [ODD]
    assert shown(dask, "('b", "--task")["task"] == ["('big', 0)"]
    error = dask.provio("show", "('", code=3).stderr
    assert error.startswith('provio: several tasks start with "(\'": give more of the name')
    assert "no task 'nope' is recorded: provio tasks lists them" in dask.provio("show", "nope", "--task", code=3).stderr


def test_the_text(dask: Project) -> None:
    """One line for each fact; a key with a line end stays on one line."""
    text = dask.provio("show", ODD).stdout
    assert text.splitlines()[0] == "task     length of 'big'\\n, next line"
    assert re.search(r"(?m)^needs    \('big', 0\)  ok  tcp://", text)
    assert re.search(r"(?m)^when     .* UTC, \d+ ms, ok$", text)
