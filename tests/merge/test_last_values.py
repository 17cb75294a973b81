"""Parameters and metrics of runs whose files the next run overwrites or removes before any merge: they are read at the
end of each run."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
import time
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
    assert project.count('?gap a provio:Gap ; provio:reason ?r FILTER(CONTAINS(?r, "are not known"))') == 0


def test_a_run_in_a_run(unmerged: Project) -> None:
    """The inner run has no waiter of its own."""
    for rate in RATES:
        (unmerged.path / "params.json").write_text(json.dumps({"lr": rate}), encoding="utf-8")
        unmerged.watch(*provio_command(), "run", "--quiet", "--", "cat", "params.json")
    assert rates(unmerged, "params", "lr") == list(RATES)


def test_files_with_any_name(unmerged: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once, also through a link and in several processes; a file that became a pipe is not waited for."""
    names = [b"params.yaml", b"a \n b/params.yaml", b"\xff/params.yaml", b"pipe/params.yaml", b"link/params.yaml"]
    monkeypatch.chdir(unmerged.path)
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


def test_values_that_are_read_after_a_failed_attempt(unmerged: Project) -> None:
    """The merge does not wait for ever, and may state that a file was changed: the values count all the same."""
    (unmerged.path / "params.json").write_text('{"lr": 1}', encoding="utf-8")
    unmerged.watch("cat", "params.json")
    (place,) = (unmerged.path / ".provio" / "runs").glob("*/*/")
    (line, *others) = (found := unmerged.path / place / "contents.ttl").read_text(encoding="utf-8").split("\n")[1:]
    version, facts = line.removesuffix(" .").split(" ", 1)
    for order in (0, 1):
        attempt = f'{version[:-1]}0> {facts} ; :reason "it was changed before it was read" .'
        lines = ["@prefix : <https://w3id.org/provio/ns#> .", line, *others]
        lines.insert(1 if order else len(lines) - 1, attempt)
        found.write_text("\n".join(lines), encoding="utf-8")
        unmerged.provio("merge", "--rebuild")
        assert rates(unmerged, "params", "lr") == [1]
        assert unmerged.count("?gap a provio:Gap") == 0


def test_many_files_of_a_process(unmerged: Project) -> None:
    """Those that it opened last are known, too."""
    for number in range(200):
        (unmerged.path / str(number)).mkdir()
        (unmerged.path / str(number) / "params.json").write_text(f'{{"n": {number}}}', encoding="utf-8")
    unmerged.watch("cat", *(f"{number}/params.json" for number in range(200)))
    unmerged.sh("rm -r */")
    found = [row["value"] for row in unmerged.rows("SELECT ?value { ?s a provio:Setting ; provio:value ?value }")]
    assert sorted(map(int, found)) == list(range(200))


def test_a_name_that_could_not_be_noted_at_first(unmerged: Project) -> None:
    """The process has no free descriptor at the first opening."""
    (unmerged.path / "params.json").write_text('{"lr": 1}', encoding="utf-8")
    program = """import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
taken = []
while len(taken) < 100:
    try: taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError: break
os.close(taken.pop())
for one in (1, 2):
    file = os.open("params.json", os.O_RDONLY)
    os.read(file, 99)
    os.close(file)
    while taken: os.close(taken.pop())
"""
    unmerged.watch(sys.executable, "-c", program)
    unmerged.sh("rm params.json")
    assert rates(unmerged, "params", "lr") == [1]


def test_a_limit_of_the_size_of_files(unmerged: Project) -> None:
    """It holds for the memory of the end of the run, too: the merge reads the file then."""
    text = "a: 1\n" + "#" * 40_000 + "\nlr: 5\n"
    (unmerged.path / "params.yaml").write_text(text, encoding="utf-8")
    command = shlex.join([*provio_command(), "run", "--quiet", "--", "cat", "params.yaml"])
    limited = ["bash", "-c", f"ulimit -f 34; {command} > /dev/null"]
    subprocess.run(limited, cwd=unmerged.path, env=unmerged.env, check=True, timeout=60)
    assert rates(unmerged, "params", "lr") == [5]


def test_a_signal_at_the_end_of_the_run(unmerged: Project) -> None:
    """`provio run` ends as its command, also while it waits for the lock of the request."""
    script = "cat params.json > /dev/null; until test -e locked; do sleep 0.1; done; exit 7"
    (unmerged.path / "params.json").write_text('{"lr": 1}', encoding="utf-8")
    run = subprocess.Popen(
        [*provio_command(), "run", "--quiet", "--", "sh", "-c", script], cwd=unmerged.path, env=unmerged.env
    )
    while not (found := list((unmerged.path / ".provio").glob("hashing/*-*"))):
        assert run.poll() is None
        time.sleep(0.05)
    with found[0].open("rb") as request:
        fcntl.flock(request, fcntl.LOCK_EX)
        (unmerged.path / "locked").touch()
        time.sleep(0.6)
        run.send_signal(signal.SIGTERM)
        assert run.wait(60) in (7, -signal.SIGTERM)  # the latter on a busy machine: the command had not ended yet
        fcntl.flock(request, fcntl.LOCK_UN)
    assert rates(unmerged, "params", "lr") == [1]


def test_the_first_process_of_a_container(unmerged: Project) -> None:
    """The kernel ends all processes with it: it waits until the values are read."""
    namespace = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*namespace, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not make a PID namespace")
    for rate in RATES:
        (unmerged.path / "params.json").write_text(json.dumps({"lr": rate}), encoding="utf-8")
        command = [*namespace, *provio_command(), "run", "--quiet", "--", "cat", "params.json"]
        subprocess.run(command, cwd=unmerged.path, env=unmerged.env, capture_output=True, check=True, timeout=60)
    assert rates(unmerged, "params", "lr") == list(RATES)


@pytest.mark.parametrize("setting", ["record.parameter_files", "record.values_limit"])
def test_files_that_are_not_to_be_read(unmerged: Project, setting: str) -> None:
    value = {"record.parameter_files": "other.json", "record.values_limit": "1 kB"}[setting]
    unmerged.env["PROVIO_" + setting.replace(".", "_").upper()] = value
    (unmerged.path / "params.json").write_text(json.dumps({"lr": "x" * 2000}), encoding="utf-8")
    unmerged.watch("cat", "params.json")
    assert unmerged.count("?s a provio:Setting") == 0
    assert unmerged.count("?gap a provio:Gap") == (setting == "record.values_limit")
