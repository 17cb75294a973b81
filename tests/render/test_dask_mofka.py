"""`provio export --as dask-mofka`: the tables have each event of the run once, and `wfmeta_dask` reads them."""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from ast import literal_eval
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import Project, new_project
from dask_environments import NEWEST, python_with_dask
from dask_projects import ODD, VERSIONS, recorded
from workers import made_once

from provio.render import dask_mofka
from provio.trace import events
from provio.trace.events import Dependencies, EventFile, Fact, Transfer, Transition
from provio.trace.read import read_head

pytestmark = pytest.mark.integration

# Tasks in two graphs that do not fail, with results that one worker sends the other.
PROGRAM = """
from dask.distributed import Client, LocalCluster, wait

def make(count):
    return b"x" * count

def size(*data):
    return sum(map(len, data))

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        one, other = sorted(client.scheduler_info()["workers"])
        made = [client.submit(make, 1000 + n, key=("make-1", n), workers=[one]) for n in range(250)]
        wait(made)
        client.submit(size, *made, key="size-1", workers=[other]).result()
"""


@pytest.fixture(scope="session", params=VERSIONS)
def dask(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, shim: object) -> Project:
    """A run with odd keys, a task that failed and one that was tried again."""
    return recorded(request.param, tmp_path_factory)


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory, shim: object) -> Project:
    """A run in which a worker receives 250 results."""
    python = python_with_dask(NEWEST)

    def record(folder: Path) -> None:
        project = new_project(folder)
        (project.path / "main.py").write_text(PROGRAM)
        project.watch(python, "main.py")
        project.provio("merge")

    return new_project(made_once(tmp_path_factory, "dask-mofka-many", record))


def event_files(project: Project) -> list[EventFile]:
    """Return the event files of the project's only run."""
    folder = project.path / ".provio" / "runs"
    (run,) = {path.name.partition(".")[0] for path in folder.iterdir()}
    return events.read(folder / run, read_head(folder / run), [])


def exported(project: Project, folder: Path, *names: str) -> dict[str, list[dict[str, str]]]:
    """Export a run, and return the rows of each table."""
    project.provio("export", *names, "--as", "dask-mofka", "-o", str(folder))
    tables = {}
    csv.field_size_limit(1 << 24)
    for path in folder.iterdir():
        with path.open(newline="", encoding="utf-8") as file:
            tables[path.stem] = list(csv.DictReader(file))
    return tables


def of_class(files: list[EventFile], part: str, kind: type) -> list[tuple[EventFile, Any]]:
    return [(file, event) for file in files if file.part == part for event in file.events if isinstance(event, kind)]


def test_tables_have_the_published_columns(dask: Project, tmp_path: Path) -> None:
    """Each table has all columns; the first one has no name and numbers the rows."""
    exported(dask, tmp_path / "tables")
    heads = {path.stem: path.read_text().splitlines()[0] for path in (tmp_path / "tables").iterdir()}
    assert heads == {
        "scheduler_transition": ",key,thread,worker,prefix,group,start,finish,stimulus_id,called_from,begins,ends,"
        "duration,size,time",
        "worker_transition": ",key,start,finish,called_from,time",
        "worker_transfer": ",start,stop,middle,duration,keys,total,bandwidth,who,type,called_from,time,compressed",
        "client": ",client,action,time",
        "worker": ",worker,action,stimulus_id,time",
        "graph": ",client,keys,dependencies,time",
    }


def test_transitions_are_those_of_the_events(dask: Project, tmp_path: Path) -> None:
    """Of the scheduler and of the workers, sorted by time; keys with quotes and newlines are as they were."""
    files, tables = event_files(dask), exported(dask, tmp_path / "tables", "last")
    rows = tables["scheduler_transition"]
    assert [row[""] for row in rows] == [str(number) for number in range(len(rows))]
    assert [(row["key"], row["start"], row["finish"], row["stimulus_id"], float(row["time"])) for row in rows] == [
        (one.key, one.before, one.after, one.stimulus, one.at) for _, one in of_class(files, "scheduler", Transition)
    ]
    assert {row["key"] for row in rows} >= {ODD, "('load-7', 0)", "fail-1"}
    rows = tables["worker_transition"]
    found = Counter(tuple(row[name] for name in ("key", "start", "finish", "called_from", "time")) for row in rows)
    assert found == Counter(
        (one.key, one.before, one.after, file.address, repr(one.at))
        for file, one in of_class(files, "worker", Transition)
    )
    assert [float(row["time"]) for row in rows] == sorted(float(row["time"]) for row in rows)


def test_transitions_have_the_facts_of_their_tasks(dask: Project, tmp_path: Path) -> None:
    """The worker, times, and size of the result: where a task ended, and nowhere else."""
    rows = exported(dask, tmp_path / "tables")["scheduler_transition"]
    ended = {row["key"]: row for row in rows if row["worker"]}
    assert {key: row["finish"] for key, row in ended.items()} == {
        "('load-7', 0)": "memory", "save-0123456789abcdef0123456789abcdef": "memory", "('big', 0)": "memory",
        ODD: "memory", "second_time-1": "memory", "fail-1": "erred",
    }  # fmt: skip
    for row in ended.values():
        assert float(row["begins"]) <= float(row["ends"]) <= float(row["time"])
        assert float(row["duration"]) == float(row["ends"]) - float(row["begins"])
        assert row["start"] == "processing" and row["worker"].startswith("tcp://")
    assert int(ended["('big', 0)"]["size"]) >= 100_000 and ended["fail-1"]["size"] == ""
    assert (ended["('load-7', 0)"]["prefix"], ended["('load-7', 0)"]["group"]) == ("load", "load-7")
    assert not any(row["begins"] or row["size"] for row in rows if not row["worker"])
    assert {row["called_from"].partition(":")[0] for row in rows} == {"tcp"}


def test_graphs_workers_and_clients(dask: Project, tmp_path: Path) -> None:
    files, tables = event_files(dask), exported(dask, tmp_path / "tables")
    stated: dict[str, dict[str, set[str]]] = {}
    for _, one in of_class(files, "scheduler", Dependencies):
        stated.setdefault(one.stimulus, {}).setdefault(one.key, set()).update(one.keys)
    graphs = [one for _, one in of_class(files, "scheduler", Fact) if one.what == "graph"]
    assert len(graphs) == 6
    assert [(row["client"], float(row["time"]), row["keys"]) for row in tables["graph"]] == [
        (one.facts["client"], one.at, "") for one in graphs
    ]
    for row, one in zip(tables["graph"], graphs, strict=True):
        text = row["dependencies"].replace("set()", "{None}")
        found = {str(key): {*map(str, keys)} - {"None"} for key, keys in literal_eval(text).items()}
        assert found == stated[one.facts["stimulus_id"]]
    workers = {file.address for file in files if file.part == "worker"}
    assert {row["worker"] for row in tables["worker"] if row["action"] == "add"} == workers
    assert {row["action"] for row in tables["worker"]} <= {"add", "remove"}
    clients = {str(fact.facts["id"]) for file in files for fact in file.facts("client")}
    assert {row["client"] for row in tables["client"] if row["action"] == "add"} == clients


def test_each_transfer_has_one_row(many: Project, tmp_path: Path) -> None:
    """Also one of more keys than fit into a row of an event file; keys are those of Dask."""
    rows = exported(many, tmp_path / "tables")["worker_transfer"]
    found = of_class(event_files(many), "worker", Transfer)
    assert len(rows) == len({(one.sender, one.start, one.stop) for _, one in found})
    received = [key for row in rows for key in literal_eval(row["keys"])]
    assert sorted(received) == [("make-1", number) for number in range(250)]
    assert sum(int(row["total"]) for row in rows) == sum(one.size for _, one in found)
    for row in rows:
        assert sum(literal_eval(row["keys"]).values()) == int(row["total"])
        assert float(row["bandwidth"]) == int(row["total"]) / float(row["duration"])
        assert row["type"] == "incoming_transfer" and row["compressed"] == ""
        assert {row["who"], row["called_from"]} == {file.address for file, _ in found} | {found[0][1].sender}


def test_an_archived_run_gives_the_same_tables(many: Project, tmp_path: Path) -> None:
    project = new_project(tmp_path / "copy")
    shutil.copytree(many.path / ".provio", project.path / ".provio", dirs_exist_ok=True, symlinks=True)
    before = exported(project, tmp_path / "before")
    project.provio("merge", "--pack")
    assert not any(path.is_dir() for path in (project.path / ".provio" / "runs").iterdir())
    assert exported(project, tmp_path / "after") == before


def test_wfmeta_dask_reads_the_tables(many: Project, tmp_path: Path) -> None:
    """It counts the same events. Its transfers have a row for each key, all with the name of the first one."""
    package = Path(sys.prefix) / "wfmeta"
    if not (package / "complete").exists():
        pytest.skip("wfmeta_dask is not installed (make test installs it where it may)")
    tables = exported(many, tmp_path / "tables")
    (tmp_path / "out").mkdir()
    own = package / "bin" / "python"  # of Python 3.12 or newer
    python = own if own.exists() else python_with_dask(NEWEST)
    subprocess.run(
        [python, "-m", "wfmeta_dask", "-o", tmp_path / "out", tmp_path / "tables"],
        env={"PYTHONPATH": str(package), "TZ": "UTC"}, check=True, timeout=100,
    )  # fmt: skip
    read = {}
    for path in (tmp_path / "out").iterdir():
        with path.open(newline="") as file:
            read[path.stem.removesuffix("_df")] = list(csv.DictReader(file))
    assert len(read["SCHEDULER"]) == len(tables["scheduler_transition"]) > 750
    assert len(read["WORKER"]) == len(tables["worker_transition"]) > 1000
    assert len(read["WORKER_TRANSFER"]) == sum(len(literal_eval(row["keys"])) for row in tables["worker_transfer"])
    assert Counter(row["key"] for row in read["SCHEDULER"]) == Counter(
        row["key"] for row in tables["scheduler_transition"]
    )


def test_any_key_survives(tmp_path: Path) -> None:
    """Quotes, line ends, control characters, texts that look like tuples, formulas; keys that are no text of Python."""
    odd = [
        "a\"b'c",
        "x\ny",
        "x\r",
        "a,b",
        "=1+1",
        "(",
        "(1, 2",
        "('x', 1)",
        "(1,2)",
        "é\x01",
        "",
        "(f('os'),)",
        "x\r\n",
    ]
    states = [Transition(key, "released", "waiting", "waiting", "s-1", float(at)) for at, key in enumerate(odd)]
    moved = Transfer("tcp://a", 1.0, 3.0, 9, tuple((key, 1) for key in odd))
    worker = EventFile("h", 1, 2, [Fact("worker", 0.0, {"address": "tcp://b"}), *states, moved])
    scheduler = EventFile("h", 1, 2, [Fact("scheduler", 0.0, {}), *states])
    assert dask_mofka.write(tmp_path / "t", [worker, scheduler], [])["worker_transition"] == len(odd)
    for name in ("worker_transition", "scheduler_transition"):
        with (tmp_path / "t" / f"{name}.csv").open(newline="") as file:
            assert [row["key"] for row in csv.DictReader(file)] == odd
    with (tmp_path / "t" / "worker_transfer.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    keys = literal_eval(row["keys"])
    assert [("x", 1) if key == "('x', 1)" else key for key in odd] == list(keys)
    assert (row["duration"], row["middle"], row["bandwidth"]) == ("2.0", "2.0", "4.5")


def test_wrong_calls(dask: Project, tmp_path: Path) -> None:
    """A folder that exists, none, several runs, no run, and a folder that cannot be made; nothing is left of these."""
    call = ("export", "--as", "dask-mofka")
    (tmp_path / "there").mkdir()
    for options, code, reason in (
        (("-o", str(tmp_path / "there")), 2, "exists: name a folder that does not exist yet"),
        ((), 2, "name a new folder with -o"),
        (("last", "last", "-o", str(tmp_path / "new")), 2, "writes one run"),
        (("no-such", "-o", str(tmp_path / "new")), 3, "no run 'no-such' is recorded"),
        (("-o", str(tmp_path / "no" / "new")), 1, "there is no folder"),
        (("-o", ""), 2, "the file name is empty"),
    ):
        assert reason in dask.provio(*call, *options, code=code).stderr
    assert [*tmp_path.iterdir()] == [tmp_path / "there"] and not [*(tmp_path / "there").iterdir()]


def test_a_run_without_tasks(project: Project, tmp_path: Path) -> None:
    project.watch("sh", "-c", "echo 1 > a")
    call = ("export", "--as", "dask-mofka", "-o", str(tmp_path / "new"))
    assert "no run with tasks of Dask is recorded" in project.provio(*call, code=3).stderr
    assert "has no events of Dask" in project.provio(*call, "last", code=3).stderr
    assert not (tmp_path / "new").exists()
