"""Questions about three workflows of a campaign while they run: a logger, a Dask map, a training; only files tie them.

Each waits for a file before it goes on, so that all are in progress while the server answers.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from conftest import Project, new_project, provio_command
from dask_environments import python_with_dask
from serve_process import Site, serving

pytest.importorskip("waitress")
pytestmark = pytest.mark.integration

WAIT = """
import os, sys, time
def await_file(name):
    while not os.path.exists(name):
        time.sleep(0.05)
"""
LOGGER = (
    WAIT
    + """
for n in range(4):
    with open(f"raw{n}.txt", "w") as file:
        file.write("%d\\n" % (n + 1))
open("logged", "w").close()
await_file("end")
"""
)
# The features of raw file 3 fail.
DASK = (
    WAIT
    + """
from dask.distributed import Client, LocalCluster

def feature(number):
    with open(f"raw{number}.txt") as file:
        value = int(file.read())
    if number == 3:
        raise ValueError("no feature of 3")
    with open(f"feature{number}.txt", "w") as file:
        file.write("%d\\n" % (10 * value))
    return number

if __name__ == "__main__":
    await_file("logged")
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        futures = client.map(feature, range(4), pure=False)
        for future in futures:
            future.exception()
        open("mapped", "w").close()
        await_file("end")
"""
)
# The model of features 0 and 1 is the best.
TRAINING = (
    WAIT
    + """
import provio

await_file("mapped")
for model, (inputs, loss) in enumerate([((0,), 0.5), ((0, 1), 0.25), ((2,), 0.75)]):
    with provio.activity("train", {"model": model}):
        total = 0
        for number in inputs:
            with open(f"feature{number}.txt") as file:
                total += int(file.read())
        provio.metric("loss", loss)
        with open(f"model{model}.txt", "w") as file:
            file.write("%d\\n" % total)
open("trained", "w").close()
await_file("end")
"""
)


def started(project: Project, name: str, *command: str) -> subprocess.Popen[bytes]:
    """Start a workflow of the campaign."""
    words = [*provio_command(), "run", "--quiet", "--campaign", "das", "--name", name, "--", *command]
    return subprocess.Popen(words, cwd=project.path, env=project.env, stderr=subprocess.DEVNULL)


def ask(site: Site, name: str, **values: Any) -> Any:
    status, text, _ = site.ask(f"/api/v1/{name}?{urlencode(values)}")
    assert status == 200, text
    return json.loads(text)


def until(found: Callable[[], Any]) -> Any:
    """Ask again until the answer is true; the limit is only for a broken program."""
    end = time.monotonic() + 300
    while not (answer := found()):
        assert time.monotonic() < end
        time.sleep(0.2)
    return answer


def test_questions_across_workflows_that_run(tmp_path: Path, shim: Path) -> None:
    project = new_project(tmp_path)
    for name, text in (("logger.py", LOGGER), ("features.py", DASK), ("training.py", TRAINING)):
        (project.path / name).write_text(text)
    project.watch("true")
    workflows = [
        started(project, "logger", sys.executable, "logger.py"),
        started(project, "features", python_with_dask(), "features.py"),
        started(project, "training", sys.executable, "training.py"),
    ]
    try:
        with serving(project, "--timeout", "100") as site:
            until((project.path / "trained").exists)
            assert [one.poll() for one in workflows] == [None, None, None]
            best = until(lambda: best_model(site))
            assert (best["generated_files"], best["min_generated_loss"]) == ([str(project.path / "model1.txt")], 0.25)
            document = ask(site, "lineage", path="model1.txt", nodes=3000)
            paths = {Path(node["path"]).name for node in document["nodes"] if node["type"] == "FileVersion"}
            assert paths & {f"raw{n}.txt" for n in range(4)} == {"raw0.txt", "raw1.txt"}
            failed = until(lambda: ask(site, "tasks", campaign="das", status="failed")["rows"])
            assert [(row["prefix"], row["kind"]) for row in failed] == [("feature", "dask")]
            (campaign,) = ask(site, "campaigns")["rows"]
            assert (campaign["runs"], campaign["state"], campaign["end"]) == (3, "in progress", None)
            names = {row["run"]: row["name"] for row in ask(site, "runs", campaign="das")["rows"]}
            ties = {(names[tie["maker"]], names[tie["reader"]], tie["files"]) for tie in campaign["ties"]}
            assert {("logger", "features", 4), ("features", "training", 3)} <= ties
    finally:
        (project.path / "end").touch()
        codes = [one.wait() for one in workflows]
    assert codes == [0, 0, 0]


def best_model(site: Site) -> Any:
    """The files of the task with the least loss so far; None as long as not all three are there."""
    query = {
        "filter": {"campaign_id": "das", "activity_id": "train", "status": "ok"}, "projection": ["generated.files"],
        "aggregation": [["min", "generated.loss"]], "sort": [["min_generated_loss", "ascending"]],
    }  # fmt: skip
    status, text, _ = site.ask("/api/v1/tasks/query", "POST", json.dumps(query), Content_Type="application/json")
    assert status == 200, text
    rows = json.loads(text)["rows"]
    return rows[0] if len(rows) == 3 else None
