"""Calls that parallel frameworks run are Tasks: real frameworks under the real `provio run`, and the files that each
Task read and wrote, where several run at the same time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Project

# The calls meet: none returns before each has opened its input.
WORK = """
import os, sys, time
from functools import partial

def copy(name, together=3):
    text = open(name + ".in").read()
    open(name + ".here", "w").close()
    until = time.monotonic() + 60
    while sum(entry.endswith(".here") for entry in os.listdir(".")) < together and time.monotonic() < until:
        time.sleep(0.001)
    open(name + ".out", "w").write(text)
    return text

def alone(name):
    open(name + ".out", "w").write(open(name + ".in").read())

class Callable:
    def __call__(self, name):
        return alone(name)
    def method(self, name):
        return alone(name)
    def __repr__(self):
        raise SystemExit("the repr of the program's object was called")
    __getattr__ = __str__ = __repr__

NAMES = ["a", "b", "c"]
"""
MAIN = 'if __name__ == "__main__":\n'
COPIED = {(name + ".in", name + ".out") for name in "abc"}


def tasks(project: Project, kind: str) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """The name of each Task of a kind, with the files that it read and those that it wrote, sorted."""
    found: dict[tuple[str, str], dict[str, set[str]]] = {}
    for row in project.rows(f'''SELECT ?n ?t ?did ?path {{ ?t a provio:Task ; provio:name ?n ; provio:kind "{kind}" .
            VALUES ?did {{ provio:wasReadBy provio:wasWrittenBy }} ?io provio:partOf/provio:partOf ?t .
            ?version ?did ?io ; prov:specializationOf ?file . ?file provio:path ?path }}'''):
        path = Path(row["path"])
        if path.parent == project.path and path.suffix in (".in", ".out"):
            did = "read" if row["did"].endswith("wasReadBy") else "wrote"
            found.setdefault((row["n"], row["t"]), {}).setdefault(did, set()).add(path.name)
    return sorted(
        (name, tuple(sorted(did.get("read", ()))), tuple(sorted(did.get("wrote", ()))))
        for (name, _), did in found.items()
    )


def prepared(project: Project, program: str) -> list[str]:
    """Write the program and its inputs; return its command."""
    for name in "abc":
        (project.path / f"{name}.in").write_text(name)
    (project.path / "program.py").write_text(WORK + program)
    return [sys.executable, "-B", "program.py"]


def ran(project: Project, program: str) -> None:
    """Run the program with and without recording; both print the same."""
    command = prepared(project, program)
    bare = subprocess.run(command, cwd=project.path, capture_output=True, text=True, timeout=120, check=True)
    for path in [*project.path.glob("*.out"), *project.path.glob("*.here")]:
        path.unlink()
    done = project.provio("run", "--quiet", "--", *command)
    assert (done.stdout, done.stderr) == (bare.stdout, bare.stderr)


def each(name: str, more: str = "") -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """One Task for each of the three files, and one for each of the files of `more`."""
    return sorted((name, (f"{one}.in",), (f"{one}.out",)) for one in [*"abc", *more])


THREADS = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(3) as pool:
    print(list(pool.map(copy, NAMES)))
"""


def test_threads_that_run_at_the_same_time(project: Project) -> None:
    """Each call of a pool of threads, with the files of no other one; the main thread has the results."""
    ran(
        project,
        THREADS + "    open('all.out', 'w').write(''.join(pool.map(lambda name: open(name + '.in').read(), NAMES)))\n",
    )
    assert tasks(project, "future") == sorted(
        [*each("__main__.copy"), *(("__main__.<lambda>", (f"{one}.in",), ()) for one in "abc")]
    )
    assert {name: project.ancestors(f"{name}.out")["data"] - {"program.py"} for name in "abc"} == {
        name: {f"{name}.in"} for name in "abc"
    }
    assert project.ancestors("all.out")["data"] - {"program.py"} == {"a.in", "b.in", "c.in"}


PROCESSES = f"""
from concurrent.futures import ProcessPoolExecutor
{MAIN}
    with ProcessPoolExecutor(3) as pool:
        print(list(pool.map(copy, NAMES)))
    with ProcessPoolExecutor(1) as pool:
        print(list(pool.map(alone, NAMES, chunksize=2)))
        pool.submit(Callable().method, "a").result()
        pool.submit(partial(partial(Callable()), "b")).result()
"""


def test_processes_and_chunks(project: Project) -> None:
    """Also each item of a chunk, a method, and an object whose methods are not called."""
    ran(project, PROCESSES)
    assert tasks(project, "future") == sorted([
        *each("__main__.copy"), *each("__main__.alone"),
        ("__main__.Callable.method", ("a.in",), ("a.out",)), ("__main__.Callable", ("b.in",), ("b.out",)),
    ])  # fmt: skip


POOL = f"""
import multiprocessing
{MAIN}
    with multiprocessing.get_context(sys.argv[1] if sys.argv[1:] else METHOD).Pool(3) as pool:
        print(pool.map(copy, NAMES, chunksize=1))
        print(pool.map(alone, NAMES, chunksize=3), pool.starmap(alone, [("a",)]), pool.apply(alone, ["b"]))
        print(list(pool.imap_unordered(alone, ["c"])), list(pool.imap(alone, ["c"], chunksize=2)))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.integration
def test_pools_of_multiprocessing(project: Project, method: str) -> None:
    """Each call of the function, in each kind of worker, also within a chunk."""
    ran(project, f"METHOD = {method!r}\n{POOL}")
    assert tasks(project, "pool") == sorted([*each("__main__.copy"), *each("__main__.alone", "abcc")])
    assert tasks(project, "future") == []


THREAD_POOL = """
from multiprocessing.pool import ThreadPool
with ThreadPool(3) as pool:
    texts = pool.map(copy, NAMES)
    open("all.out", "w").write("".join(texts))
"""


@pytest.mark.integration
def test_a_pool_of_threads_of_multiprocessing(project: Project) -> None:
    ran(project, THREAD_POOL)
    assert tasks(project, "pool") == each("__main__.copy")
    assert project.ancestors("all.out")["data"] - {"program.py"} == {"a.in", "b.in", "c.in"}


JOBLIB = f"""
from joblib import Parallel, delayed
class Nested:
    def __call__(self, name):
        Parallel(n_jobs=1)(delayed(alone)(one) for one in [name])
{MAIN}
    backend = BACKEND
    print(Parallel(n_jobs=3, backend=backend)(delayed(copy)(name) for name in NAMES))
    print(Parallel(n_jobs=3, backend=backend, batch_size=2)(delayed(alone)(name) for name in NAMES))
    print(Parallel(n_jobs=1, backend=backend)(delayed(Nested())(name) for name in NAMES))
"""


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
@pytest.mark.integration
def test_loops_of_joblib(project: Project, backend: str) -> None:
    """Each call of a loop, whether workers run it or not; a loop without workers in such a call has none. The pools
    that joblib uses have no Tasks of their own."""
    pytest.importorskip("joblib")
    ran(project, f"BACKEND = {backend!r}\n{JOBLIB}")
    assert tasks(project, "joblib") == sorted(
        [*each("__main__.copy"), *each("__main__.alone"), *each("__main__.Nested")]
    )
    assert tasks(project, "pool") == tasks(project, "future") == []


SKLEARN = f"""
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import cross_val_score
class Model(BaseEstimator):
    def fit(self, x, y):
        open("a.out", "w").write(open("a.in").read())
        return self
    def score(self, x, y):
        return 1.0
{MAIN}
    print(cross_val_score(Model(), np.zeros((4, 1)), [0, 1, 0, 1], cv=2, n_jobs=2))
"""


@pytest.mark.slow
def test_parallel_functions_of_scikit_learn(project: Project) -> None:
    """Named by the function that scikit-learn wraps."""
    pytest.importorskip("sklearn")
    ran(project, SKLEARN)
    found = tasks(project, "joblib")
    assert found == [("sklearn.model_selection._validation._fit_and_score", ("a.in",), ("a.out",))] * 2


NESTED = """
import asyncio, provio
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(1) as pool:
    with provio.activity("outer", "own"):
        pool.submit(alone, "a").result()
    pool.submit(alone, "b").result()

async def steps():
    with provio.activity("step", "own"):
        await asyncio.to_thread(alone, "c")
        with ThreadPoolExecutor(1) as own:
            await asyncio.get_running_loop().run_in_executor(own, alone, "a")

asyncio.run(steps())
"""


def test_calls_that_are_submitted_in_a_task(project: Project) -> None:
    """They are parts of it, and no others are; asyncio's own threads have no Tasks of their own."""
    ran(project, NESTED)
    assert tasks(project, "future") == [
        ("__main__.alone", ("a.in",), ("a.out",)), ("__main__.alone", ("a.in",), ("a.out",)),
        ("__main__.alone", ("b.in",), ("b.out",)),
    ]  # fmt: skip
    assert tasks(project, "own") == [("step", ("c.in",), ("c.out",))]
    parts = project.rows("SELECT ?inner ?outer { ?i provio:partOf ?o ; a provio:Task ; provio:name ?inner . "
                         "?o a provio:Task ; provio:name ?outer }")  # fmt: skip
    assert sorted((row["inner"], row["outer"]) for row in parts) == [
        ("__main__.alone", "outer"),
        ("__main__.alone", "step"),
    ]


FAILING = f"""
import inspect, multiprocessing, pickle, re, traceback
import concurrent.futures.process, multiprocessing.pool
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from joblib import Parallel, delayed
{MAIN}
    for function in (concurrent.futures.process._process_worker, multiprocessing.pool.worker):
        print(pickle.loads(pickle.dumps(function)) is function, inspect.signature(function))
    print(inspect.signature(ThreadPoolExecutor.submit), inspect.getsource(ThreadPoolExecutor.submit)[:50])
    with ThreadPoolExecutor(1) as threads, ProcessPoolExecutor(1) as processes, multiprocessing.Pool(1) as pool:
        for act in (
            lambda: threads.submit(alone, "no").result(), lambda: threads.submit(),
            lambda: threads.submit(None).result(), lambda: processes.submit(alone, "no").result(),
            lambda: processes.submit(lambda: 1).result(),
            lambda: list(processes.map(alone, ["no"], chunksize=2)), lambda: list(threads.map(alone, ["no"])),
            lambda: pool.map(alone, ["no"]), lambda: pool.apply(alone, ["no"]), lambda: pool.apply(None),
            lambda: pool.starmap(alone, [("no",)]), lambda: list(pool.imap(alone, ["no"])),
            lambda: list(pool.imap(alone, (1 / 0 for _ in "a"))), lambda: pool.map(alone, [1]),
            lambda: Parallel(1)(delayed(alone)(name) for name in ["no"]), lambda: Parallel(1)([1]),
            lambda: Parallel(1)(delayed(alone)(1 / 0) for name in "a"),
            lambda: Parallel(2, "threading")(delayed(alone)(name) for name in ["no", "no"]),
        ):
            try:
                act()
            except Exception as error:
                # Without the line that depends on whether the call had ended.
                print(re.sub(r'(_base.py", line )[0-9]+', r"\\1", "".join(traceback.format_exception(error))))
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="before, a traceback has a line more")
def test_errors_and_functions_look_unchanged(project: Project) -> None:
    """Tracebacks of the program and of its workers, signatures, sources and pickles, with wrong arguments too."""
    pytest.importorskip("joblib")
    ran(project, FAILING)
    statuses = project.rows("SELECT DISTINCT ?s { ?t a provio:Task ; provio:status ?s }")
    assert [row["s"] for row in statuses] == ["error"]


@pytest.mark.integration
def test_switched_off(project: Project) -> None:
    project.env["PROVIO_RECOGNISE"] = "-concurrent,-multiprocessing,-joblib"
    ran(project, f"METHOD = 'fork'\n{POOL}")
    assert project.rows("SELECT ?t { ?t a provio:Task }") == []


PARSL = f"""
import parsl
from parsl.config import Config
from parsl.data_provider.files import File
from parsl.executors import HighThroughputExecutor, ThreadPoolExecutor
from parsl.providers import LocalProvider

@parsl.python_app
def copied(name): # in a worker without the program's other functions
    import os, time
    text = open(name + ".in").read()
    open(name + ".here", "w").close()
    until = time.monotonic() + 60
    while sum(entry.endswith(".here") for entry in os.listdir(".")) < 3 and time.monotonic() < until:
        time.sleep(0.001)
    open(name + ".out", "w").write(text)
    return text

@parsl.bash_app
def shelled(inputs=(), outputs=()):
    return f"cat {{inputs[0]}} > {{outputs[0]}}"

@parsl.python_app
def failing():
    raise ValueError("the app's")

{MAIN}
    if EXECUTOR == "threads":
        executor = ThreadPoolExecutor(max_threads=3)
    else:
        provider = LocalProvider(init_blocks=1, max_blocks=1)
        executor = HighThroughputExecutor(
            cores_per_worker=0.1, max_workers_per_node=3, address="127.0.0.1", provider=provider
        )
    with parsl.load(Config(executors=[executor], usage_tracking=0, initialize_logging=False)):
        print([future.result() for future in [copied(name) for name in NAMES]])
        print(shelled(inputs=[File("a.in")], outputs=[File("shelled.out")]).result())
        print(failing().exception())
"""


@pytest.mark.parametrize("executor", ["threads", "workers"])
@pytest.mark.slow
def test_apps_of_parsl(project: Project, executor: str) -> None:
    """Of Python and of bash, in threads and in worker processes; an exception that Parsl passes on is an error."""
    pytest.importorskip("parsl", reason="Parsl is not installed (extra `test-workflows`: make test installs it)")
    project.env["PATH"] = f"{Path(sys.executable).parent}:{project.env['PATH']}"
    ran(project, f"EXECUTOR = {executor!r}\n{PARSL}")
    assert tasks(project, "app") == each("__main__.copied")
    assert tasks(project, "future") == tasks(project, "pool") == []
    apps = project.rows(
        'SELECT ?name ?status { ?t a provio:Task ; provio:kind "app" ; provio:name ?name ; provio:status ?status }'
    )
    assert sorted((row["name"], row["status"]) for row in apps) == [
        *[("__main__.copied", "ok")] * 3, ("__main__.failing", "error"), ("__main__.shelled", "ok"),
    ]  # fmt: skip
    assert project.data("shelled.out") == {"a.in"}


ODD = """
import gc, weakref
from concurrent.futures import ThreadPoolExecutor

def named(executor=0, function=0, self=0, name=0, change=0, before=0, failed=0):
    return executor, function, self, name, change, before, failed

class Meta(type):
    def __getattribute__(cls, name):
        raise SystemExit(f"the metaclass's method was called for {name}")
    def __call__(cls):
        return 7

class Kind(metaclass=Meta):
    pass

class Large:
    pass

def odd(large):
    open("a.out", "w").write(open("a.in").read())

odd.__qualname__ = "odd\\nname \\udcff"
with ThreadPoolExecutor(1) as pool:
    print(pool.submit(named, executor=1, function=2, self=3, name=4, change=5, before=6, failed=7).result())
    print(pool.submit(Kind).result(), pool.submit("a".join, "xy").result(), pool.submit(int, "3").result())
    large = Large()
    kept = weakref.ref(large)
    pool.submit(odd, large).result()
    del large
    print(list(pool.map(str.upper, "ab")), gc.collect() >= 0, kept())
"""


def test_odd_names_and_arguments(project: Project) -> None:
    """Arguments with names of parameters of the wrappers, a class whose methods may not be called, functions without a
    module, a name that is no UTF-8; nothing is kept after the call."""
    ran(project, ODD)
    names = project.rows("SELECT ?n { ?t a provio:Task ; provio:name|provio:nameEncoded ?n }")
    odd = "__main__.odd%0Aname%20%ED%B3%BF"
    assert sorted(row["n"] for row in names) == sorted(
        ["__main__.named", "__main__.Kind", "str.join", "int", "str.upper", "str.upper", odd]
    )
    rows = project.answer("query", "tasks", "-p", "run=last", "--as", "csv").splitlines()
    assert [line.split(",")[2] for line in rows if line.startswith(odd)] == ["read", "wrote"]


def test_a_file_of_a_call_that_raised_is_failed(project: Project) -> None:
    """Also if the program handles the exception, and its run succeeds."""
    program = """
from concurrent.futures import ProcessPoolExecutor

def write(number):
    with open(f"part{number}", "w") as file:
        file.write("x")
    if number == 1:
        raise ValueError(number)

if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        for one in [pool.submit(write, number) for number in range(2)]:
            one.exception()
"""
    (project.path / "main.py").write_text(program)
    project.watch(sys.executable, "main.py")
    rows = json.loads(project.provio("status", "--as", "json", code=1).stdout)["files"]
    states = {Path(row["path"]).name: row["state"] for row in rows}
    assert (states["part0"], states["part1"]) == ("current", "failed")
    assert "an exception in its task" in project.answer("why", "part1")
    assert "! " in project.answer("lineage", "part1") and "! " not in project.answer("lineage", "part0")
