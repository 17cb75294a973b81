"""Files without an observed close: the shim's list of them, and their facts right after the run."""

from __future__ import annotations

import os
import re
import resource
import struct
import sys
import time

import pytest
from concurrent_runs import ended, tell
from conftest import Project

from provio.trace.run_source import UNCLOSED

LISTED = struct.Struct("<IIIIQQQ24x")  # an entry: docs/trace-format.md
KILLED = "kill -9 $$"
# Facts found right after the run: the names of files, as the program opened them.
SCRIPTS = {
    "echo 1 > out": [],
    "cat in > /dev/null": [],
    f"exec 3> out; echo 1 >&3; {KILLED}": ["out"],
    f"exec 3> $'\\xff'; echo 1 >&3; {KILLED}": ["\udcff"],
    f"exec 3>> 'a b;c'; exec 4<> ../project/d; {KILLED}": ["a b;c", "d"],
    f"exec 3> out; echo 1 >&3; exec 3>&-; exec 4< in; {KILLED}": [],
    f"exec 3> out; mv out other; {KILLED}": ["out"],  # its content is known, under the new name
    f"exec 3> out; mv out ' ; :to '; mv ' ; :to ' other; {KILLED}": ["out"],
    f"mkdir d; exec 3> d/out; mv d e; {KILLED}": [],  # merge finds it, as it knows the renamed folders
    f"exec 3> out; rm out; {KILLED}": [],
    f"exec 3> ' ; :inode 5'; {KILLED}": [" ; :inode 5"],
    f"exec 3> 'a\\b'; exec 4> 'c\"d'; exec 5> $'e\\nf'; {KILLED}": ["a\\b", 'c"d', "e\nf"],
}
OPENS = """
import os, resource, sys
count = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (count + 100, count + 100))
os.mkdir("many")
for number in range(count):
    os.write(os.open(f"many/{number}", os.O_CREAT | os.O_WRONLY), b"1")
os.kill(os.getpid(), 9)
"""
THREADS = """
import os, threading
def work(number):
    for again in range(300):
        files = [os.open(f"{number}.{one}", os.O_CREAT | os.O_WRONLY) for one in range(20)]
        for file in files:
            os.close(file)
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
children = [os.fork() for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for child in filter(None, children):
    os.waitpid(child, 0)
"""


# The first number in the list is that of its entries.
MISCOUNTS = """
import glob, os, struct
first = open("first", "w")
with open(glob.glob(".provio/runs/*/*/unclosed")[0], "r+b") as file:
    file.write(struct.pack("<I", 0xffffffff))
os.rename("first", "renamed")
files = [open(f"many{number}", "w") for number in range(200)]
print("done")
"""
SWAPS = """
import subprocess
files = [open(f"a{number}", "w") for number in range(10)]
subprocess.run("cp -a .provio copy && rm -rf .provio && mv copy .provio", shell=True, check=True)
files += [open(f"b{number}", "w") for number in range(200)]
print("done")
"""
# The first thread ends, and the second continues to write after the end of the command that started it.
SECOND = """
import ctypes, os, sys, threading, time
if os.fork():
    while not os.path.exists("begun"):
        time.sleep(0.01)
    os._exit(0)
nowhere = os.open("/dev/null", os.O_RDWR)
for descriptor in range(3):
    os.dup2(nowhere, descriptor)
out = os.open("out", os.O_CREAT | os.O_WRONLY)
os.write(out, b"first\\n")
def work():
    os.mkdir("begun")
    while not os.path.exists("go"):
        time.sleep(0.01)
    os.write(out, b"second\\n")
    os.kill(os.getpid(), 9)
threading.Thread(target=work).start()
ctypes.CDLL(None).syscall(60, 0)  # exit, of this thread alone
"""


def entries(project: Project) -> list[tuple[int, ...]]:
    """The used entries of the only run's list."""
    (path,) = project.path.glob(f".provio/runs/*/*/{UNCLOSED}")
    data = path.read_bytes()
    return [
        entry for entry in LISTED.iter_unpack(data[LISTED.size : len(data) // LISTED.size * LISTED.size]) if entry[0]
    ]


def settled(project: Project) -> list[str]:
    """The facts of the files of the only run, by their openings, in order."""
    found = [path.read_text() for path in project.path.glob(".provio/runs/*/*/settled.ttl")]
    lines = [line for text in found for line in text.splitlines() if ":settledMtimeNs" in line]
    return sorted(line.partition(" ; :resolvedPath")[0].removesuffix(" .") for line in lines)


def names(project: Project) -> list[str]:
    """The names of the files that are known."""
    found, text = [], b"".join(path.read_bytes() for path in project.trace_files())
    for line in settled(project):
        serial = line.partition(">")[0].rpartition("/")[2].encode()
        match = re.search(rb' <../%s> a :FileVersion ; :path(?:Encoded)? "((?:[^"\\]|\\.)*)"' % serial, text)
        assert match
        path = (
            match[1].replace(b"%FF", b"\xff").replace(b"\\u000A", b"\n").replace(b'\\"', b'"').replace(b"\\\\", b"\\")
        )
        found.append(os.path.basename(os.fsdecode(path)))
    return found


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.integration
def test_facts_right_after_a_run(project: Project, script: str) -> None:
    """Python has not examined the files yet: its facts of these files are the same, and it finds more files."""
    project.sh("echo 1 > in")
    project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", script, code=None)
    early = settled(project)
    assert names(project) == SCRIPTS[script]
    for path in project.path.glob(".provio/runs/*/*/settled.ttl"):
        path.unlink()
    project.provio("merge")
    assert set(early) <= set(settled(project))


def test_files_of_a_process_in_progress_are_left(project: Project) -> None:
    """It may write more: merge examines it after the end of that process."""
    project.sh("mkfifo go")
    child = "exec 3> out; echo $BASHPID > begun; read word < go; echo 2 >&3"
    script = f"({child}) > /dev/null 2>&1 & until test -s begun; do sleep 0.01; done"
    project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", script)
    assert "out" not in names(project)
    tell(project.path / "go", "go\n")
    ended(int((project.path / "begun").read_text()))
    project.provio("merge")
    assert "out" in names(project)


@pytest.mark.slow
def test_more_files_than_the_list_holds(project: Project) -> None:
    """The list is full, the program continues, and merge finds the rest."""
    count = 17_000
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < count + 100:
        pytest.skip(f"a process may not have {count:,} files open here (ulimit -Hn)")
    project.provio("run", "--quiet", "--no-merge", "--", sys.executable, "-c", OPENS, str(count), code=None)
    assert len(list((project.path / "many").iterdir())) == count
    assert len(entries(project)) == (1 << 20) // LISTED.size - 1
    assert len(settled(project)) == 10_000
    project.provio("merge")
    assert len(settled(project)) == count


@pytest.mark.integration
def test_threads_and_forks_that_open_and_close_at_once(project: Project) -> None:
    """Each entry is claimed by one of them, and all are free at the end."""
    project.provio("run", "--quiet", "--no-merge", "--", sys.executable, "-c", THREADS)
    assert entries(project) == []


def test_a_file_that_was_changed_before_anybody_looked(project: Project) -> None:
    """Its content is not that of the run: a gap states it."""
    project.provio("run", "--no-merge", "--", "bash", "-c", f"exec 3> out; echo 1 >&3; {KILLED}", code=None)
    for path in project.path.glob(".provio/runs/*/*/settled.ttl"):  # as if the end of the run had been killed, too
        path.unlink()
    (project.path / "out").write_text("2\n")
    os.utime(project.path / "out", (time.time() + 1, time.time() + 1))
    reasons = [row["reason"] for row in project.rows("SELECT ?reason { ?gap a provio:Gap ; provio:reason ?reason }")]
    assert [reason for reason in reasons if "was changed after the run" in reason]
    answer = project.provio("lineage", "out", code=None)
    assert answer.returncode == 3 and "the content of" in answer.stderr
    assert "was changed after the run, before what the run left in it was looked at" in answer.stderr


def test_there_is_no_room_for_the_list(project: Project) -> None:
    """Under a limit of the size of files that allows a trace, but not the list, programs run as usual."""
    script = "ulimit -f 4; exec 3> out; echo 1 >&3; exec 3>&-; echo done"
    assert project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", script).stdout == "done\n"
    (place,) = project.path.glob(".provio/runs/*/*/")
    assert not (place / UNCLOSED).exists() or (place / UNCLOSED).stat().st_size <= 4096


def test_a_list_that_is_damaged_harms_nothing(project: Project) -> None:
    """The waiter reads it as data: an entry that leads to no block is left to merge."""
    damage = "cd .provio/runs/*/*/; head -c 200000 /dev/urandom > x; cat x > unclosed; rm x"
    done = project.provio(
        "run", "--no-merge", "--", "bash", "-c", f"exec 3> out; echo 1 >&3; ({damage}); exit 3", code=3
    )
    assert "pending" in done.stderr
    assert project.data("out") == set()


def test_a_list_with_a_wrong_number_of_entries_harms_no_program(project: Project) -> None:
    """A program that has the list mapped does not read beyond its file."""
    assert project.provio("run", "--quiet", "--no-merge", "--", sys.executable, "-c", MISCOUNTS).stdout == "done\n"


def test_a_record_that_is_replaced_while_a_program_runs(project: Project) -> None:
    """The mapped list is not the file of that name any more: the program continues without more entries."""
    assert project.provio("run", "--quiet", "--no-merge", "--", sys.executable, "-c", SWAPS).stdout == "done\n"


@pytest.mark.integration
def test_a_process_whose_first_thread_has_ended_is_alive(project: Project) -> None:
    """Its open files are examined when all of its processes have ended."""
    if os.uname().machine != "x86_64":
        pytest.skip("the number of the system call that ends a thread is that of x86-64")
    project.provio("run", "--quiet", "--no-merge", "--", sys.executable, "-c", SECOND)
    assert names(project) == []
    (project.path / "go").touch()
    deadline = time.monotonic() + 60
    while (project.path / "out").read_text() != "first\nsecond\n":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.1)
    assert "13 B" in project.provio("lineage", "out").stdout


def test_a_fork_that_closes_leaves_the_parents_entry(project: Project) -> None:
    """The parent still has it open when it is killed."""
    script = "exec 3> out; (exec 3>&-; true); echo 1 >&3; kill -9 $$"
    project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", script, code=None)
    assert names(project) == ["out"]
    assert ":settledSize 2" in settled(project)[0]
