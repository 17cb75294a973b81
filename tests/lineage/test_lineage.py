"""Correct lineage: real commands, and the exact set of sources of each product, by data and carried."""

from __future__ import annotations

import pytest
from conftest import Project

POOL = """
import os, time
from multiprocessing import get_context
def numbers():
    yield from range(1, 7)
    open("out", "w").close()  # all tasks are
def serve(number):
    while not os.path.exists("out"):
        time.sleep(0.01)
    text = open(f"in{number}").read()
    with open(f"out{number}", "w") as out:
        out.write(text)
with get_context("fork").Pool(3) as pool:
    list(pool.imap(serve, numbers()))
"""


@pytest.mark.integration
def test_a_pool_of_processes_by_data(project: Project) -> None:
    """For any assignment of tasks to workers: by data each product comes only from its own input."""
    project.sh("for k in 1 2 3 4 5 6; do echo $k > in$k; done")
    (project.path / "pool.py").write_text(POOL)
    project.watch("python3", "pool.py")
    assert {k: project.data(f"out{k}") for k in range(1, 7)} == {k: {f"in{k}"} for k in range(1, 7)}


@pytest.mark.integration
def test_a_later_reader_is_no_ancestor(project: Project) -> None:
    """A program that read x after it was made is no ancestor of x, but of the products of x."""
    project.sh("echo 1 > a; echo 2 > b")
    project.watch("cp", "a", "x")
    project.run("cat x b > y")
    document = project.lineage("x")
    assert {node["label"] for node in document["nodes"] if node["type"] == "Program"} == {"cp"}
    assert project.data("x") == {"a"}
    assert project.data("a", "--forward") == {"x", "y"}
    assert project.data("b", "--forward") == {"y"}


def test_an_unobserved_read_is_a_gap(project: Project) -> None:
    """A file opened for reading and read by a function private to the C library: no ancestor is guessed, but a gap
    is recorded."""
    project.sh("echo 1 > a")
    code = "import ctypes, os\nfd = os.open('a', os.O_RDONLY)\nroom = ctypes.create_string_buffer(9)\n"
    code += "ctypes.CDLL(None).__read_nocancel(fd, room, 9)\nopen('x', 'wb').write(room.value)\n"
    (project.path / "raw.py").write_text(code)
    project.watch("python3", "raw.py")
    assert ["a was opened" in gap["reason"] for gap in project.lineage("x")["gaps"]] == [True]


@pytest.mark.integration
def test_a_version_whose_time_was_set_back_is_no_earlier_one(project: Project) -> None:
    """Times that were set back, once and twice, make no gap: the content before is not one that changed since."""
    project.sh("echo 1 > a")
    for command in ("touch -d 2020-01-02 a", "cat a > x; touch -d 2019-01-02 a", "cat a > y"):
        project.run(command)
    assert [project.lineage(name)["gaps"] for name in ("x", "y")] == [[], []]


@pytest.mark.integration
def test_an_unobserved_change_before_the_time_is_set(project: Project) -> None:
    """A change without an observed writer is a gap, also where the time of the changed content was set afterwards."""
    project.sh("echo 1 > a")
    project.run("cat a > x")
    project.sh("echo changed > a")
    project.run("touch -d 2020-01-02 a; cat a > y")
    assert project.lineage("x")["gaps"] == []
    assert [gap["reason"].partition(",")[0] for gap in project.lineage("y")["gaps"]] == ["edited outside provio"]


@pytest.mark.integration
def test_a_read_by_the_number_of_its_system_call(project: Project) -> None:
    """A file read with syscall() is an ancestor like any other."""
    project.sh("echo 1 > a")
    code = "import ctypes, os, platform\nfd = os.open('a', os.O_RDONLY)\nroom = ctypes.create_string_buffer(9)\n"
    code += "number = {'x86_64': 0, 'aarch64': 63}[platform.machine()]\n"
    code += "ctypes.CDLL(None).syscall(number, fd, room, 9)\nopen('x', 'wb').write(room.value)\n"
    (project.path / "raw.py").write_text(code)
    project.watch("python3", "raw.py")
    assert project.data("x") == {"a"}
    assert project.lineage("x")["gaps"] == []


def test_an_unobserved_change_is_a_gap(project: Project) -> None:
    """Content without a recorded writer, in a file with one: lineage shows that, and the programs that ran unwatched
    then."""
    project.sh("echo 1 > a")
    project.provio("run", "--quiet", "--", "bash", "-c", "cat a > x; env -u LD_PRELOAD sh -c 'echo 2 >> x'; cat x > y")
    document = project.lineage("y")
    assert [gap["reason"][:7] for gap in document["gaps"]] == ["may hav"]


@pytest.mark.integration
def test_a_script_is_the_program_and_no_input(project: Project) -> None:
    """The script is the version of the program (its plan); a module of the project is an input."""
    project.sh("echo 1 > a; echo 'K = 2' > mine.py")
    (project.path / "job.py").write_text("import mine\nopen('x', 'w').write(open('a').read() * mine.K)\n")
    project.watch("python3", "-B", "job.py")
    document = project.lineage("x")
    assert {node["label"] for node in document["nodes"] if node["type"] == "Program"} == {"job.py"}
    assert project.data("x") == {"a", "mine.py"}
    plans = project.rows("SELECT ?path { ?a prov:hadPlan/prov:specializationOf/provio:path ?path }")
    assert str(project.path / "job.py") in {row["path"] for row in plans}
    assert document["hidden"] > 5


@pytest.mark.integration
def test_installed_software_is_noise(project: Project) -> None:
    """Files below a root in a variable of a module are counted and hidden, unless the command line names them."""
    software = project.path.parent / "software"
    software.mkdir()
    (software / "table").write_text("1\n")
    project.sh("echo 1 > a")
    (project.path / "job.py").write_text(f"open('x', 'w').write(open('a').read() + open('{software}/table').read())\n")
    project.watch("python3", "job.py")
    assert project.data("x") == {"a", "../software/table"}
    project.env["EBROOTTABLES"] = f"{software}/"
    project.watch("python3", "job.py")
    assert project.data("x") == {"a"}
    assert "../software/table" in project.data("x", "--all")


@pytest.mark.integration
def test_make_builds_come_from_their_sources(project: Project) -> None:
    """A small build by make and gcc: by data the binary comes from its C sources and headers, and nothing else."""
    project.sh("echo '#include \"h.h\"\nint main(void) { return N; }' > m.c; echo '#define N 0' > h.h")
    (project.path / "Makefile").write_text("m: m.o\n\tgcc -o m m.o\nm.o: m.c h.h\n\tgcc -c m.c\n")
    project.watch("make")
    found = project.ancestors("m")
    assert {"m.o", "m.c", "h.h"} <= found["data"]
    sources = {name for name in found["data"] if not name.startswith("..")}
    assert sources == {"m.o", "m.c", "h.h"}
