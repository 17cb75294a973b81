"""Lineage through tasks of Dask, for each supported version: planted inputs, and Dask's own statements."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Project, assert_valid, new_project, provio_command
from dask_environments import VERSIONS, python_with_dask
from workers import made_once

from provio.lineage.task_results import UNKNOWN_CLIENT
from provio.settings.home import Home
from provio.trace import events
from provio.trace.events import Arguments, Dependencies, EventFile, Result, Transfer, Transition
from provio.trace.read import read_head

pytestmark = pytest.mark.slow
PROGRAM = ROOT / "tests" / "programs" / "dask_kinds.py"
PLANTED = ROOT / "tests" / "programs" / "dask_planted.py"
KILLED = ROOT / "tests" / "programs" / "dask_killed.py"
NAMES = "futures delayed bag1 bag2 array scatter actor coroutine nested retry failed a b".split()
# The inputs of each product: by data, and carried (the state of an actor).
INPUTS = {
    "futures.out": {"in-futures.txt"},
    "delayed.out": {"in-delayed.txt"},
    "bag.out": {"in-bag1.txt", "in-bag2.txt"},
    "array.out": {"in-array.txt"},
    "frame.out": {"in-frame.csv"},
    "coroutine.out": {"in-coroutine.txt"},
    "nested.out": {"in-nested.txt"},
    "retry.out": {"in-retry.txt"},
    "actor.out": {"in-actor.txt"},
}


@pytest.fixture(scope="module", params=VERSIONS)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A run of all kinds of tasks, recorded and merged."""
    python = python_with_dask(request.param)

    def record(folder: Path) -> None:
        project = new_project(folder)
        for name in NAMES:
            (project.path / f"in-{name}.txt").write_text("7\n")
        (project.path / "in-frame.csv").write_text("x,y\n1,2\n3,4\n")
        project.watch(python, PROGRAM, ".")
        assert_valid(project.path / ".provio")

    return new_project(made_once(tmp_path_factory, f"dask-{request.param}", record))


@pytest.fixture
def oracle(recorded: Project) -> dict[str, Any]:
    """The statements of Dask about the run."""
    return json.loads((recorded.path / "oracle.json").read_text())  # type: ignore[no-any-return]


def event_files(project: Project) -> list[EventFile]:
    """Return the event files of the project's last run, which are not damaged."""
    folder = max((project.path / ".provio" / "runs").iterdir())
    damages: list[Any] = []
    found = events.read(folder, read_head(folder), damages)
    assert damages == []
    return found


def test_products_have_their_true_inputs(recorded: Project) -> None:
    """With default options, and no other file; nothing of it is a socket."""
    for product, inputs in INPUTS.items():
        document = recorded.lineage(product)
        found = recorded.files(document)
        assert found["data"] | found["carried"] == inputs, product
        kinds = {node["type"] for node in document["nodes"]}
        assert kinds <= {"FileVersion", "TaskResult", "Task", "Program"}, product
        assert document["gaps"] == []


def test_data_that_a_client_sent(recorded: Project) -> None:
    """It has the inputs that the client had read before it sent it."""
    assert "in-scatter.txt" in recorded.files(recorded.lineage("scatter.out"))["data"]


def test_a_task_takes_at_most_three_lines(recorded: Project) -> None:
    for product in INPUTS:
        tasks = {node.get("task", node["iri"]) for node in recorded.lineage(product)["nodes"] if node["type"] == "Task"}
        lines = recorded.answer("lineage", product).splitlines()
        assert len(lines) <= 3 * len(tasks) + 3, product
        assert not any("socket" in line for line in lines)


def test_a_path_names_each_task_once(recorded: Project) -> None:
    """Its result has no name of its own."""
    for line in recorded.answer("lineage", "delayed.out", "--paths").splitlines():
        if " ← " in line:
            words = line.split(" ← ")
            assert (words[0], words[-1]) == ("delayed.out", "in-delayed.txt")
            assert len(words) == len(set(words)) > 4, line


def test_the_forward_lineage_leads_to_the_products(recorded: Project) -> None:
    assert "futures.out" in recorded.descendants("in-futures.txt")["data"]


def test_dependencies_are_those_of_the_scheduler(recorded: Project, oracle: dict[str, Any]) -> None:
    stated = oracle["scheduler"]["dependencies"]
    found: dict[str, set[str]] = {}
    for file in event_files(recorded):
        for event in file.events:
            if isinstance(event, Dependencies):
                found.setdefault(event.key, set()).update(event.keys)
    assert stated
    assert {key: set(keys) for key, keys in stated.items()} == {key: found.get(key, set()) for key in stated}


def test_transitions_are_those_of_the_scheduler(recorded: Project, oracle: dict[str, Any]) -> None:
    """Each with its states, its stimulus and its time."""
    stated = oracle["scheduler"]["transitions"]
    (file,) = [one for one in event_files(recorded) if one.part == "scheduler"]
    found = [one for one in file.events if isinstance(one, Transition)][: len(stated)]
    assert stated
    assert [[one.key, one.before, one.after, one.stimulus] for one in found] == [row[:4] for row in stated]
    assert [one.at for one in found] == pytest.approx([at for *_, at in stated], abs=2e-6, rel=0)


def test_logs_are_sent_as_without_provio(oracle: dict[str, Any]) -> None:
    assert oracle["sent"] == ["collections.deque"]


def test_transitions_are_those_of_the_workers(recorded: Project, oracle: dict[str, Any]) -> None:
    stated = {address: [tuple(row[:5]) for row in rows] for address, rows in oracle["stories"].items()}
    for file in event_files(recorded):
        if file.part == "worker":
            rows = stated.pop(file.address)
            moved = [one for one in file.events if isinstance(one, Transition)][: len(rows)]
            assert [(one.key, one.before, one.recommended, one.after, one.stimulus) for one in moved] == rows
    assert stated == {}


def test_transfers_are_those_of_the_workers_each_once(recorded: Project, oracle: dict[str, Any]) -> None:
    stated = Counter(
        (to, who, start, stop, size, tuple(sorted(keys.items())))
        for to, rows in oracle["transfers"].items()
        for who, start, stop, size, keys in rows
    )
    found = Counter(
        (file.address, one.sender, one.start, one.stop, one.size, tuple(sorted(one.keys)))
        for file in event_files(recorded)
        for one in file.events
        if isinstance(one, Transfer)
    )
    assert stated
    assert found == stated


def test_a_retried_task_has_two_attempts(recorded: Project) -> None:
    rows = recorded.rows(
        'SELECT ?status { ?t provio:name ?name ; provio:status ?status FILTER(STRSTARTS(?name, "once-")) }'
    )
    assert sorted(row["status"] for row in rows) == ["error", "ok"]


def test_results_and_errors(recorded: Project) -> None:
    """Their types and sizes, the exception and the traceback of a task that failed."""
    files = event_files(recorded)
    results = [one for file in files for one in file.events if isinstance(one, Result)]
    assert {"int", "str"} <= {one.type for one in results}
    assert any(one.size > 0 for one in results if one.type == "int")
    errors = [fact.facts for file in files for fact in file.facts("error")]
    assert sorted(error["exception"] for error in errors) == [
        "OSError('the first attempt fails')",
        "ValueError('cannot use 7')",
    ]
    assert all("in once" in error["traceback"] or "in fail" in error["traceback"] for error in errors)


def test_workers_threads_and_graphs(recorded: Project, oracle: dict[str, Any]) -> None:
    files = event_files(recorded)
    (scheduler,) = [one for one in files if one.part == "scheduler"]
    (start,) = scheduler.facts("scheduler")
    assert start.facts["versions"]["dask"] == oracle["version"]
    assert len({fact.facts["worker"] for fact in scheduler.facts("add-worker")}) == 2
    assert {fact.facts["client"] for fact in scheduler.facts("graph")} >= {
        str(fact.facts["id"]) for one in files for fact in one.facts("client") if one.events[1:]
    }
    workers = [one for one in files if one.part == "worker"]
    assert [fact.facts["threads"] for one in workers for fact in one.facts("worker")] == [2, 2]


def test_the_record_is_readable_after_the_archive(recorded: Project) -> None:
    """Event files are archived with their run."""
    before = [len(file.events) for file in event_files(recorded)]
    home = Home(recorded.path / ".provio")
    assert before
    assert sum(path.suffix == ".events" for path in Path(home.runs).glob("*/*/*")) == len(before)


# ---- planted files


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A run of tasks whose files are known, under strace where that is installed."""
    python = python_with_dask()

    def record(folder: Path) -> None:
        project = new_project(folder)
        for name in ("x", "y", "z", "thread-z", "k"):
            (project.path / f"in-{name}.txt").write_text(f"{name}\n")
        (project.path / "model.txt").write_text("model\n")
        strace = (
            ["strace", "-f", "-qq", "-e", "trace=openat,open", "-o", "strace.log"] if shutil.which("strace") else []
        )
        done = subprocess.run(
            [*strace, *provio_command(), "run", "--quiet", "--", python, PLANTED],
            cwd=project.path, env=project.env, capture_output=True, text=True, timeout=200, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert_valid(project.path / ".provio")

    return new_project(made_once(tmp_path_factory, "dask-planted", record))


def test_two_tasks_at_once_on_one_worker(planted: Project) -> None:
    assert planted.ancestors("x.out")["data"] == {"in-x.txt"}
    assert planted.ancestors("y.out")["data"] == {"in-y.txt"}
    assert planted.ancestors("x.out")["carried"] == set()


def test_a_task_that_starts_a_process_and_a_thread(planted: Project) -> None:
    assert planted.ancestors("child-z.out")["data"] == {"in-z.txt"}
    found = planted.ancestors("thread-z.out")
    assert found["data"] == {"in-thread-z.txt"}


def test_what_a_plugin_of_the_worker_read_is_counted(planted: Project) -> None:
    """It is hidden, counted in one line, and shown on request."""
    assert planted.files(planted.lineage("p.out"))["carried"] == set()
    assert "may have used data that its worker kept from" in planted.answer("lineage", "p.out")
    assert "model.txt" in planted.files(planted.lineage("p.out", "--via", "carried"))["carried"]


def test_all_answers_state_data_that_a_worker_may_have_kept(planted: Project) -> None:
    """Of the model of a plugin: forward, of an impact, of a product that is not stale, of its maker, of all files."""
    assert "may have used kept data" in planted.answer("lineage", "--forward", "model.txt")
    later = planted.files(
        json.loads(planted.answer("lineage", "--forward", "model.txt", "--via", "carried", "--as", "json"))
    )
    assert "p.out" in later["carried"]
    assert "may have used kept data" in planted.answer("impact", "model.txt")
    assert "data that workers kept were not compared" in planted.answer("lineage", "p.out", "--stale")
    assert "perhaps data of " in planted.answer("why", "p.out")
    assert json.loads(planted.answer("status", "p.out", "--as", "json"))["inMemory"] == 1


def test_a_task_that_was_killed_with_its_worker(planted: Project) -> None:
    """Both attempts are there, the first one without an end; the product comes from the second one."""
    task = '?task provio:name "killed-k" ; provio:kind "dask"'
    rows = planted.rows(f"SELECT ?task ?status {{ {task} OPTIONAL {{ ?task provio:status ?status }} }}")
    assert len(rows) == 2
    assert [row.get("status") for row in rows].count("ok") == 1
    assert planted.ancestors("k.out")["data"] == {"in-k.txt"}


def opens_in(log: str) -> Iterator[tuple[str, str, bool]]:
    """Yield (thread, path, whether it succeeded) of each call that strace shows, also of interrupted lines."""
    waiting: dict[str, str] = {}
    for line in log.splitlines():
        thread, _, call = line.partition(" ")
        path = re.match(r' *openat\(AT_FDCWD, "([^"]*)"', call)
        if path:
            waiting[thread] = path[1]
        result = re.search(r"= (-?\d+)", call)
        if result and thread in waiting and "openat" in call:
            yield thread, waiting.pop(thread), int(result[1]) >= 0


def test_files_of_each_task_are_those_of_strace(planted: Project) -> None:
    """The files of the project that the thread of a task opened between its marks."""
    log = planted.path / "strace.log"
    if not log.exists():
        pytest.skip("strace is not installed (make test installs it where it may)")
    opened, current = dict[str, set[str]](), dict[str, str]()
    for thread, path, succeeded in opens_in(log.read_text(errors="replace")):
        mark = re.fullmatch(r"/(BEGIN|END)/(.*)", path)
        if mark:
            current[thread] = mark[2] if mark[1] == "BEGIN" else ""
            opened.setdefault(mark[2], set())
        elif current.get(thread) and succeeded and not path.startswith("/"):
            opened[current[thread]].add(path)
    rows = json.loads(planted.answer("query", "tasks", "--as", "json"))["results"]["bindings"]
    recorded: dict[str, set[str]] = {name: set() for name in opened}
    for row in rows:
        task, path = row["task"]["value"], os.path.relpath(row["path"]["value"], planted.path)
        if task in recorded and not path.startswith(("..", "child", "thread", "in-thread")):
            recorded[task].add(path)
    assert opened.pop("starter-z") == set()
    assert recorded.pop("starter-z") == set()
    assert {name: files - {f"here-{name[-1]}"} for name, files in opened.items()} == {
        name: files - {f"here-{name[-1]}"} for name, files in recorded.items()
    }


# ---- clusters that provio run did not start

PLUGIN = """
import provio
from dask.distributed import Client, LocalCluster

def double(x):
    return 2 * x

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=PROCESSES) as cluster:
        with Client(cluster) as client:
            client.gather(client.map(double, range(3), key="before"))
            client.register_plugin(provio.dask())
            client.register_plugin(provio.dask())
            client.gather(client.map(double, range(10, 14), key="after"))
"""


@pytest.mark.parametrize("processes", [True, False])
def test_a_plugin_records_the_tasks_after_its_registration(project: Project, processes: bool) -> None:
    """Each once, although it is registered twice, and also if all workers are in one process."""
    (project.path / "plugin.py").write_text(PLUGIN.replace("PROCESSES", str(processes)))
    environment = {**project.env, "PYTHONPATH": str(ROOT)}
    command = [python_with_dask(), "plugin.py"]
    done = subprocess.run(command, cwd=project.path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = project.rows('SELECT ?name ?status { ?task provio:kind "dask" ; provio:name ?name }')
    assert Counter(row["name"].partition("-")[0].strip("('\"") for row in rows) == {"after": 4}


def test_a_scheduler_and_a_worker_with_a_preload(project: Project) -> None:
    python, environment = python_with_dask(), {**project.env, "PYTHONPATH": str(ROOT)}
    cli = [python, "-m", "distributed.cli.dask_"]
    preload = ["--scheduler-file", "s.json", "--preload", "provio.dask", "--no-dashboard"]
    parts = [[*cli[:2], cli[2] + "scheduler", *preload, "--port", "0"], [*cli[:2], cli[2] + "worker", *preload]]
    with ExitStack() as stack:
        for part in parts:
            process = subprocess.Popen(part, cwd=project.path, env=environment, stderr=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        submit = "from dask.distributed import Client; print(Client(scheduler_file='s.json').submit(abs, -3).result())"
        done = subprocess.run([python, "-c", submit], cwd=project.path, capture_output=True, text=True, check=False)
    assert done.stdout == "3\n", done.stderr
    rows = project.rows('SELECT ?name { ?task provio:kind "dask" ; provio:name ?name }')
    assert [row["name"].partition("-")[0] for row in rows] == ["abs"]


CLUSTER = """
import os, time
from dask.distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        with open("address.new", "w") as file:
            file.write(cluster.scheduler_address)
        os.rename("address.new", "address")
        while not os.path.exists("done"):
            time.sleep(0.05)
"""
OUTSIDE = """
import os, time
from dask.distributed import Client

def save(text):
    with open("out.txt", "w") as file:
        file.write(text)

if __name__ == "__main__":
    while not os.path.exists("address"):
        time.sleep(0.05)
    with Client(open("address").read()) as client:
        client.submit(save, open("in.txt").read()).result()
    open("done", "w").close()
"""


def test_a_client_that_is_not_recorded(project: Project) -> None:
    """The files that it read are not known, which a gap states."""
    python = python_with_dask()
    (project.path / "cluster.py").write_text(CLUSTER)
    (project.path / "outside.py").write_text(OUTSIDE)
    (project.path / "in.txt").write_text("words " * 100)
    outside = {name: value for name, value in project.env.items() if not name.startswith("PROVIO")}
    with subprocess.Popen([python, "outside.py"], cwd=project.path, env=outside) as client:
        project.watch(python, "cluster.py")
        assert client.wait() == 0
    document = project.lineage("out.txt")
    assert "in.txt" not in project.files(document)["data"]
    assert [gap["reason"] for gap in document["gaps"]] == [UNKNOWN_CLIENT]


# ---- secrets


def test_secrets_are_not_recorded(project: Project) -> None:
    """Of arguments, exceptions and log lines; in no file of the record."""
    secrets = ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "hunter2secret", "zebra-horse-91")
    (project.path / "login.py").write_text(
        f"""
import logging
from dask.distributed import Client, LocalCluster

def use(token, password=None, url=None):
    logging.getLogger("distributed.worker").warning("login with password=%s", password)
    raise ValueError(f"cannot use {{token}}, password={{password}}, {{url}}")

if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        url = "https://ada:{secrets[2]}@host/"
        client.submit(use, "{secrets[0]}", password="{secrets[1]}", url=url, key="use").exception()
"""
    )
    project.watch(python_with_dask(), "login.py")
    (error,) = [fact.facts for file in event_files(project) for fact in file.facts("error")]
    assert "cannot use REDACTED, password=REDACTED" in error["exception"]
    assert any(
        "login with password=REDACTED" in fact.facts["text"] for f in event_files(project) for fact in f.facts("line")
    )
    for path in (project.path / ".provio").rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        assert not any(secret.encode() in data for secret in secrets), path


def test_switches(project: Project) -> None:
    """Without the classes, neither arguments nor log lines nor graphs are recorded; the tasks are."""
    (project.path / "plain.py").write_text(PLUGIN.replace("PROCESSES", "True").replace("import provio", "").replace(
        "            client.register_plugin(provio.dask())\n", ""
    ))  # fmt: skip
    project.env["PROVIO_RECORD"] = "-argument,-line"
    project.watch(python_with_dask(), "plain.py")
    kinds = {type(event) for file in event_files(project) for event in file.events}
    assert Arguments not in kinds
    assert not any(fact for file in event_files(project) for fact in file.facts("line", "error"))
    assert Transition in kinds
    project.env["PROVIO_RECORD"] = "-task"
    project.watch(python_with_dask(), "plain.py")
    assert event_files(project) == []
    assert project.count('?task provio:kind "dask"') == 14


def test_keys_with_quotes_and_newlines(project: Project) -> None:
    (project.path / "keys.py").write_text(
        """
from dask.distributed import Client, LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        for key in ('a "b"', "c\\n\\t'd'", ("e", 1, ("f", 2.5)), "é" * 400, "x" * 9000):
            client.submit(abs, -1, key=key).result()
        client.submit(len, b"0" * 1_000_000, key="large").result()
"""
    )
    project.watch(python_with_dask(), "keys.py")
    names = {row["name"] for row in project.rows('SELECT ?name { ?task provio:kind "dask" ; provio:name ?name }')}
    assert {'a "b"', "c\n\t'd'", "('e', 1, ('f', 2.5))", "é" * 400, "large"} <= names
    assert any(name.startswith("xxx") for name in names)
    described = [event for file in event_files(project) for event in file.events if isinstance(event, Arguments)]
    assert all(len(one.text) <= 4096 for one in described)
    assert any('"size":1000000' in one.text for one in described)


# ---- kills and full disks


@pytest.mark.parametrize("part", ["worker", "nanny", "scheduler"])
def test_a_killed_part_loses_no_task_that_had_started(project: Project, part: str) -> None:
    """Each started task is recorded as often as it started, or once more: it was killed before it noted its start."""
    project.watch(python_with_dask(), KILLED, part, "0.3")
    log = project.path / "started.log"
    started = Counter(line.split()[0] for line in log.read_text().splitlines()) if log.exists() else Counter[str]()
    rows = project.rows(
        'SELECT ?name (COUNT(DISTINCT ?task) AS ?n) { ?task provio:kind "dask" ; provio:name ?name } GROUP BY ?name'
    )
    found = Counter({row["name"]: int(row["n"]) for row in rows if row["name"].startswith("task-")})
    assert started - found == Counter()
    assert (found - started).total() <= 2  # threads of the worker


def test_a_file_that_cannot_grow_disturbs_nothing(project: Project) -> None:
    """The workflow goes on; a gap has the reason."""
    (project.path / "many.py").write_text(
        """
from dask.distributed import Client, LocalCluster

def double(x):
    return 2 * x

if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        print(sum(client.gather(client.map(double, range(1000), pure=False))))
"""
    )
    printed = project.watch("bash", "-c", f"ulimit -f 64; exec {python_with_dask()} many.py")
    assert printed == f"{sum(2 * x for x in range(1000))}\n"
    reasons = {row["reason"] for row in project.rows("SELECT ?reason { ?gap a provio:Gap ; provio:reason ?reason }")}
    assert "events of tasks: the file-size limit was reached" in reasons


# ---- pools of processes, unknown versions

POOL = """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import dask
from copying import copy
from dask.distributed import Client, LocalCluster

def add(dask_worker):
    dask_worker.executors["pool"] = ProcessPoolExecutor(1, mp_context=get_context("spawn"))

if __name__ == "__main__":
    options = {"n_workers": 1, "threads_per_worker": 1, "memory_limit": 0, "processes": False}
    with LocalCluster(dashboard_address=None, **options) as cluster, Client(cluster) as client:
        client.run(add)
        with dask.annotate(executor="pool"):
            client.gather([client.submit(copy, name, key=f"copy-{name}") for name in "ab"])
        client.run(lambda dask_worker: dask_worker.executors["pool"].shutdown())
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_a_pool_of_processes_as_executor(project: Project, version: str) -> None:
    """Its tasks begin and end in its processes; before 2024.12 they have the names of their functions."""
    (project.path / "copying.py").write_text("import shutil\n\ndef copy(name):\n    shutil.copy(name, name + '.out')\n")
    (project.path / "pool.py").write_text(POOL)
    project.sh("echo a > a; echo b > b")
    project.watch(python_with_dask(version), "pool.py")
    names = sorted(row["name"] for row in project.rows('SELECT ?name { ?t provio:kind "dask" ; provio:name ?name }'))
    assert names == (["copying.copy"] * 2 if version == "2024.10.0" else ["copy-a", "copy-b"])
    assert project.ancestors("b.out")["data"] == {"b"}


def test_an_unknown_version_has_the_times_of_its_workers(project: Project) -> None:
    """A worker that runs tasks by other functions: one warning a process, and each task once."""
    python = python_with_dask()
    find = "import distributed; print(distributed.__path__[0])"
    installed = subprocess.run([python, "-c", find], capture_output=True, text=True, check=True).stdout.strip()
    shutil.copytree(installed, project.path / "distributed")
    worker = project.path / "distributed" / "worker.py"
    worker.write_text(worker.read_text().replace("_run_task_simple", "_run_task_plain"))
    (project.path / "plain.py").write_text(
        """
from dask.distributed import Client, LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.gather([client.submit(abs, -number, key=f"abs-{number}") for number in range(3)])
"""
    )
    project.env["PYTHONPATH"] = str(project.path)
    done = project.provio("run", "--quiet", "--", python, "plain.py")
    assert "is not known: its tasks have the worker's times, and no files" in done.stderr
    rows = project.rows('SELECT ?name { ?t provio:kind "dask" ; provio:name ?name } ORDER BY ?name')
    assert [row["name"] for row in rows] == ["abs-0", "abs-1", "abs-2"]
