"""Tasks in the shim: calls of a thread belong to the Task that the thread is in, and to no other."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from posix_trace import ROOT, Facts, Trace

IN_PYTHON = """
import ctypes, os, sys, threading

class Described(ctypes.Structure):
    _fields_ = [(name, ctypes.c_char_p) for name in ("name", "kind", "source")] + [("number", ctypes.c_uint64)]

shim = ctypes.CDLL(None)
for function in (shim.provio_task_begin, shim.provio_task_enter):
    function.restype = ctypes.c_uint64
shim.provio_task_enter.argtypes = [ctypes.c_uint64]
shim.provio_task_end.argtypes = [ctypes.c_uint64, ctypes.c_char_p]

def work(name):
    described = Described(name=name.encode(), number=1)
    task = shim.provio_task_begin(ctypes.byref(described))
    before = shim.provio_task_enter(task)
    with open(name, "wb", buffering=0) as file:
        for _ in range(200):
            file.write(b"x")
    shim.provio_task_enter(before)
    shim.provio_task_end(task, b"ok")

threads = [threading.Thread(target=work, args=(f"thread{number}",)) for number in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def name_of(iri: str) -> str:
    return iri.rpartition("/")[2]


def tasks(facts: dict[str, Facts]) -> dict[str, Facts]:
    """The Tasks by their names."""
    return {record["name"]: record | {"iri": iri} for iri, record in facts.items() if record.get("type") == "Task"}


def done(facts: dict[str, Facts], counter: str) -> dict[tuple[str, str], int]:
    """The calls of each Task (or none) on each file: the sums of a counter by (name of the Task, name of the file)."""
    names = {iri: record["name"] for iri, record in facts.items() if record.get("type") == "Task"}
    sums: Counter[tuple[str, str]] = Counter()
    for record in facts.values():
        if record.get("type") == "Access" and int(record.get(counter, 0)):
            path = facts[record["object"]].get("path", "")
            sums[names.get(record.get("task", ""), ""), name_of(path)] += int(record[counter])
    return dict(sums)


def ran(trace: Trace, built: Path, how: str, work: Path) -> dict[str, Facts]:
    assert trace.run(built / "tasks", how, work).returncode == 0
    assert not trace.gaps()
    return trace.facts()


def test_facts_of_a_task(trace: Trace, built: Path, work: Path) -> None:
    found = tasks(ran(trace, built, "threads", work))["thread0"]
    assert {name: found[name] for name in ("kind", "sourceText", "number", "status")} == {
        "kind": "part", "sourceText": 'f("x")\n', "number": "7", "status": "ok",
    }  # fmt: skip
    assert int(found["startedNs"]) < int(found["endedNs"])


def test_two_threads_with_two_tasks(trace: Trace, built: Path, work: Path) -> None:
    facts = ran(trace, built, "threads", work)
    writes, reads = done(facts, "writes"), done(facts, "reads")
    assert writes == {("", "common"): 1, ("thread0", "thread0"): 500, ("thread1", "thread1"): 500}
    assert reads == {("thread0", "common"): 500, ("thread1", "common"): 500}


def test_the_same_in_python(trace: Trace, work: Path) -> None:
    assert trace.run(sys.executable, "-c", IN_PYTHON, cwd=work).returncode == 0
    found = {key: count for key, count in done(trace.facts(), "writes").items() if key[1].startswith("thread")}
    assert found == {("thread0", "thread0"): 200, ("thread1", "thread1"): 200}


def test_each_turn_is_counted_where_it_belongs(trace: Trace, built: Path, work: Path) -> None:
    """One thread enters and leaves Tasks: a block for each Task and opening, however often it returns."""
    facts = ran(trace, built, "turns", work)
    counts = done(facts, "writes")
    assert (counts["even", "shared"], counts["odd", "shared"], counts["", "shared"]) == (250, 250, 500)
    accesses = [r for r in facts.values() if r.get("type") == "Access" and int(r.get("writes", 0))]
    inner = {iri: r for iri, r in facts.items() if r.get("type") == "Task" and r["name"] == "inner"}
    assert (counts["inner", "shared"], len(inner)) == (100, 100)
    shared = next(iri for iri, r in facts.items() if r.get("path", "").endswith("/shared"))
    assert len([r for r in accesses if r["object"] == shared and r.get("task") not in inner]) == 3
    assert {facts[r["partOf"]]["name"] for r in inner.values()} == {"even", "odd"}
    assert (work / "stream").stat().st_size == 500


def test_a_thread_inherits_its_task_until_the_task_ends(trace: Trace, built: Path, work: Path) -> None:
    assert done(ran(trace, built, "heirs", work), "writes") == {("parent", "heir"): 2, ("", "heir"): 1}


def test_so_it_is_where_thousands_go_on(trace: Trace, built: Path, work: Path) -> None:
    assert done(ran(trace, built, "crowd", work), "writes") == {("parent", "heir"): 2, ("", "heir"): 1}


def test_children_are_launched_by_the_task(trace: Trace, built: Path, work: Path) -> None:
    """A fork has none of its parent's Tasks, and may begin its own; its parent records the Task of the fork."""
    facts = ran(trace, built, "children", work)
    found = tasks(facts)
    starts = [record for record in facts.values() if record.get("type") in ("Fork", "Spawn")]
    assert starts
    assert {record.get("task") for record in starts} == {found["parent"]["iri"]}
    assert "partOf" not in found["child's"]
    writes = done(facts, "writes")
    assert (writes["child's", "in child"], writes["parent", "after"]) == (1, 1)
    assert {task for task, file in writes if file == "shell"} == {""}


def test_a_killed_task_is_kept_without_an_end(trace: Trace, built: Path, work: Path) -> None:
    assert trace.run(built / "tasks", "killed", work).returncode == -signal.SIGKILL
    facts = trace.facts()
    assert "endedNs" not in tasks(facts)["killed"]
    assert done(facts, "writes") == {("killed", "before"): 1}


def test_a_program_with_tasks_runs_without_the_shim(built: Path, work: Path) -> None:
    for how in ("threads", "turns", "heirs", "children"):
        done = subprocess.run([built / "tasks", how, work], capture_output=True, check=False, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_header_is_for_c_plus_plus_too(tmp_path: Path) -> None:
    compiler = shutil.which("c++")
    assert compiler, "no C++ compiler"
    source = tmp_path / "a.cc"
    source.write_text(f'#include "{ROOT}/interceptors/include/provio.h"\nint main() {{ return 0; }}\n')
    subprocess.run([compiler, "-Wall", "-Werror", "-o", tmp_path / "a", source], check=True, timeout=60)
