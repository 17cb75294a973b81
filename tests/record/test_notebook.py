"""A recorded kernel of Jupyter: each cell is a Task with its source, also if the cell or the kernel fails."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Project

pytest.importorskip("ipykernel", reason="the tests of notebooks need ipykernel and nbclient (extra `test`)")
pytest.importorskip("nbclient", reason="the tests of notebooks need ipykernel and nbclient (extra `test`)")

PROGRAM = Path(__file__).parent.parent / "programs" / "notebook.py"
Notebook = Callable[..., str]


@pytest.fixture
def jupyter(project: Project) -> Project:
    """A project with its own home and folder for kernels."""
    home = project.path.parent / "jupyter"
    home.mkdir()
    places = {"JUPYTER_PATH": "share/jupyter", "JUPYTER_RUNTIME_DIR": "runtime", "IPYTHONDIR": "ipython"}
    project.env |= {name: str(home / place) for name, place in places.items()}
    project.env["JUPYTER_PLATFORM_DIRS"] = "1"
    project.provio("kernel", "install", "--prefix", str(home), "--name", "recorded")
    return project


@pytest.fixture
def notebook(jupyter: Project) -> Notebook:
    """Execute cells, one after the other; return their output."""

    def carry_out(*cells: str) -> str:
        done = subprocess.run(
            [sys.executable, PROGRAM, "recorded", *cells], cwd=jupyter.path, env=jupyter.env, capture_output=True,
            text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return carry_out


def tasks(project: Project) -> list[tuple[str, str]]:
    """Return each cell's name and end, in order."""
    rows = project.rows(
        "SELECT ?name ?status { ?t a provio:Task ; provio:name ?name ; provio:kind 'cell' ; prov:startedAtTime ?s "
        "OPTIONAL { ?t provio:status ?status } } ORDER BY ?s"
    )
    return [(row["name"], row.get("status", "")) for row in rows]


@pytest.mark.slow
def test_a_cell_writes_what_another_read(jupyter: Project, notebook: Notebook) -> None:
    """The output of cell 3 comes, through memory, from the input of cell 1, and from no later input."""
    jupyter.sh("printf 'x\\n1\\n2\\n' > in.csv; echo late > late")
    said = notebook(
        "values = [int(line) for line in open('in.csv').read().split()[1:]]",
        "total = sum(values)",
        "with open('out.csv', 'w') as file:\n    file.write(f'total\\n{total}\\n')",
        "open('late').read()",
        "import os, provio\nlineage = provio.open().lineage('out.csv')\n"
        "print('live:', *sorted(map(os.path.basename, lineage.paths.values())))\nlineage",
    )
    assert "live: in.csv\n" in said
    assert '<div class="provio-lineage-shown"><iframe' in said
    document = jupyter.lineage("out.csv")
    files = jupyter.files(document)
    assert "in.csv" in files["carried"]
    assert files["data"] == set()
    assert "late" not in files["carried"] | files["control"]
    (maker,) = [n for n in document["nodes"] if n["type"] == "Task" and n["via"] == "data"]
    assert (maker["label"], maker["kind"], maker["number"], maker["status"]) == ("[3]", "cell", 3, "ok")
    assert maker["source"].startswith("with open('out.csv', 'w') as file:\n")
    why = jupyter.answer("why", "out.csv")
    assert "task      [3]\nsource    with open('out.csv', 'w') as file:\n" in why
    assert "task     [3]  ok  with open('out.csv', 'w') as file: …\n" in jupyter.answer("show", "last")
    jupyter.answer("validate")


@pytest.mark.slow
def test_errors_interrupts_and_threads(jupyter: Project, notebook: Notebook) -> None:
    """A failed or interrupted cell is recorded as such; its threads, pools, children and coroutines belong to it.

    A call of a pool is a Task within it.
    """
    jupyter.sh("for name in a b c d e; do echo $name > $name; done")
    notebook(
        "import asyncio, threading, subprocess, concurrent.futures as cf, time\n"
        "pool = cf.ThreadPoolExecutor(1)\npool.submit(time.time).result()\n"
        "def copy(one, other):\n    text = open(one).read()\n    open(other, 'w').write(text)",
        "copy('a', 'x')\nraise ValueError",
        "%interrupt:y:copy('b', 'y')\ntime.sleep(600)",
        "thread = threading.Thread(target=copy, args=('c', 'z'))\nthread.start(); thread.join()",
        "pool.submit(copy, 'd', 'pooled').result()",
        "!cat e > shelled",
        "async def later(one, other):\n    await asyncio.sleep(0.2)\n    copy(one, other)\n"
        "going = asyncio.create_task(later('a', 'awaited'))",
        "await asyncio.sleep(0.1)\ncopy('b', 'meanwhile')\nawait going",
    )
    assert [status for _, status in tasks(jupyter)] == ["ok", "error", "error", "ok", "ok", "ok", "ok", "ok"]
    made = {}
    for name in ("x", "y", "z", "pooled", "awaited", "meanwhile"):
        document = jupyter.lineage(name)
        made[name] = next(n["label"] for n in document["nodes"] if n["type"] == "Task" and n["via"] == "data")
    assert made == {"x": "[2]", "y": "[3]", "z": "[4]", "pooled": "__main__.copy", "awaited": "[7]", "meanwhile": "[8]"}
    assert jupyter.data("shelled") == {"e"}
    launched = jupyter.lineage("shelled", "--via", "control")["nodes"]
    assert "[6]" in {n["label"] for n in launched if n["type"] == "Task"}
    jupyter.answer("validate")


@pytest.mark.slow
def test_a_restart_is_another_run_and_a_kill_loses_nothing(jupyter: Project, notebook: Notebook) -> None:
    """Each start of a kernel is a run, with the name of the notebook as JupyterLab states it."""
    jupyter.env["JPY_SESSION_NAME"] = "/home/ada/fits/an.ipynb"
    notebook("open('one', 'w').write('1')", "%restart", "open('two', 'w').write('2')", "%kill")
    assert tasks(jupyter) == [("[1]", "ok"), ("[1]", "ok")]
    assert jupyter.rows("SELECT ?name { ?r a provio:Run ; provio:name ?name }") == 2 * [{"name": "an.ipynb"}]
    for name in ("one", "two"):
        assert "[1]" in {n["label"] for n in jupyter.lineage(name)["nodes"] if n["type"] == "Task"}


@pytest.mark.slow
def test_the_end_of_a_kernel_by_its_client_is_no_failure(jupyter: Project, notebook: Notebook) -> None:
    """SIGTERM between cells ends a session; during a cell, the files of that kernel may be incomplete."""
    notebook("open('complete', 'w').write('1')", "%end")
    notebook("open('early', 'w').write('2')", "%end:part:import time; open('part', 'w').write('3'); time.sleep(600)")
    ends = jupyter.rows("SELECT ?signal { ?r a provio:Run ; provio:signal ?signal }")
    assert ends == 2 * [{"signal": "15"}]
    rows = json.loads(jupyter.provio("status", "--json", code=1).stdout)["files"]
    states = {Path(row["path"]).name: row["state"] for row in rows}
    assert states == {"complete": "current", "early": "failed", "part": "failed"}
    assert "failed" not in json.loads(jupyter.provio("why", "complete", "--json").stdout)
    assert json.loads(jupyter.provio("why", "part", "--json").stdout)["failed"] == "signal 15"


@pytest.mark.slow
def test_the_end_of_a_worker_of_a_kernel_is_a_failure(jupyter: Project, notebook: Notebook) -> None:
    """A forked worker has the command line of its kernel, but a cell that ends it by SIGTERM interrupts its work."""
    notebook(
        "import multiprocessing, os, time\ndef work():\n    with open('part', 'w') as file:\n"
        "        file.write('1')\n        file.flush()\n        time.sleep(600)",
        "worker = multiprocessing.get_context('fork').Process(target=work)\nworker.start()\n"
        "while not os.path.exists('part') or not os.path.getsize('part'):\n    time.sleep(0.01)\n"
        "worker.terminate()\nworker.join()",
        "open('complete', 'w').write('1')",
        "%end",
    )
    assert json.loads(jupyter.provio("why", "part", "--json").stdout)["failed"] == "signal 15"
    assert "failed" not in json.loads(jupyter.provio("why", "complete", "--json").stdout)


@pytest.mark.slow
def test_kernels_are_listed_and_removed(jupyter: Project) -> None:
    folder = Path(jupyter.env["JUPYTER_PATH"]) / "kernels" / "recorded"
    spec = json.loads((folder / "kernel.json").read_text())
    assert spec["interrupt_mode"] == "message"
    name, python, place = jupyter.provio("kernel", "list").stdout.split()
    assert (name, Path(python).parent, place) == ("recorded", Path(sys.executable).parent, str(folder))
    jupyter.provio("kernel", "install", "--prefix", "x", "--user", code=2)
    for name in ("", "a b", "../x", ".", ".."):
        said = jupyter.provio("kernel", "install", "--prefix", "x", "--name", name, code=2).stderr
        assert f"{name!r} is no kernel's name (allowed: letters, digits, - . _)" in said
    assert not (jupyter.path / "x").exists()
    (jupyter.path / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (jupyter.path / "python").chmod(0o755)
    jupyter.provio("kernel", "install", "--prefix", ".", "--name", "near", "--python", "./python")
    near = json.loads((jupyter.path / "share/jupyter/kernels/near/kernel.json").read_text())
    assert str(jupyter.path / "python") in near["argv"]
    assert "has no ipykernel" in jupyter.provio("kernel", "install", "--python", "false", code=1).stderr
    jupyter.provio("kernel", "remove", "recorded")
    assert jupyter.provio("kernel", "list").stdout == ""
    assert "no recorded kernel" in jupyter.provio("kernel", "remove", "recorded", code=3).stderr
