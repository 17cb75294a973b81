"""Parameters and metrics of runs whose files the next run overwrites or removes before any merge: they are read at the
end of each run."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Project, in_memory, provio_command

tmp_path = in_memory
pytestmark = pytest.mark.integration
RATES = (1, 2, 4)
TRAIN = """import json, os, sys
rate = json.load(open("params.json"))["lr"]
json.dump({"loss": 1 / rate}, open("new", "w"))
os.rename("new", "metrics.json")
"""
WAYS = {
    "ask": {"PROVIO_MERGE": "ask"},
    "batch job": {"PROVIO_MERGE": "background", "SLURM_JOB_ID": "12"},
    "all hashes": {"PROVIO_MERGE": "ask", "PROVIO_HASH": "all"},
}


@pytest.fixture
def unmerged(project: Project) -> Project:
    """A project whose runs are merged by the first query."""
    project.env["PROVIO_MERGE"] = "ask"
    return project


def rates(project: Project, verb: str, name: str) -> list[float]:
    """Return a value of each run, in the order of the runs."""
    key, order = ("parameters", "start") if verb == "params" else ("value", "time")
    rows = json.loads(project.provio(verb, "--as", "json", "--sort", order).stdout)
    return [float(row[key][name] if key == "parameters" else row[key]) for row in rows]


@pytest.mark.parametrize("way", WAYS)
def test_each_run_of_a_sweep_has_its_values(project: Project, way: str) -> None:
    """Also of a file that gets its name by a rename."""
    project.env |= WAYS[way]
    (project.path / "train.py").write_text(TRAIN, encoding="utf-8")
    for rate in RATES:
        (project.path / "params.json").write_text(json.dumps({"lr": rate}), encoding="utf-8")
        project.watch(sys.executable, "train.py")
    (project.path / "params.json").unlink()
    assert rates(project, "params", "lr") == list(RATES)
    assert rates(project, "metrics", "loss") == [1 / rate for rate in RATES]
    assert project.count('?gap a provio:Gap ; provio:reason ?r FILTER(CONTAINS(?r, "known"))') == 0


def test_a_run_in_a_run(unmerged: Project) -> None:
    """The inner run has no waiter of its own."""
    for rate in RATES:
        (unmerged.path / "params.json").write_text(json.dumps({"lr": rate}), encoding="utf-8")
        unmerged.watch(*provio_command(), "run", "--quiet", "--", "cat", "params.json")
    assert rates(unmerged, "params", "lr") == list(RATES)


def test_files_with_any_name(unmerged: Project) -> None:
    """Each once, also through a link and in several processes; a file that became a pipe is not waited for."""
    names = [b"params.yaml", b"a \n b/params.yaml", b"\xff/params.yaml", b"pipe/params.yaml", b"link/params.yaml"]
    os.chdir(unmerged.path)
    for name in names[1:]:
        os.mkdir(os.path.dirname(name))
    for number, name in enumerate(names[:4]):
        Path(os.fsdecode(name)).write_text(f"a: {number}\n", encoding="utf-8")
    os.symlink("../params.yaml", names[4])
    unmerged.run(
        'for one in */params.yaml params.yaml; do cat "$one"; cat "$one"; done; rm pipe/*; mkfifo pipe/params.yaml'
    )
    unmerged.sh("rm -r *")
    found = {row["value"] for row in unmerged.rows("SELECT ?value { ?s a provio:Setting ; provio:value ?value }")}
    assert found == {"0", "1", "2"}
    (reason,) = (row["r"] for row in unmerged.rows("SELECT ?r { ?gap a provio:Gap ; provio:reason ?r }"))
    assert reason.startswith("pipe/params.yaml was ")


def test_secrets_are_on_no_disk(unmerged: Project) -> None:
    """Neither after the run nor after the merge, also a name that only the project's settings declare secret."""
    (unmerged.path / "provio.toml").write_text('[redact]\nadd = ["badge"]\n', encoding="utf-8")
    text = '{"api_key": "hunter2hunter2", "badge": "hunter2hunter2", "lr": 1}'
    (unmerged.path / "params.json").write_text(text, encoding="utf-8")
    unmerged.watch("cat", "params.json")
    unmerged.sh("rm params.json")
    assert rates(unmerged, "params", "lr") == [1]
    assert "REDACTED" in unmerged.provio("params", "--all").stdout
    record = [path.read_bytes() for path in (unmerged.path / ".provio").rglob("*") if path.is_file()]
    assert record and not any(b"hunter2" in content for content in record)


def test_the_merge_waits_until_the_values_are_read(unmerged: Project) -> None:
    """The process that reads them holds the lock of the run's request."""
    unmerged.watch("true")
    (request,) = (path for path in (unmerged.path / ".provio" / "hashing").iterdir() if path.name != "lock")
    with request.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        command = [*provio_command(), "runs"]
        with subprocess.Popen(command, cwd=unmerged.path, env=unmerged.env, stdout=subprocess.PIPE) as query:
            with pytest.raises(subprocess.TimeoutExpired):
                query.wait(1)
            fcntl.flock(file, fcntl.LOCK_UN)
            assert query.communicate(timeout=60)[0]


def test_more_names_than_a_process_notes(unmerged: Project) -> None:
    """The merge reads the files of the others."""
    for number in range(100):
        (unmerged.path / str(number)).mkdir()
        (unmerged.path / str(number) / "params.json").write_text(f'{{"n": {number}}}', encoding="utf-8")
    unmerged.watch("cat", *(f"{number}/params.json" for number in range(100)))
    found = [row["value"] for row in unmerged.rows("SELECT ?value { ?s a provio:Setting ; provio:value ?value }")]
    assert sorted(map(int, found)) == list(range(100))


@pytest.mark.parametrize("setting", ["record.parameter_files", "record.values_limit"])
def test_files_that_are_not_to_be_read(unmerged: Project, setting: str) -> None:
    value = {"record.parameter_files": "other.json", "record.values_limit": "1 kB"}[setting]
    unmerged.env["PROVIO_" + setting.replace(".", "_").upper()] = value
    (unmerged.path / "params.json").write_text(json.dumps({"lr": "x" * 2000}), encoding="utf-8")
    unmerged.watch("cat", "params.json")
    assert unmerged.count("?s a provio:Setting") == 0
    assert unmerged.count("?gap a provio:Gap") == (setting == "record.values_limit")
