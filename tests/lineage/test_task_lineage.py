"""The inputs and outputs of a Task are its own; other inputs of its process reach it only through memory."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from conftest import Project

from provio.lineage.model import Conclusions, Phase, Strand
from provio.lineage.task_results import Submission
from provio.lineage.tasks import join
from provio.trace.facts import Process

BEGIN = """
import threading
from provio.interceptors.python.tasks import task

def read(name):
    with open(name) as file:
        return file.read()

def write(name, text=""):
    with open(name, "w") as file:
        file.write(text or name)

"""


@pytest.fixture
def tasks(project: Project) -> Any:
    """Run Python code with Tasks in it, in a folder with the files a, b, c."""

    def run(code: str) -> Project:
        project.sh("for name in a b c; do echo $name > $name; done")
        (project.path / "program.py").write_text(BEGIN + code)
        project.watch("python3", "program.py")
        return project

    return run


def makers(project: Project, target: str) -> list[str]:
    """Return the names of the Tasks in the lineage of a file, by start."""
    nodes = project.lineage(target)["nodes"]
    return [n["label"] for n in sorted(nodes, key=lambda n: n.get("start", "")) if n["type"] == "Task"]


@pytest.mark.integration
def test_two_threads_two_tasks_one_file_each(tasks: Any) -> None:
    project = tasks("""
def work(number):
    with task(f"work {number}"):
        meet.wait()
        text = read("ab"[number])
        meet.wait()
        write(f"out{number}", text)

meet = threading.Barrier(2)
threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
""")
    for number, name in enumerate("ab"):
        assert project.ancestors(f"out{number}") == {"data": {name}, "carried": set(), "control": set()}
        assert makers(project, f"out{number}") == [f"work {number}"]
    project.provio("validate")


@pytest.mark.integration
def test_inputs_of_an_earlier_task_are_carried(tasks: Any) -> None:
    """Memory passes from Task to Task: the inputs of an ended one, never later reads."""
    project = tasks("""
with task("load"):
    text = read("a")
with task("other"):
    write("aside", read("b"))
with task("save"):
    write("out", text)
with task("later"):
    read("c")
write("last", text)
""")
    assert project.ancestors("out") == {"data": set(), "carried": {"a", "b"}, "control": set()}
    assert project.ancestors("aside") == {"data": {"b"}, "carried": {"a"}, "control": set()}
    assert project.ancestors("last") == {"data": set(), "carried": {"a", "b", "c"}, "control": set()}
    assert makers(project, "out") == ["load", "other", "save"]
    project.provio("validate")


@pytest.mark.integration
def test_a_task_has_the_earlier_inputs_of_its_process(tasks: Any) -> None:
    project = tasks("""
text = read("a")
with task("save"):
    write("out", text)
read("b")
""")
    assert project.ancestors("out") == {"data": set(), "carried": {"a"}, "control": set()}


@pytest.mark.integration
def test_tasks_nest(tasks: Any) -> None:
    project = tasks("""
with task("outer"):
    read("a")
    with task("inner"):
        write("x", read("b"))
    write("y", "")
    read("c")
""")
    assert project.ancestors("x") == {"data": {"b"}, "carried": {"a"}, "control": set()}
    assert project.ancestors("y")["data"] | project.ancestors("y")["carried"] == {"a", "b"}
    assert "c" not in project.ancestors("y")["carried"]
    (row,) = project.rows(
        "SELECT ?outer { ?inner provio:name 'inner' ; provio:partOf/provio:name ?outer }",
    )
    assert row == {"outer": "outer"}
    project.provio("validate")


@pytest.mark.integration
def test_a_task_is_cut_like_a_process(tasks: Any) -> None:
    project = tasks("""
with task("all"):
    write("x", read("a"))
    write("y", read("b"))
""")
    assert project.ancestors("x") == {"data": {"a"}, "carried": set(), "control": set()}
    assert project.ancestors("y") == {"data": {"b"}, "carried": {"a"}, "control": set()}
    project.provio("validate")


@pytest.mark.integration
def test_processes_started_by_a_task_are_launched_by_it(tasks: Any) -> None:
    project = tasks("""
import subprocess
with task("before"):
    read("a")
with task("start"):
    subprocess.run("cat b > out", shell=True, check=True)
with task("pipe"):
    found = subprocess.run(["cat", "c"], capture_output=True, check=True).stdout
    write("piped", found.decode())
""")
    assert project.ancestors("out")["data"] == {"b"}
    assert "start" in [n["label"] for n in project.lineage("out", "--via", "control")["nodes"] if n["type"] == "Task"]
    assert project.ancestors("piped")["data"] == {"c"}
    project.provio("validate")


@pytest.mark.integration
def test_two_tasks_of_one_file(tasks: Any) -> None:
    """A log that two Tasks append to comes from both; a file that one opened and another wrote comes from the
    writer."""
    project = tasks("""
for name in "ab":
    with task(f"append {name}"):
        text = read(name)
        with open("log", "a") as file:
            file.write(text)
with task("open"):
    file = open("shared", "w", buffering=1)
with task("write"):
    file.write(read("c") + "\\n")
file.close()
""")
    assert project.ancestors("log")["data"] == {"a", "b", "log"}  # as it was before
    assert makers(project, "log") == ["append a", "append b"]
    assert project.ancestors("shared")["data"] == {"c"}
    assert makers(project, "shared")[-1] == "write"
    project.provio("validate")


@pytest.mark.integration
def test_a_task_between_two_of_one_thread(tasks: Any) -> None:
    """A file that one Task made and the next one read connects the two."""
    project = tasks("""
with task("one"):
    write("x", read("a"))
with task("two"):
    write("y", read("x"))
""")
    assert project.ancestors("y")["data"] == {"x", "a"}
    project.provio("validate")


@pytest.mark.integration
def test_the_graph_of_a_task(tasks: Any) -> None:
    project = tasks("""
with task("fit", kind="cell", source='x = 1\\n"é"', number=3):
    write("x", read("a"))
try:
    with task("fails"):
        read("nothing")
except FileNotFoundError:
    pass
""")
    words = "name kind number sourceText status".split()
    rows = project.rows(
        "SELECT * { ?task a provio:Task ; provio:name ?name ; prov:startedAtTime ?start ; prov:endedAtTime ?end "
        "FILTER(?start <= ?end) "
        + " ".join(f"OPTIONAL {{ ?task provio:{word} ?{word} }}" for word in words[1:])
        + " ?task provio:partOf/a provio:Process } ORDER BY ?name"
    )
    found = [{word: row[word] for word in words if word in row} for row in rows]
    assert found == [
        {"name": "fails", "status": "error"},
        {"name": "fit", "kind": "cell", "number": "3", "sourceText": 'x = 1\n"é"', "status": "ok"},
    ]
    (node,) = [n for n in project.lineage("x")["nodes"] if n["type"] == "Task"]
    assert {key: node[key] for key in ("label", "kind", "number", "source", "status")} == {
        "label": "fit", "kind": "cell", "number": 3, "source": 'x = 1\n"é"', "status": "ok",
    }  # fmt: skip
    assert json.loads(json.dumps(node))["task"] == node["iri"].partition("phase/")[0]


@pytest.mark.integration
def test_datasets_of_tasks(tasks: Any) -> None:
    """Also inside HDF5 files each Task has its own objects, and memory passes from one that ended to the next."""
    project = tasks("""
import h5py
with task("make"):
    with h5py.File("in.h5", "w") as file:
        file["one"] = [1, 2, 3]
        file["two"] = [4, 5, 6]
with task("load"):
    with h5py.File("in.h5") as file:
        one = file["one"][:]
with task("save"):
    with h5py.File("in.h5") as file, h5py.File("out.h5", "w") as out:
        out["sum"] = file["two"][:] + 1
        out["one"] = one
""")
    nodes = project.lineage("out.h5#/sum")["nodes"]
    assert {n["label"] for n in nodes if n["type"] == "Dataset"} >= {"out.h5#/sum", "in.h5#/two", "in.h5#/one"}
    by = {n["label"]: n["via"] for n in nodes if n["type"] == "Dataset"}
    assert (by["in.h5#/two"], by["in.h5#/one"]) == ("data", "carried")
    project.provio("validate")


@pytest.mark.integration
def test_long_task_sources_are_shown_in_part(tasks: Any) -> None:
    """Text output shows the beginning of long lines and of many lines; JSON has everything."""
    project = tasks("""
with task("fit", source="data = '" + "x" * 3000 + "'\\n" + "more = 1\\n" * 60):
    write("x", read("a"))
""")
    for call in (("lineage", "x"), ("why", "x"), ("show", "last")):
        shown = project.provio(*call).stdout
        assert "data = 'xxx" in shown and max(map(len, shown.splitlines())) < 300, call
    why = project.provio("why", "x").stdout
    assert "          … 21 more lines (--as json)\n" in why and why.count("more = 1") == 39
    assert project.provio("why", "x", "--as", "json").stdout.count("more = 1") == 60


@pytest.mark.integration
def test_the_source_of_a_task_is_shown(tasks: Any) -> None:
    """Text shows the name of the Task; `why` shows the first line of its source, or all of it on request."""
    project = tasks("""
with task("fit", source='model = 1\\npassword = "hidden"\\n'):
    write("x", read("a"))
with task("odd", source='password = "hidden"  # \\ud800'):
    write("y", read("a"))
""")
    tree = project.provio("lineage", "x").stdout.splitlines()
    assert tree[1].startswith("│ fit  of program.py, ")
    assert tree[2] == "│ > model = 1 …"
    why = project.provio("why", "x").stdout
    assert 'task      fit\nsource    model = 1\n          password = "REDACTED"\n' in why
    (odd,) = project.rows("SELECT ?text { ?task provio:sourceTextEncoded ?text }")  # it is not UTF-8
    assert unquote_to_bytes(odd["text"]) == b'password = "REDACTED"  # \xed\xa0\x80'
    assert "task     fit  ok  model = 1 …\n" in project.provio("show", "last").stdout
    assert (
        "model = 1" in project.provio("view", "x", "-o", "page.html").stdout + (project.path / "page.html").read_text()
    )


@pytest.mark.integration
def test_a_coroutine_reads_after_the_end_of_its_task(tasks: Any) -> None:
    """A coroutine belongs to the Task that created it, also after its end; a Task in between has nothing of it."""
    project = tasks("""
import asyncio
from provio.interceptors.python.propagation import propagate
propagate()

async def later():
    await asyncio.sleep(0.2)
    write("x", read("b"))

async def main():
    with task("first"):
        read("a")
        going = asyncio.ensure_future(later())
    with task("between"):
        write("y", "y")
    await going
    with task("last"):
        write("z", "z")

asyncio.run(main())
""")
    assert project.ancestors("x") == {"data": {"a", "b"}, "carried": set(), "control": set()}
    assert project.ancestors("y") == {"data": set(), "carried": {"a"}, "control": set()}
    assert project.ancestors("z") == {"data": set(), "carried": {"a", "b"}, "control": set()}
    project.provio("validate")


@pytest.mark.integration
def test_asyncio_tasks_and_a_pool(tasks: Any) -> None:
    """Two coroutines alternating in one thread, and two calls in a pool: each has exactly its own file."""
    project = tasks("""
import asyncio, concurrent.futures
from provio.interceptors.python.propagation import propagate
propagate()

async def copy(one, other):
    with task(other):
        for turn in range(5):
            await asyncio.sleep(0)
            with open(one) as source, open(other, "a") as target:
                target.write(source.read())

async def both():
    await asyncio.gather(copy("a", "x"), copy("b", "y"))

asyncio.run(both())

def copied(one, other):
    with task(other):
        write(other, read(one))

with concurrent.futures.ThreadPoolExecutor(2) as pool:
    list(pool.map(copied, ["a", "c"], ["p", "q"]))
""")
    for made, of in (("x", "a"), ("y", "b")):
        found = project.ancestors(made)
        assert found["data"] - {made} == {of}
        assert found["carried"] == set()
        assert makers(project, made)[-1] == made
    assert (project.data("p"), project.data("q")) == ({"a"}, {"c"})
    project.provio("validate")


@pytest.mark.integration
def test_a_fork_and_an_exec_within_a_task(tasks: Any) -> None:
    """A fork has the inputs of its parent's Task; a program that replaces the process belongs to the Task."""
    project = tasks("""
import os
with task("before"):
    read("a")
with task("forks"):
    text = read("b")
    if not (child := os.fork()):
        write("of child", text)
        os._exit(0)
    os.waitpid(child, 0)
    read("c")
with task("replaced"):
    os.execvp("cp", ["cp", "c", "copy"])
""")
    found = project.ancestors("of child")
    assert found == {"data": set(), "carried": {"a", "b"}, "control": set()}
    assert project.data("copy") == {"c"}
    launched = project.lineage("copy", "--via", "control")["nodes"]
    assert "replaced" in {n["label"] for n in launched if n["type"] == "Task"}
    project.provio("validate")


@pytest.mark.integration
def test_one_file_open_in_several_tasks(tasks: Any) -> None:
    """One Task opens a file, another reads it, copies objects inside it, and a third writes: each object belongs to
    its maker."""
    project = tasks("""
import h5py
with h5py.File("in.h5", "w") as made:
    made["one"], made["two"] = [1, 2, 3], [4, 5, 6]
with task("open"):
    file, out = h5py.File("in.h5"), h5py.File("out.h5", "w")
    out["link"] = h5py.SoftLink("/one")
with task("one"):
    out["one"] = file["one"][:]
with task("copy"):
    file.copy("two", out, "two")
with task("other"):
    out["other"] = read("a")
file.close()
out.close()
""")
    one, two = (project.lineage(f"out.h5#/{name}", "--via", "data")["nodes"] for name in ("one", "two"))
    assert {n["label"] for n in one if n["type"] == "Dataset"} == {"out.h5#/one", "in.h5#/one"}
    assert {n["label"] for n in two if n["type"] == "Dataset"} == {"out.h5#/two", "in.h5#/two"}
    assert [n["label"] for n in one if n["type"] == "Task"] == ["one"]
    project.provio("validate")


@pytest.mark.integration
def test_a_copy_by_the_kernel_in_a_task(tasks: Any) -> None:
    """A copy that passed through no program's memory comes only from its source, and is a part of the Task."""
    project = tasks("""
import shutil
with task("before"):
    read("a")
with task("copies"):
    shutil.copyfile("b", "copy")
""")
    assert project.ancestors("copy") == {"data": {"b"}, "carried": set(), "control": set()}
    (maker,) = [n for n in project.lineage("copy")["nodes"] if n["type"] == "Copy"]
    assert maker["label"] == "copies"
    project.provio("validate")


@pytest.mark.parametrize("order", [("outer", "inner"), ("inner", "outer")])
def test_a_task_is_tied_to_its_submitter_by_its_final_name(order: tuple[str, str]) -> None:
    """A task that touched no file is one node, in whichever order the processes of the run are."""
    worker = Process("w/", "host", 1, 1, "0")
    conclusions = Conclusions({})
    for number, name in enumerate(order):
        process = Process(f"{name}/", "host", 1, 1, f"0.{number}", {"image": "task"})
        conclusions.strands[name] = Strand(process, worker, number, number + 1, worker, number, sealed=True)
        conclusions.phases[process.iri] = [Phase(f"{name}/phase/0", process, number, number + 1)]
    outer, inner = (conclusions.strands[name].process for name in ("outer", "inner"))
    conclusions.submissions[inner.iri] = Submission(outer, 0, by_value=False)
    join(conclusions)
    (first,) = conclusions.phases[inner.iri]
    assert (first.iri, first.launched_by) == (inner.iri, outer.iri)


def test_a_phase_lasts_until_the_end_of_the_tasks_that_end_in_it() -> None:
    """Also if its process did nothing afterwards: PROV wants it to end after the start of each of them."""
    main, times = Process("m/", "host", 1, 1, "0"), {"image": "task", "startedNs": "6", "endedNs": "8"}
    conclusions = Conclusions({})
    conclusions.phases["m/"] = [Phase("m/phase/0", main, 0, 3), Phase("m/phase/1", main, 3, 5)]
    process = Process("t/", "host", 1, 1, "0.1", times)
    conclusions.strands["t"] = Strand(process, main, 6, 8, main, 2)
    conclusions.phases["t/"] = [Phase("t/phase/0", process, 6, 8)]
    conclusions.joins["m/"] = [8]
    join(conclusions)
    last = conclusions.phases["m/"][1]
    assert ([*last.joined], last.end) == (["t/phase/0"], 8)
