"""Lineage of files that calls of pools write: each has exactly the inputs of its own call, whichever worker ran it, and
the process that receives results has the inputs of the calls that made them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import Project

PROGRAM = """
import os, subprocess, sys

def copied(n):
    text = open(f"in{n}").read()
    open(f"out{n}", "w").write(text)
    return text

CACHE = []
def cached(n):
    if not CACHE:
        CACHE.append(open("table").read())
    open(f"cached{n}", "w").write(CACHE[0])

def opened():
    global HELD, MODEL
    HELD, MODEL = os.open("held", os.O_RDONLY), open("model").read()

def held(n):
    open(f"held{n}", "wb").write(os.read(HELD, 5))

def stored(name, text):
    open(name, "w").write(text)

def from_child(n):
    return subprocess.run(["cat", f"in{n}"], capture_output=True, text=True).stdout

def work(several, once):
    open("all", "w").write("".join(several(copied, [0, 1, 2])))
    several(cached, [0, 1])
    several(held, [0, 1])
    later = open("later").read()
    once(stored, "stored", later)
    once(copied, 3)
    open("child", "w").write("".join(several(from_child, [4])))

if __name__ == "__main__":
    kind = sys.argv[1]
    if kind in ("loky", "threading", "multiprocessing"):
        from joblib import Parallel, delayed
        opened()
        with Parallel(2, backend=kind, pre_dispatch="all") as loop:
            work(lambda call, many: loop(delayed(call)(one) for one in many),
                 lambda call, *given: loop([delayed(call)(*given)]))
    elif kind in ("pool", "threadpool"):
        import multiprocessing.pool
        Pool = multiprocessing.Pool if kind == "pool" else multiprocessing.pool.ThreadPool
        with Pool(1, opened) as pool:
            work(pool.map, lambda call, *given: pool.apply(call, given))
            for number, one in zip((5, 6), pool.imap(copied, [5, 6])):
                open(f"imap{number}", "w").write(one)
            pool.apply_async(copied, (7,), callback=lambda text: open("called", "w").write(text)).wait()
            pool.close()
            pool.join()
    else:
        import concurrent.futures
        kinds = {"threads": "ThreadPoolExecutor", "processes": "ProcessPoolExecutor"}
        with getattr(concurrent.futures, kinds[kind])(1, initializer=opened) as pool:
            work(lambda *given: list(pool.map(*given)), lambda *given: pool.submit(*given).result())
"""
IN_PROCESSES = ("processes", "pool")


@pytest.mark.parametrize("kind", ["threads", "processes", "pool", "threadpool"])
@pytest.mark.integration
def test_each_call_has_its_own_inputs(project: Project, kind: str) -> None:
    """Calls that one worker ran one after the other, and the process that received their results."""
    planted(project, kind)
    assert [inputs(project, f"out{n}") for n in range(4)] == [{f"in{n}"} for n in range(4)]
    assert inputs(project, "all") - {"model"} == {"in0", "in1", "in2"}
    assert [inputs(project, f"held{n}") for n in range(2)] == [{"held"}, {"held"}]  # by an object that others opened
    assert not {"in0", "in1"} & shown(project, "out2")["carried"]
    kept = "may have used data that its worker kept from 2 earlier tasks (--via carried)"
    assert kept in project.answer("lineage", "out2").splitlines()
    assert {"in0", "in1"} <= project.ancestors("out2", "--via", "carried")["carried"]
    # Data that a call kept for later ones is hidden and counted.
    assert inputs(project, "cached0") == {"table"}
    earlier = "4 earlier tasks" if kind in IN_PROCESSES else "1 earlier task"  # in a thread, the others are shown
    assert inputs(project, "cached1") == set() and f"kept from {earlier} (" in project.answer("lineage", "cached1")
    assert "later" in shown(project, "stored")["carried"]
    found = shown(project, "child")
    assert "in4" in found["data" if kind in IN_PROCESSES else "carried"]


@pytest.mark.integration
def test_results_in_the_process_of_the_pool(project: Project) -> None:
    """Of an iterator each result at its turn, of a callback at once; a file that the program read after the submission
    of a call is no input of it."""
    planted(project, "pool")
    assert [inputs(project, f"imap{n}") for n in (5, 6)] == [{"in5"}, {"in6"}]
    assert inputs(project, "called") == {"in7"}
    assert "later" not in shown(project, "out3")["carried"]


@pytest.mark.parametrize("kind", ["loky", "threading", "multiprocessing"])
@pytest.mark.slow
def test_calls_of_loops_of_joblib(project: Project, kind: str) -> None:
    pytest.importorskip("joblib")
    planted(project, kind)
    assert [inputs(project, f"out{n}") for n in range(4)] == [{f"in{n}"} for n in range(4)]
    assert {"in0", "in1", "in2"} <= inputs(project, "all")
    assert not {"in0", "in1"} & shown(project, "out2")["carried"]
    assert "later" in shown(project, "stored")["carried"]


CHUNKS = """
from concurrent.futures import ProcessPoolExecutor
import multiprocessing

def read(name):
    return open(name).read()

def nested(name):
    with multiprocessing.pool.ThreadPool(1) as pool:
        return pool.apply(read, (name,))

if __name__ == "__main__":
    import multiprocessing.pool
    with ProcessPoolExecutor(1) as first, ProcessPoolExecutor(1) as second:  # with the same numbers of calls
        one, two = first.submit(read, "in0"), second.submit(read, "in1")
        three, four = first.submit(nested, "in2"), second.submit(read, "in3")
        open("one", "w").write(one.result())
        open("four", "w").write(four.result())
        open("three", "w").write(three.result())
        open("many", "w").write("".join(first.map(read, ["in5", "in6", "in7"], chunksize=3)))
"""


@pytest.mark.integration
def test_calls_of_two_pools(project: Project) -> None:
    """Each result is that of its own pool; of a call with calls of its own; of a chunk."""
    (project.path / "chunks.py").write_text(CHUNKS)
    for number in range(8):
        (project.path / f"in{number}").write_text(f"{number}\n")
    project.provio("run", "--quiet", "--", sys.executable, "-B", "chunks.py")
    found = {name: inputs(project, name) for name in ("one", "four", "three", "many")}
    assert found == {"one": {"in0"}, "four": {"in3"}, "three": {"in2"}, "many": {"in5", "in6", "in7"}}


TERMINATED = """
import multiprocessing, os, time

def copied(n):
    text = open(f"in{n}").read()
    open(f"out{n}", "w").write(text)
    return text

def stuck():
    open("part", "w").write("begun")
    open("ready", "w").close()
    time.sleep(100)

if __name__ == "__main__":
    with multiprocessing.Pool(1) as pool:
        open("all", "w").write("".join(pool.map(copied, range(2), 1)))
        pool.apply_async(stuck)
        while not os.path.exists("ready"):
            time.sleep(0.01)
"""


def test_workers_that_their_pool_ends(project: Project) -> None:
    """`with Pool()` ends its workers by SIGTERM: only a call in progress has failed then."""
    (project.path / "ended.py").write_text(TERMINATED)
    for number in range(2):
        (project.path / f"in{number}").write_text(f"{number}\n")
    project.provio("run", "--quiet", "--", sys.executable, "-B", "ended.py")
    failed = "made by a command that failed (signal 15)"
    assert [name for name in ("out0", "out1", "all", "part") if failed in project.answer("why", name)] == ["part"]
    states = [line.split()[:2] for line in project.provio("status", code=1).stdout.splitlines()]
    assert [words[1] for words in states if words[0] == "failed"] == ["part", "ready"]


def used_results(project: Project) -> list[list[str]]:
    """The uses of results of apps by apps: the names of both, sorted."""
    apps = project.rows('SELECT ?t ?n { ?t provio:kind "app" ; provio:name ?n }')
    names = {row["t"]: row["n"].rpartition(".")[2] for row in apps}
    uses = project.rows("SELECT ?phase ?result { ?phase prov:used ?result . ?result a provio:TaskResult }")
    pairs = [(row["result"].removesuffix("result"), row["phase"].partition("phase/")[0]) for row in uses]
    return sorted([names[maker], names[user]] for maker, user in pairs if user in names)


def planted(project: Project, kind: str) -> None:
    """Record the program with one kind of pool."""
    (project.path / "program.py").write_text(PROGRAM)
    for name in [*(f"in{n}" for n in range(8)), "table", "model", "later"]:
        (project.path / name).write_text(f"{name}\n")
    (project.path / "held").write_text("line\nline\n")
    project.provio("run", "--quiet", "--", sys.executable, "-B", "program.py", kind)


def inputs(project: Project, name: str) -> set[str]:
    """The files that a file has data of, without the programs."""
    return {one for one in shown(project, name)["data"] if not one.endswith(".py")}


def shown(project: Project, name: str) -> dict[str, set[str]]:
    """The files that a file comes from, with default options."""
    return project.files(project.lineage(name))


PARSL = """
import json, sys
import parsl
from parsl.config import Config
from parsl.data_provider.files import File
from parsl.executors import HighThroughputExecutor, ThreadPoolExecutor
from parsl.providers import LocalProvider

@parsl.python_app
def load(n):
    text = open(f"in{n}").read()
    open(f"copy{n}", "w").write(text)
    return text

@parsl.python_app
def join(one, two):
    open("joined", "w").write(one + two)
    return one + two

@parsl.bash_app
def shell(inputs=(), outputs=()):
    return f"cat {inputs[0]} > {outputs[0]}"

@parsl.python_app
def last(inputs=(), more=None):
    open("last", "w").write(open(inputs[0]).read() + more)

@parsl.python_app
def leaf(n):
    return open(f"in{n}").read()

@parsl.join_app
def outer(n):
    return leaf(n)

if __name__ == "__main__":
    if sys.argv[1] == "threads":
        executor = ThreadPoolExecutor(max_threads=1)
    else:
        executor = HighThroughputExecutor(cores_per_worker=0.1, max_workers_per_node=1, address="127.0.0.1",
                                          provider=LocalProvider(init_blocks=1, max_blocks=1))
    config = Config([executor], usage_tracking=0, initialize_logging=False, garbage_collect=False)
    with parsl.load(config) as kernel:
        one, two, alone = load(0), load(1), load(2)
        joined = join(one, two)
        shelled = shell(inputs=[File("in3")], outputs=[File("shelled")])
        ended, outer = last(inputs=[shelled.outputs[0]], more=joined), outer(4)
        open("mine", "w").write(alone.result())
        open("both", "w").write(outer.result())
        ended.result()
        names = {number: task["func_name"] for number, task in kernel.tasks.items()}
        edges = [(names[needed.tid], names[number])
                 for number, task in kernel.tasks.items() for needed in task["depends"]]
    json.dump(sorted(edges), open("edges.json", "w"))
"""


@pytest.mark.parametrize("kind", ["threads", "workers"])
@pytest.mark.slow
def test_apps_of_parsl(project: Project, kind: str) -> None:
    """The dependencies are those of the kernel; each app has its own inputs, and the results that it depends on."""
    pytest.importorskip("parsl", reason="Parsl is not installed (extra `test-workflows`: make test installs it)")
    project.env["PATH"] = f"{Path(sys.executable).parent}:{project.env['PATH']}"
    (project.path / "program.py").write_text(PARSL)
    for number in range(5):
        (project.path / f"in{number}").write_text(f"{number}\n")
    project.provio("run", "--quiet", "--", sys.executable, "-B", "program.py", kind)
    edges = json.loads((project.path / "edges.json").read_text())
    assert used_results(project) == edges
    assert edges == [["join", "last"], ["load", "join"], ["load", "join"], ["shell", "last"]]
    names = ["copy0", "copy1", "copy2", "joined", "shelled", "last"]
    assert [inputs(project, name) for name in names] == [
        {"in0"}, {"in1"}, {"in2"}, {"in0", "in1"}, {"in3"}, {"in0", "in1", "in3", "shelled"},
    ]  # fmt: skip
    assert not any(shown(project, name)["carried"] for name in ("copy2", "joined", "shelled"))
    assert {"in4"} <= inputs(project, "both")
    if kind == "workers":
        assert (inputs(project, "mine"), inputs(project, "both")) == ({"in2"}, {"in4"})
        gaps = project.rows("SELECT ?r { ?g a provio:Gap ; provio:reason ?r }")
        assert not [row["r"] for row in gaps if "pym-" in row["r"]]
