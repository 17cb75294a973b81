"""Tasks, campaigns and events from Python: FlowCept's arguments, and one API for runs in progress and ended ones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Project, provio_command

import provio
from provio.api import Event
from provio.base.errors import BadQuery, ConfigError, NothingKnown

pytestmark = pytest.mark.integration

TRAINING = """
import sys
import provio

layers = int(sys.argv[1])
provio.configuration({"layers": layers, "lr": 0.1})
for step, loss in enumerate(map(float, sys.argv[2:])):
    provio.metric("loss", loss, step=step)
with open(f"model{layers}", "w") as file:
    file.write("weights")
"""
# Listing 1 of the paper on FlowCept (Souza et al. 2023), with the comma that is missing there.
LISTING = """
result_set = query(
 projection=['used.layers','generated.loss'],
 aggregation=[('min','generated.loss')],
 filter={'campaign_id': 'my_campaign_1'},
 sort=[('ended_at', 'descending')],
 limit=100
)
"""
PROGRAM = "for n in 1 2 3 4 5 6; do sleep 0.1; echo $n > file$n; done; cp file1 copy"
FOLLOWER = """
import json
import provio

with provio.open().follow() as events:
    print("ready", flush=True)
    for event in events:
        print(json.dumps(event), flush=True)
        if event["type"] == "run" and event["data"]["state"] == "ended":
            break
"""
LOSSES = {3: [0.9, 0.5, 0.25], 5: [0.8, 0.125]}


@pytest.fixture
def trained(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A campaign of two trainings and an evaluation, one more training outside of it; this process in the folder."""
    monkeypatch.delenv("PROVIO_HOME", raising=False)
    monkeypatch.chdir(project.path)
    (project.path / "train.py").write_text(TRAINING)
    for layers, losses in LOSSES.items():
        train(project, "my_campaign_1", layers, losses)
    train(project, "another", 4, [0.0])
    project.provio("run", "--quiet", "--campaign", "my_campaign_1", "--", "sh", "-c", "cat model3 model5 > report")
    return project


def train(project: Project, campaign: str, layers: int, losses: list[float]) -> None:
    options = ["--quiet", "--campaign", campaign, "--name", f"train{layers}"]
    project.provio("run", *options, "--", sys.executable, "train.py", str(layers), *map(str, losses))


def test_the_listing_of_flowcept_runs(trained: Project) -> None:
    """The least loss of each number of layers in the campaign, the newest training first."""
    names: dict[str, Any] = {"query": provio.open().tasks}
    exec(LISTING, names)
    assert names["result_set"] == [
        {"used_layers": layers, "min_generated_loss": min(losses)} for layers, losses in reversed(LOSSES.items())
    ]


def test_the_fields_of_flowcept(trained: Project) -> None:
    """A training is one document, with its parameters, the last loss, and the files."""
    store = provio.open()
    (found,) = store.tasks(filter={"used.layers": 5, "generated.loss": {"$lt": 0.2}})
    assert (found["campaign_id"], found["used"]["lr"], found["generated"]["loss"]) == ("my_campaign_1", 0.1, 0.125)
    assert found["generated"]["files"] == [str(trained.path / "model5")]
    assert (found["subtype"], found["status"], found["activity_id"]) == ("run", "ok", "train5")
    assert found["started_at"] <= found["ended_at"]
    later = store.tasks(filter={"started_at": {"$gt": found["started_at"]}}, projection=["campaign_id"])
    assert later == [{"campaign_id": "another"}]
    assert store.tasks(campaign="another", limit=1)[0]["campaign_id"] == "another"
    assert store.tasks(filter={"campaign_id": "none"}) == []


def test_wrong_arguments_of_a_query_are_refused(trained: Project) -> None:
    store = provio.open()
    for arguments in ({"filter": {"a": {"$near": 1}}}, {"aggregation": [("median", "a")]}, {"limit": -1}):
        with pytest.raises(BadQuery, match=r"docs/api.md|known: min|whole number"):
            store.tasks(**arguments)


def test_campaigns(trained: Project) -> None:
    """Their runs, hosts, records, states, and the runs that are tied by files."""
    store = provio.open()
    first, second = store.campaigns()
    runs = [row.run for row in store.runs()]
    assert (first.name, first.runs) == ("my_campaign_1", [runs[0], runs[1], runs[3]])
    assert (second.name, second.runs, second.ties) == ("another", [runs[2]], [])
    assert first.records == {str(trained.path / ".provio")}
    assert first.hosts == {os.uname().nodename}
    assert (first.state, first.states) == ("ok", {"ok": 3})
    assert first.start
    assert first.end
    assert first.start < first.end
    assert [(tie.maker, tie.reader, tie.files) for tie in first.ties] == [(runs[0], runs[3], 1), (runs[1], runs[3], 1)]
    assert [one.name for one in store.campaigns("another")] == ["another"]
    with pytest.raises(NothingKnown, match="no run has the campaign 'none'"):
        store.campaigns("none")


def test_a_campaign_has_the_runs_of_several_records(trained: Project) -> None:
    """With the setting `stores`; a run of the one read a file that a run of the other wrote."""
    other = Project(trained.path / "other", {**trained.env, "PROVIO_HOME": str(trained.path / "other" / ".provio")})
    other.path.mkdir()
    other.provio("init")
    other.provio("run", "--quiet", "--campaign", "my_campaign_1", "--", "cp", "../report", "copy", code=None)
    other.provio("run", "--quiet", "--campaign", "my_campaign_1", "--", "false", code=1)
    (other.path / "provio.toml").write_text('stores = [".."]\n')
    (found,) = provio.open(other.path).campaigns("my_campaign_1")
    assert found.records == {str(trained.path / ".provio"), str(other.path / ".provio")}
    assert (len(found.runs), found.state, found.states) == (5, "failed", {"ok": 4, "failed": 1})
    assert [(tie.reader, tie.files) for tie in found.ties if tie.maker == found.runs[2]] == [(found.runs[3], 1)]
    trainings = provio.open(other.path).tasks(filter={"generated.loss": {"$exists": True}}, projection=["used.layers"])
    assert trainings == [{"used": {"layers": layers}} for layers in (3, 5, 4)]


def test_an_ended_run_has_the_events_that_it_had(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers in two processes follow all runs while one goes on; a third asks for it by its name afterwards."""
    monkeypatch.delenv("PROVIO_HOME", raising=False)
    monkeypatch.chdir(project.path)
    store, live = provio.open(), list[Event]()
    command = [*provio_command(), "run", "--quiet", "--no-merge", "--name", "six", "--", "sh", "-c", PROGRAM]
    with (
        store.follow() as events,
        subprocess.Popen(
            [sys.executable, "-c", FOLLOWER], cwd=project.path, stdout=subprocess.PIPE, text=True
        ) as other,
    ):
        assert other.stdout
        assert other.stdout.readline() == "ready\n"
        with subprocess.Popen(command, cwd=project.path, env=project.env) as running:
            for event in events:
                live.append(event)
                if event["type"] == "run" and event["data"]["state"] == "ended":
                    break
        assert running.wait(60) == 0
        assert [json.loads(line) for line in other.stdout] == live
    names = [Path(one["data"]["path"]).name for one in live if one["type"] == "file"]
    assert {f"file{n}" for n in range(1, 7)} | {"copy"} <= {*names}
    later = list(store.follow("six"))
    assert live == later
    shutil.rmtree(project.path / ".provio" / "events")
    again = [(one["type"], one["subject"], one["data"]) for one in store.follow(later[0]["run"][:30])]
    assert sorted(map(str, again)) == sorted(str((one["type"], one["subject"], one["data"])) for one in later)


def test_a_run_that_cannot_be_followed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error comes with the call, not with the first event."""
    monkeypatch.delenv("PROVIO_HOME", raising=False)
    monkeypatch.chdir(project.path)
    project.watch("true")
    with pytest.raises(NothingKnown, match="no run 'none' is recorded"):
        provio.open().follow("none")
    run = provio.open().runs()[0].run
    shutil.rmtree(project.path / ".provio" / "runs" / run)
    with pytest.raises(NothingKnown, match=r"the data of run .* is not in .*: open the record that has it"):
        provio.open().follow(run)
    with pytest.raises(ConfigError, match="has no events"):
        provio.open("http://127.0.0.1:9/query").follow()


def test_a_reader_that_ends_early_holds_nothing(trained: Project) -> None:
    """Its lock on the events is released: another process adds to them."""
    with provio.open().follow("last") as events:
        assert next(events)["type"] == "run"
    code = "import provio; print(len(list(provio.open().follow('last'))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=trained.path)
    assert int(done.stdout) == len(list(provio.open().follow("last")))
