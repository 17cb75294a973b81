"""Lineage that is true: real commands, and the exact set of files each product comes from, by data and carried."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import Project

PYTHON_TWO_PHASES = """
import sys
text = open("a").read()
open("x", "w").write(text.upper())
more = open("b").read()
open("y", "w").write(more.upper())
"""

FORK = """
import os
a = open("a").read()
child = os.fork()
if child == 0:
    {child}
    os._exit(0)
os.waitpid(child, 0)
{parent}
"""

WORKER = """
for number in range(1, 11):
    text = open(f"in{number}").read()
    with open(f"out{number}", "w") as out:
        out.write(text * 2)
"""


def both(data: str = "", carried: str = "") -> dict[str, set[str]]:
    return {"data": set(data.split()), "carried": set(carried.split())}


def test_a_pipe_carries_lineage(project: Project) -> None:
    """`tar | gzip > x` ties x to what tar read."""
    project.sh("mkdir d; echo 1 > d/one; echo 2 > d/two; echo 3 > other")
    project.run("cat other > /dev/null; tar cf - d | gzip > x.tgz")
    found = project.ancestors("x.tgz")
    assert found["data"] == {"d/one", "d/two"}
    assert found["carried"] == set()


def test_two_phases_of_one_process(project: Project) -> None:
    """r(a) w(x) r(b) w(y): x comes from a; y from b, and from a only by the earlier phase; never x from b."""
    project.sh("echo 1 > a; echo 2 > b")
    (project.path / "two.py").write_text(PYTHON_TWO_PHASES)
    project.watch("python3", "two.py")
    x, y = project.ancestors("x"), project.ancestors("y")
    assert (x["data"], x["carried"]) == ({"a"}, set())
    assert (y["data"], y["carried"]) == ({"b"}, {"a"})


@pytest.mark.parametrize(
    ("child", "parent", "expected"),
    [
        ('open("x", "w").write(a)', "", both(carried="a")),
        ('open("x", "w").write(a + open("b").read())', "", both(data="b", carried="a")),
    ],
)
def test_fork_carries_what_the_parent_had_read(
    project: Project, child: str, parent: str, expected: dict[str, set[str]]
) -> None:
    """A child has what its parent read before the fork."""
    project.sh("echo 1 > a; echo 2 > b")
    (project.path / "fork.py").write_text(FORK.format(child=child, parent=parent))
    project.watch("python3", "fork.py")
    found = project.ancestors("x")
    assert {"data": found["data"], "carried": found["carried"]} == expected


def test_a_child_has_nothing_of_what_its_parent_reads_later(project: Project) -> None:
    """Fork, then the parent reads b and goes on: the child's output does not come from b."""
    project.sh("echo 1 > a; echo 2 > b")
    body = 'import time; time.sleep(0.2); open("x", "w").write(a)'
    code = FORK.format(child=body, parent="").replace("os.waitpid", 'open("b").read(); os.waitpid', 1)
    (project.path / "fork.py").write_text(code)
    project.watch("python3", "fork.py")
    found = project.ancestors("x")
    assert (found["data"], found["carried"]) == (set(), {"a"})


def test_a_parent_keeps_its_inputs_over_a_fork(project: Project) -> None:
    """r(a), a child is forked, r(b), w(x): x comes from a and b, both by data, for nothing was written between."""
    project.sh("echo 1 > a; echo 2 > b")
    code = FORK.format(child="pass", parent='open("x", "w").write(a + open("b").read())')
    (project.path / "fork.py").write_text(code)
    project.watch("python3", "fork.py")
    found = project.ancestors("x")
    assert (found["data"], found["carried"]) == ({"a", "b"}, set())


def test_a_later_reader_is_no_ancestor(project: Project) -> None:
    """A program that read x after it was made is no part of where x came from; it is of what x was made into."""
    project.sh("echo 1 > a; echo 2 > b")
    project.watch("cp", "a", "x")
    project.run("cat x b > y")
    document = project.lineage("x")
    assert {node["label"] for node in document["nodes"] if node["type"] == "Program"} == {"cp"}
    assert project.data("x") == {"a"}
    assert project.data("a", "--forward") == {"x", "y"}
    assert project.data("b", "--forward") == {"y"}


def test_a_long_lived_worker_by_data_has_its_own_input_alone(project: Project) -> None:
    """out_k comes from in_k by data, from in_1 … in_k−1 carried, and never from a later one."""
    project.sh("for k in 1 2 3 4 5 6 7 8 9 10; do echo $k > in$k; done")
    (project.path / "worker.py").write_text(WORKER)
    project.watch("python3", "worker.py")
    for number in (1, 5, 10):
        found = project.ancestors(f"out{number}")
        assert found["data"] == {f"in{number}"}
        assert found["carried"] == {f"in{k}" for k in range(1, number)}


def test_redirections_belong_to_the_child_that_used_them(project: Project) -> None:
    """`cat <f >g` in a shell: g comes from f, and nothing else; the shell is control."""
    project.sh("echo 1 > f; echo 2 > unrelated")
    project.run("cat unrelated >/dev/null; cat <f >g")
    found = project.ancestors("g")
    assert (found["data"], found["carried"]) == ({"f"}, set())


def test_what_a_program_feeds_to_a_child_is_data(project: Project) -> None:
    """A file that was opened for the child's output is no finished output of the parent's."""
    project.sh("echo 1 > a")
    code = (
        "import subprocess as s\nd = open('a', 'rb').read()\ns.run(['tr', '1', '2'], input=d, stdout=open('x', 'wb'))\n"
    )
    (project.path / "feed.py").write_text(code)
    project.watch("python3", "feed.py")
    assert project.data("x") == {"a"}


def test_a_read_that_nobody_saw_is_a_gap(project: Project) -> None:
    """A file opened for reading and read by a function private to the C library: no ancestor is guessed, but a gap is
    named."""
    project.sh("echo 1 > a")
    code = "import ctypes, os\nfd = os.open('a', os.O_RDONLY)\nroom = ctypes.create_string_buffer(9)\n"
    code += "ctypes.CDLL(None).__read_nocancel(fd, room, 9)\nopen('x', 'wb').write(room.value)\n"
    (project.path / "raw.py").write_text(code)
    project.watch("python3", "raw.py")
    assert ["a was opened" in gap["reason"] for gap in project.lineage("x")["gaps"]] == [True]


def test_a_read_by_the_number_of_its_system_call(project: Project) -> None:
    """What syscall() reads is an ancestor like any other."""
    project.sh("echo 1 > a")
    code = "import ctypes, os, platform\nfd = os.open('a', os.O_RDONLY)\nroom = ctypes.create_string_buffer(9)\n"
    code += "number = {'x86_64': 0, 'aarch64': 63}[platform.machine()]\n"
    code += "ctypes.CDLL(None).syscall(number, fd, room, 9)\nopen('x', 'wb').write(room.value)\n"
    (project.path / "raw.py").write_text(code)
    project.watch("python3", "raw.py")
    assert project.data("x") == {"a"}
    assert project.lineage("x")["gaps"] == []


def test_a_change_that_nobody_saw_is_a_gap(project: Project) -> None:
    """Content that no recorded writer made, of a file that one wrote: lineage says so, and what ran unwatched then."""
    project.sh("echo 1 > a")
    project.provio("run", "--quiet", "--", "bash", "-c", "cat a > x; env -u LD_PRELOAD sh -c 'echo 2 >> x'; cat x > y")
    document = project.lineage("y")
    assert [gap["reason"][:7] for gap in document["gaps"]] == ["may hav"]


SETTING_TIMES = {
    "copy2": 'python3 -c \'import shutil; shutil.copy2("a", "x"); shutil.move("x", "y")\'',
    "cp -p": "cp -p a y",
    "touch": "cat a > y; touch y",
    "touch -d": "cat a > y; touch -d 2001-01-01 y",
    "tar x": "tar cf t.tar a; rm -f a; tar xf t.tar; mv a y",
}


@pytest.mark.parametrize("how", sorted(SETTING_TIMES))
@pytest.mark.slow
def test_setting_times_keeps_the_content(project: Project, how: str) -> None:
    """The key changes with the mtime, the content does not: lineage follows it, also from a later run."""
    project.sh("echo 1 > a; touch -d 2002-02-02 a")
    project.run(SETTING_TIMES[how])
    project.watch("cp", "y", "z")
    assert "a" in project.data("z")
    assert not project.lineage("z")["gaps"]


def test_rsync_is_a_copy(project: Project, needs: Callable[..., None]) -> None:
    """rsync writes a temporary file, sets its times, renames it; its two ends talk by sockets: a gap, if no more."""
    needs("rsync")
    project.sh("mkdir d; echo 1 > d/a; touch -d 2002-02-02 d/a")
    project.watch("rsync", "-a", "d/", "e/")
    assert "d/a" in project.data("e/a") or project.lineage("e/a")["gaps"]


def test_a_script_is_the_program_and_no_input(project: Project) -> None:
    """The interpreter's script is the program's version (its plan), a module of the project is an input."""
    project.sh("echo 1 > a; echo 'K = 2' > mine.py")
    (project.path / "job.py").write_text("import mine\nopen('x', 'w').write(open('a').read() * mine.K)\n")
    project.watch("python3", "-B", "job.py")
    document = project.lineage("x")
    assert {node["label"] for node in document["nodes"] if node["type"] == "Program"} == {"job.py"}
    assert project.data("x") == {"a", "mine.py"}
    plans = project.rows("SELECT ?path { ?a prov:hadPlan/prov:specializationOf/provio:path ?path }")
    assert str(project.path / "job.py") in {row["path"] for row in plans}
    assert document["hidden"] > 5


def test_installed_software_is_noise(project: Project) -> None:
    """What lies below a root that a module's variable names is counted and hidden, unless the command line names it."""
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


def test_make_builds_come_from_their_sources(project: Project) -> None:
    """A small build by make and gcc: the binary comes from its C sources and headers, and nothing else by data."""
    project.sh("echo '#include \"h.h\"\nint main(void) { return N; }' > m.c; echo '#define N 0' > h.h")
    (project.path / "Makefile").write_text("m: m.o\n\tgcc -o m m.o\nm.o: m.c h.h\n\tgcc -c m.c\n")
    project.watch("make")
    found = project.ancestors("m")
    assert {"m.o", "m.c", "h.h"} <= found["data"]
    sources = {name for name in found["data"] if not name.startswith("..")}
    assert sources == {"m.o", "m.c", "h.h"}
