"""The POSIX interceptor: every call recorded, every file valid at every instant, no program disturbed."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import killed_writes
import pytest
import rdflib
from posix_trace import Count, Trace, assert_held, counts, name_of, of_class, parsed, unquote_to_bytes

# ---- recorded calls


@pytest.mark.parametrize("program", ["families", "alternative_names", "metadata", "maps", "aio"])
def test_each_family_with_right_names_and_bytes(built: Path, trace: Trace, work: Path, program: str) -> None:
    """Every function of every family is recorded with its file, its calls and its bytes."""
    trace.detail = "op,stat,list"
    printed = trace.run(built / program, work, check=True).stdout.decode().splitlines()
    assert_held(printed, trace.facts(), work)


@pytest.mark.slow
def test_maps_are_followed_to_their_end(built: Path, trace: Trace, work: Path) -> None:
    """A shared writable map ends once, with its last part: moved, doubled, cut in pieces, mapped over, one of many."""
    printed = trace.run(built / "maps", work, check=True).stdout.decode().splitlines()
    facts = trace.facts()
    made = {iri: name_of(facts[one["object"]]) for iri, one in of_class(facts, "Map").items()}
    ended = list(of_class(facts, "Unmap").values())
    last = {line.split()[1]: line.split()[2:] for line in printed if line.startswith("U ")}
    for file, (maps, ends) in last.items():
        path = os.fsencode(work / file)
        assert list(made.values()).count(path) == int(maps), file
        assert [made[one["map"]] for one in ended].count(path) == int(ends), file
    (thread,) = of_class(facts, "Thread").values()
    for file in ("moved", "doubled", "cut"):
        (between,) = [one for one in facts.values() if name_of(one) == os.fsencode(work / f"{file}.between")]
        (end,) = [one for one in ended if made[one["map"]] == os.fsencode(work / file)]
        assert int(thread["epochNs"]) + int(end["at"]) > int(between["openedNs"])
        assert int(end["mtimeNs"]) == (work / file).stat().st_mtime_ns


def test_stat_and_list_are_recorded_on_request(built: Path, trace: Trace, work: Path) -> None:
    """Without `stat` and `list` neither leaves a fact; changes of metadata do, with the new values."""
    trace.run(built / "metadata", work, check=True)
    facts = trace.facts()
    assert not of_class(facts, "Stat", "List")
    assert not [one for one in facts.values() if one.get("operation") == "List"]
    modes = [one["mode"] for one in of_class(facts, "SetMode").values() if one["api"] in ("chmod", "fchmod")]
    assert modes == [str(0o640), str(0o600)]
    owners = {one["api"]: one for one in of_class(facts, "SetOwner").values()}
    assert "owner" not in owners["chown"] and "ownerGroup" not in owners["chown"]
    assert owners["fchown"]["owner"] == str(os.getuid()) and "ownerGroup" not in owners["fchown"]
    assert owners["fchownat"]["ownerGroup"] == str(os.getgid())
    attributes = [one["attribute"] for one in of_class(facts, "SetAttribute").values()]
    assert attributes in ([], ["user.a", "user.b", "user.c", "user.a", "user.b", "user.c"])
    got = [one["attribute"] for one in of_class(facts, "GetAttribute").values()]
    assert got == (["user.c"] * 3 if attributes else [])


def test_times_of_an_access(trace: Trace, work: Path) -> None:
    """First and last calls, openings and closings are in order, within the program's own time."""
    started = time.time_ns()
    (work / "in").write_text("hello\n")
    code = "import os,time; f=os.open('in',0); os.read(f,3); time.sleep(.05); os.read(f,3); os.close(f)"
    trace.run(sys.executable, "-c", code, cwd=work, check=True)
    facts = trace.facts()
    (opened,) = [iri for iri, one in facts.items() if name_of(one) == os.fsencode(work / "in")]
    (access,) = [one for one in facts.values() if one.get("object") == opened]
    (thread,) = of_class(facts, "Thread").values()
    epoch = int(thread["epochNs"])
    first, last, closed = (int(access[name]) for name in ("firstRead", "lastRead", "closed"))
    assert started < int(facts[opened]["openedNs"]) <= epoch + first < epoch + last < epoch + closed < time.time_ns()
    assert 50_000_000 <= last - first < time.time_ns() - started
    assert (access["reads"], access["readBytes"]) == ("2", "6")
    assert 0 < int(access["readElapsed"]) <= last - first - 50_000_000  # it slept between the two


@pytest.mark.parametrize("clock", ["tsc", "sys"])
def test_clocks_agree_with_the_system(trace: Trace, work: Path, clock: str) -> None:
    """After some time of use, recorded times differ from those of the system's clock by less than a tenth of a
    millisecond."""
    if clock == "tsc" and trace.clock != "tsc":
        pytest.skip("the kernel does not trust the counter here")
    trace.clock = clock
    code = """
import os, time
f = os.open('out', os.O_CREAT | os.O_WRONLY)
end = time.time() + .3
while time.time() < end: os.write(f, b'x')
before = time.time_ns(); os.write(f, b'x'); after = time.time_ns()
print(before, after)
"""
    printed = trace.run(sys.executable, "-c", code, cwd=work, check=True).stdout.split()
    facts = trace.facts()
    (thread,) = of_class(facts, "Thread").values()
    (access,) = [
        one
        for one in facts.values()
        if one.get("writes", "0").strip("0") and name_of(facts[one["object"]]).endswith(b"/out")
    ]
    last = int(thread["epochNs"]) + int(access["lastWrite"])
    assert int(printed[0]) - 100_000 <= last <= int(printed[1]) + 100_000


def test_an_overwritten_file_has_the_facts_of_its_end(trace: Trace, work: Path) -> None:
    """The facts of a written file at its last close are those of a later stat, by descriptor and by stream."""
    code = "import os; f=os.open('a',65,0o644); os.write(f,b'12345'); os.close(f)"
    trace.run(sys.executable, "-c", code, cwd=work, check=True)
    trace.run("sort", "-o", "b", "a", cwd=work, check=True)
    closed = {name_of(one): one for one in trace.facts().values() if "closedMtimeNs" in one}
    for name in ("a", "b"):
        now = (work / name).stat()
        found = closed[os.fsencode(work / name)]
        assert (int(found["closedMtimeNs"]), int(found["closedSize"])) == (now.st_mtime_ns, now.st_size)
        assert (int(found["inode"]), found["closedLinks"]) == (now.st_ino, "1")


def test_provio_own_files_and_terminals_are_not_recorded(trace: Trace, work: Path) -> None:
    """Files below the home of provio leave no trace."""
    (trace.home / "config").write_text("x\n")
    trace.run("cat", trace.home / "config", "/etc/hostname", cwd=work, check=True)
    assert not [one for one in trace.facts().values() if name_of(one).startswith(os.fsencode(trace.home))]


HOSTILE = [
    b"with space",
    b'quo"te',
    b"back\\slash",
    b"new\nline",
    b"<angle>",
    b"100%",
    b"#hash",
    b"\x01\x7f",
    b"\xff\xfe",
    "naïve ☃".encode(),
    b"\xed\xa0\x80",
    b"a;b",
    b"%41",
]


def test_hostile_names(trace: Trace, work: Path) -> None:
    """Names of any bytes survive the round trip, in openings, renames and arguments."""
    code = """
import os, sys
for name in sys.argv[1:]:
    name = os.fsencode(name)
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
    os.rename(name, name + b'.new')
"""
    trace.run(sys.executable, "-c", code, *HOSTILE, cwd=work, check=True)
    facts = trace.facts()
    opened = {name_of(one) for one in of_class(facts, "FileVersion").values()}
    moved = {(name_of(one, "from"), name_of(one, "to")) for one in of_class(facts, "Rename").values()}
    base = os.fsencode(work) + b"/"
    assert opened >= {base + name for name in HOSTILE}
    assert moved >= {(base + name, base + name + b".new") for name in HOSTILE}
    (process,) = of_class(facts, "Process").values()
    assert [unquote_to_bytes(word) for word in process["argv"].split(" ")][-len(HOSTILE) :] == HOSTILE


def test_long_path(trace: Trace, work: Path) -> None:
    """A path of 4,095 bytes is recorded in full, though no single call could take its absolute form."""
    part, most = "d" * 199, 4095  # PATH_MAX without the zero at the end
    depth = (most - len(os.fsencode(work)) - 2) // 200
    leaf = "l" * (most - len(os.fsencode(work)) - depth * 200 - 1)
    code = f"""
import os
for i in range({depth}):
    os.mkdir({part!r}); os.chdir({part!r})
os.close(os.open({leaf!r}, os.O_CREAT | os.O_WRONLY))
"""
    trace.run(sys.executable, "-c", code, cwd=work, check=True)
    expected = os.fsencode(work) + b"".join(b"/" + part.encode() for _ in range(depth)) + b"/" + leaf.encode()
    assert len(expected) == most
    found = {name_of(one) for one in trace.facts().values()}
    assert expected in found
    subprocess.run(["rm", "-rf", work], check=True)


def test_folders_are_recorded_relative_to_their_descriptor(trace: Trace, work: Path) -> None:
    """`openat` below a descriptor of unknown origin and after chdir names the right file."""
    (work / "sub").mkdir()
    code = """
import os
d = os.open('sub', os.O_RDONLY)
os.close(os.open('x', os.O_CREAT | os.O_WRONLY, dir_fd=d))
os.chdir('sub'); os.close(os.open('./y', os.O_CREAT | os.O_WRONLY)); os.chdir('..')
os.close(os.open('sub//../z', os.O_CREAT | os.O_WRONLY))
"""
    trace.run(sys.executable, "-c", code, cwd=work, check=True)
    found = {name_of(one) for one in trace.facts().values()}
    assert {os.fsencode(work / name) for name in ("sub/x", "sub/y", "sub/../z")} <= found


# ---- valid at every instant


@pytest.mark.integration
@pytest.mark.parametrize("before", [0, 1000])
def test_nothing_is_lost_by_a_kill(built: Path, trace: Trace, work: Path, before: int) -> None:
    """After SIGKILL at any instruction of a write, the count is that of the writes in the file, or one less."""

    def command(*words: str) -> int:
        return trace.run(built / "killed", *words).returncode

    assert killed_writes.states(trace, work / "out", command, 5 if before else 17, before) == killed_writes.ALL


def _readers() -> list[list[str]]:
    commands = (
        ["serdi", "-q", "-i", "turtle", "-"],
        ["rapper", "-q", "-i", "turtle", "-o", "ntriples", "-", "http://x/"],
    )
    return [command for command in commands if shutil.which(command[0])]


@pytest.mark.integration
@pytest.mark.parametrize("turn", [0, 20])
def test_files_of_a_killed_program_are_valid(built: Path, trace: Trace, work: Path, turn: int) -> None:
    """Threads with odd names of files, killed at steps of one thread: each reader parses the files."""
    for step in (0, 200, 800, 3200) if killed_writes.COUNTED else (0,):
        done = trace.run(built / "busy", work, "4", str(turn), str(step))
        assert done.returncode == -signal.SIGKILL
        assert trace.files() or turn == 0
        for file in trace.files():
            data = file.read_bytes()
            list(parsed(data))
            rdflib.Graph().parse(data=data, format="turtle", publicID="http://x/")
            for command in _readers():
                subprocess.run(command, input=data, check=True, stdout=subprocess.DEVNULL)
        trace.clear()


def test_four_threads(built: Path, trace: Trace, work: Path) -> None:
    """Each thread counts its own calls; the sum is complete."""
    trace.run(built / "threads", work, "4", "1000", check=True)
    facts = trace.facts()
    found = {c.path: c for c in counts(facts) if c.side == "W" and c.api == "write"}
    for i in range(4):
        one = found[os.fsencode(work / f"out{i}")]
        assert (one.count, one.size) == (1000, 64000)
    assert found[os.fsencode(work / "shared")].count == 4000
    assert len(of_class(facts, "Thread")) == 5
    assert 2 <= len(trace.files()) <= 5  # a thread may reuse the file of one that ended


@pytest.mark.integration
def test_short_threads_hand_their_files_on(built: Path, trace: Trace, work: Path) -> None:
    """300 threads, one after the other, that open a file each leave two files and 300 threads' records."""
    trace.run(built / "threads", work, "-300", "1", check=True)
    facts = trace.facts()
    assert len(trace.files()) <= 3
    assert len(of_class(facts, "Thread")) == 301
    assert sum(c.count for c in counts(facts) if c.api == "write" and b"/out" in c.path) == 300


@pytest.mark.integration
def test_a_handler_that_writes_loses_nothing(built: Path, trace: Trace, work: Path) -> None:
    """A signal handler writes, opens and closes while the main program does the same."""
    printed = trace.run(built / "handler", work, check=True).stdout.split()
    facts = trace.facts()
    found = {c.path: c.count for c in counts(facts) if c.api == "write"}
    assert found[os.fsencode(work / "main")] == int(printed[0])
    assert found[os.fsencode(work / "handler")] == int(printed[1])
    assert sum(1 for one in facts.values() if name_of(one) == os.fsencode(work / "opened")) == int(printed[2])


# ---- processes


def _one(facts: dict[str, dict[str, str]], kind: str) -> dict[str, str]:
    (found,) = of_class(facts, kind).values()
    return found


def test_fork_and_exit(trace: Trace, work: Path) -> None:
    """A forked child that writes and ends by _exit has its own file; its parent records its name."""
    code = """
import os
f = os.open('out', os.O_CREAT | os.O_WRONLY); os.write(f, b'p')
pid = os.fork()
if pid == 0:
    os.write(f, b'cc'); os.write(f, b'cc'); os._exit(3)
os.waitpid(pid, 0); print(pid)
"""
    pid = trace.run(sys.executable, "-c", code, cwd=work, check=True).stdout.strip().decode()
    facts = trace.facts()
    images = {one["pid"]: one for one in of_class(facts, "Process").values()}
    fork = _one(facts, "Fork")
    end = _one(facts, "ChildEnd")
    assert (fork["childPid"], end["childPid"], end["exitCode"]) == (pid, pid, "3")
    assert images[pid]["image"] == "fork"
    assert images[pid]["parentPid"] in images
    assert fork["childTick"] == images[pid]["startTick"]
    children = [one for iri, one in facts.items() if f"/{pid}." in iri and "writes" in one]
    assert sum(int(one["writes"]) for one in children) == 2
    inherited = [one for iri, one in facts.items() if f"/{pid}." in iri and name_of(one) == os.fsencode(work / "out")]
    assert inherited[0]["inherited"] == "true"


def test_starts_of_many_children(trace: Trace, work: Path) -> None:
    """From the second child on, children are named without reading /proc: by the start tick that the child notes."""
    code = """
import os
for i in range(20):
    if os.fork() == 0:
        line = open("/proc/self/stat").read()
        os.write(1, f"{os.getpid()} {line.rpartition(')')[2].split()[19]} {os.getppid()}\\n".encode())
        os._exit(0)
    os.wait()
"""
    with (work / "children").open("wb") as children:
        trace.run(sys.executable, "-c", code, cwd=work, check=True, capture_output=False, stdout=children)
    facts = trace.facts()
    expected = sorted(line.split() for line in (work / "children").read_text().splitlines())
    forks = of_class(facts, "Fork").values()
    images = [one for one in of_class(facts, "Process").values() if one["image"] == "fork"]
    assert len(expected) == 20
    assert sorted([one["childPid"], one["childTick"]] for one in forks) == [child[:2] for child in expected]
    assert sorted([one["pid"], one["startTick"], one["parentPid"]] for one in images) == expected
    assert {one["executable"] for one in images} == {os.path.realpath(sys.executable)}


@pytest.mark.parametrize("closed", [[], ["1000000"]], ids=["", "all-closed"])
def test_a_child_of_vfork_with_many_files(built: Path, trace: Trace, work: Path, closed: list[str]) -> None:
    """Each of its writes is recorded as its own, on more descriptors than one part of its table holds; it may close all
    possible descriptors before, in proportional time."""
    # 60 s is a hundred times more than is needed; each close would otherwise search all earlier ones
    limited = ["/bin/sh", "-c", 'ulimit -t 60; exec "$@"', "-"]
    trace.run(*limited, built / "vfork_files", "200", *closed, cwd=work, check=True)
    facts = trace.facts()
    assert {count for count in counts(facts) if count.side == "W"} == {
        Count("W", "write", os.fsencode(work / f"{number:03}"), 1, 1) for number in range(200)
    }
    writers = {iri.split("/")[-3].split(".")[-1] for iri, one in facts.items() if "writeApi" in one}
    assert writers == {"v"}


def test_vfork_and_exec(trace: Trace, work: Path) -> None:
    """A child of vfork writes under its own name into its parent's file; the parent continues under its own name."""
    code = (
        "import subprocess as s; s.run(['/bin/cat','in'],stdout=open('out','wb'),check=True); open('after','w').close()"
    )
    (work / "in").write_text("text\n")
    trace.run(sys.executable, "-c", code, cwd=work, check=True)
    facts = trace.facts()
    fork = next(one for one in of_class(facts, "Fork", "Spawn").values())
    execs = {iri: one for iri, one in of_class(facts, "Exec").items() if one["executable"] == "/bin/cat"}
    assert len(execs) == 1
    (iri,) = execs
    assert f"/{fork['childPid']}.{fork['childTick']}.v/" in iri
    assert of_class(facts, "Process")[iri.rsplit("/", 2)[0] + "/"]["pid"] == fork["childPid"]
    after = [iri for iri, one in facts.items() if name_of(one) == os.fsencode(work / "after") and "openApi" in one]
    assert len(after) == 1
    assert ".v/" not in after[0]
    assert any(c.path == os.fsencode(work / "out") and c.size == 5 for c in counts(facts))


def test_posix_spawn(built: Path, trace: Trace, work: Path) -> None:
    """A spawned child is named, with its start and its command."""
    code = "import os; p=os.posix_spawn('/bin/cat',['cat','/etc/hostname'],os.environ); os.waitpid(p,0)"
    trace.run(sys.executable, "-c", code, cwd=work, check=True)
    facts = trace.facts()
    spawn = _one(facts, "Spawn")
    assert (spawn["executable"], spawn["argv"]) == ("/bin/cat", "cat /etc/hostname")
    assert spawn["childPid"] == _one(facts, "ChildEnd")["childPid"]
    assert {one["pid"] for one in of_class(facts, "Process").values()} >= {spawn["childPid"]}


def test_execl_passes_its_arguments(built: Path, trace: Trace, work: Path) -> None:
    """Five arguments and an environment are passed unchanged; a failed exec is recorded."""
    printed = trace.run(built / "exec_list", work, check=True).stdout
    assert printed == b"ONE TWO THREE\n"
    facts = trace.facts()
    failed = _one(facts, "ExecFailed")
    assert failed["errno"] == "2"
    assert facts[failed["exec"]]["executable"] == "/does/not/exist"
    assert "echo ONE TWO THREE" in {one["argv"] for one in of_class(facts, "Exec").values()}


def test_pipes_join_their_ends(trace: Trace, work: Path) -> None:
    """Both ends of a pipe have the same inode, which joins writer and reader."""
    trace.run("sh", "-c", "cat /etc/hostname | sort >out", cwd=work, check=True)
    facts = trace.facts()
    pipes = {iri: one["inode"] for iri, one in of_class(facts, "Pipe").items()}
    writers = {
        pipes[one["object"]]
        for one in facts.values()
        if one.get("object") in pipes and int(one.get("writes", one.get("count", "0")))
    }
    readers = {
        pipes[one["object"]] for one in facts.values() if one.get("object") in pipes and int(one.get("reads", "0"))
    }
    assert writers & readers


def test_turns_between_reading_and_writing(trace: Trace, work: Path) -> None:
    """If a process reads a pipe, writes, and reads the pipe again, or the reverse, a turn is recorded; a read of a file
    ends at its end, and continues after the file has grown."""
    code = """
import os
down, up = os.pipe()
log = os.open("log", os.O_CREAT | os.O_RDWR)
tail = os.open("log", os.O_RDONLY)
for part in (b"1", b"22", b"333"):
    os.write(up, part); os.write(up, part)
    os.read(down, 2 * len(part))
    os.write(log, part)
    while os.read(tail, 4): pass
"""
    trace.run("python3", "-c", code, cwd=work, check=True)
    facts = trace.facts()
    found: dict[str, list[int]] = {}
    for iri, turn in of_class(facts, "Turn").items():
        access, side, number = iri.rsplit("/", 2)
        kind = facts[facts[access]["object"]]["type"]
        assert int(turn["last"]) < int(turn["first"])
        found.setdefault(f"{kind} {side}", []).append(int(turn["bytes"]))
        assert number == str(len(found[f"{kind} {side}"]))
    assert found == {"Pipe write": [2, 6], "Pipe read": [2, 6], "FileVersion read": [1, 3, 3, 6]}


def test_a_framework_s_messages_have_no_turns(trace: Trace, work: Path) -> None:
    """Outside of Tasks, on the sockets of the thread that carries them; its pipes, its Tasks and the other threads have
    turns."""
    code = """
import ctypes, os, socket, threading
recorder = ctypes.PyDLL(None)
recorder.provio_task_in.restype = ctypes.c_uint64
recorder.provio_task_out.argtypes = ctypes.c_uint64, ctypes.c_uint64, ctypes.c_char_p
def talk():
    pair = socket.socketpair()
    for down, up in (os.pipe(), [one.detach() for one in pair]):
        for _ in range(5):
            os.write(up, b"x"); os.read(down, 1)
def carry():
    recorder.provio_messages()
    talk()
    task = recorder.provio_task_in(b"inside", b"dask")
    talk()
    recorder.provio_task_out(task, 0, b"ok")
thread = threading.Thread(target=carry)
thread.start(); thread.join()
talk()
"""
    trace.run("python3", "-c", code, cwd=work, check=True)
    facts = trace.facts()
    turns = Counter[tuple[str, bool]]()
    for iri in of_class(facts, "Turn"):
        access = facts[iri.rsplit("/", 2)[0]]
        turns[facts[access["object"]]["type"], "task" in access] += 1
    of_pair = 2 * 4  # two ends
    assert turns == {
        ("Pipe", False): 2 * of_pair, ("Pipe", True): of_pair, ("Socket", False): of_pair, ("Socket", True): of_pair,
    }  # fmt: skip


def test_fork_while_others_write(built: Path, trace: Trace, work: Path) -> None:
    """A fork in one thread while others do I/O does not hang, and no child writes into its parent's file."""
    printed = trace.run(built / "fork_storm", work, "100", check=True).stdout.split()
    facts = trace.facts()
    parent = sum(
        c.count
        for c in counts({k: v for k, v in facts.items() if f"/{printed[0].decode()}." in k})
        if c.api == "write" and b"/t" in c.path
    )
    assert parent == int(printed[1])
    children = sum(c.count for c in counts(facts) if c.path.startswith(os.fsencode(work / "c")))
    assert children == 100


# ---- the program is not disturbed

SAME = [
    "ls -lR /usr/share/doc | sort | gzip -n",
    "tar cf - -C /usr/share/doc bash | cksum",
    "cp -r /usr/share/doc/bash copy && ls copy && cat copy/* | cksum",
    f"{sys.executable} -c 'import sys, json; print(json.dumps(sys.argv)); sys.exit(4)' a b",
    "bash -c 'for i in 1 2 3; do echo $i; done | tac | tee t | wc -l; cat <(echo x) <<< y; exit 7'",
    "cat missing; echo $?",
    "dd if=/etc/services of=o bs=100 count=30 2>/dev/null; cksum o",
    "find /usr/share/doc/bash -type f | xargs cksum | sort",
    "sh -c 'kill -TERM $$'",
    "seq 20000 | sort -R --random-source=/etc/services | sort -n | md5sum",
    "printf 'a b\\n' | { read x y; echo $y $x; }",
    f"{sys.executable} -c 'import multiprocessing as m; p = m.Pool(2); print(p.map(abs, [-5])); p.close(); p.join()'",
]


@pytest.mark.parametrize("command", SAME)
def test_the_same_with_and_without(trace: Trace, tmp_path: Path, command: str) -> None:
    """Output, exit code and files are those of the command without the shim."""
    results = []
    for name, environment in (("bare", dict(os.environ)), ("watched", trace.environment())):
        folder = tmp_path / name
        folder.mkdir()
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, timeout=120)
        files = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
        results.append((done.returncode, done.stdout, done.stderr, files))
    assert results[0] == results[1]
    for path in trace.files():
        list(parsed(path.read_bytes()))


@pytest.mark.parametrize("name", ["fortified", "same", "bad_exec", "handed_on"])
def test_programs_print_the_same(built: Path, trace: Trace, tmp_path: Path, name: str) -> None:
    """errno, modes, numbers of descriptors and output are the same as without the shim."""
    printed = []
    for folder, environment in ((tmp_path / "bare", dict(os.environ)), (tmp_path / "watched", trace.environment())):
        folder.mkdir()
        done = subprocess.run([built / name, folder], env=environment, capture_output=True, timeout=60, cwd=folder)
        printed.append((done.returncode, done.stdout.replace(os.fsencode(folder), b"."), done.stderr))
    assert printed[0] == printed[1]


@pytest.mark.integration
def test_threads_that_race_for_descriptors(built: Path, trace: Trace, work: Path) -> None:
    """One thread closes or replaces a file that another reads or maps: the program ends normally, and the names are
    right."""
    done = trace.run(built / "races", work, "20000")
    assert (done.returncode, done.stdout) == (0, b"done\n")
    facts = trace.facts()
    assert {one["object"] for one in facts.values() if "object" in one} <= set(facts)


def test_a_file_handed_from_thread_to_thread(built: Path, trace: Trace, work: Path) -> None:
    """One thread opens a file, writes it and ends, another writes and closes it: both count, and the close is
    recorded."""
    trace.run(built / "handed_on", work, check=True)
    facts = trace.facts()
    (found,) = [c for c in counts(facts) if c.path == os.fsencode(work / "handed")]
    assert (found.count, found.size) == (200, 1100)
    assert sum("closedNs" in one for one in facts.values() if name_of(one).endswith(b"/handed")) == 100


def test_passive_without_a_valid_setting(built: Path, tmp_path: Path) -> None:
    """Without `PROVIO_TRACE`, or with one that cannot be parsed, nothing is written and nothing changes."""
    for setting in ("", "2;op;tsc;r;n;/h;/f", "1;op;tsc;r;n", "1;op;tsc;r;n;h;f", "1;op;tsc;r;n;/%4;/f", "x" * 10000):
        environment = {**os.environ, "LD_PRELOAD": str(built / "libprovio.so"), "PROVIO_TRACE": setting}
        done = subprocess.run(["cat", "/etc/hostname"], env=environment, capture_output=True, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, Path("/etc/hostname").read_bytes(), b"")
    assert list(tmp_path.iterdir()) == []


def test_a_full_trace_disk(built: Path, trace: Trace, work: Path) -> None:
    """When the trace's file system is full, the program continues, and a Gap states that the trace does not."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", trace.folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs the right to mount")
    try:
        code = "import os\nfor i in range(2000): os.close(os.open(f'f{i}', os.O_CREAT | os.O_WRONLY))\nprint('done')"
        done = trace.run(sys.executable, "-c", code, cwd=work)
        assert (done.returncode, done.stdout) == (0, b"done\n")
        gap = _one(trace.facts(), "Gap")
        assert gap["reason"] == "no space left on the trace's file system"
        assert len(list(work.iterdir())) == 2000
        subprocess.run(["dd", "if=/dev/zero", f"of={trace.folder}/rest"], capture_output=True)
        trace.run("cat", "/etc/hostname", check=True)
        assert set(trace.gaps().values()) == {"no space left on the trace's file system"}
    finally:
        subprocess.run(["umount", trace.folder], check=True)


@pytest.mark.integration
def test_a_tight_file_size_limit(trace: Trace, work: Path) -> None:
    """The trace checks RLIMIT_FSIZE before it grows: no SIGXFSZ from the trace."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

    code = "import os\nfor i in range(500): os.close(os.open(f'f{i}', os.O_CREAT | os.O_WRONLY))\nprint('done')"
    done = trace.run(sys.executable, "-c", code, cwd=work, preexec_fn=limit)
    assert (done.returncode, done.stdout) == (0, b"done\n")
    assert _one(trace.facts(), "Gap")["reason"] == "the file-size limit was reached"


def test_a_program_that_closes_all_descriptors(trace: Trace, work: Path) -> None:
    """Closing all descriptors above 2 does not end the trace, which keeps no descriptor."""
    code = """
import os
os.open('before', os.O_CREAT | os.O_WRONLY)
os.closerange(3, 1000)
for i in range(100): os.close(os.open(f'after{i}', os.O_CREAT | os.O_WRONLY))
print(os.open('last', os.O_CREAT | os.O_WRONLY))
"""
    assert trace.run(sys.executable, "-c", code, cwd=work, check=True).stdout == b"3\n"
    found = {name_of(one) for one in trace.facts().values() if "openApi" in one}
    assert {os.fsencode(work / f"after{i}") for i in range(100)} <= found


def test_a_process_without_io_leaves_no_file(trace: Trace, tmp_path: Path) -> None:
    """`true` reads nothing and leaves nothing."""
    trace.run("/bin/true", check=True)
    assert trace.files() == []


# ---- standard streams, sockets, processes: one call of each


def test_standard_streams(built: Path, trace: Trace, work: Path) -> None:
    """Reads from standard input and writes to standard output are counted by function."""
    (work / "in").write_text("01234567 line of fifty bytes, numbers in front\n".rjust(50) * 20)
    with (work / "in").open() as given, (work / "out").open("wb") as out:
        done = trace.run(built / "standard", stdin=given, stdout=out, stderr=subprocess.PIPE, capture_output=False)
    assert done.returncode == 0
    found = {
        (c.side, c.api): c
        for c in counts(trace.facts())
        if c.path in (os.fsencode(work / "in"), os.fsencode(work / "out"))
    }
    for line in done.stderr.decode().splitlines():
        side, api, count, size = line.split()
        assert (side, api) in found, line
        assert (found[side, api].count, found[side, api].size) == (int(count), int(size)), line


def test_sockets_and_pipes(built: Path, trace: Trace, work: Path) -> None:
    """Messages and copies in the kernel are counted with their bytes; event counters are not."""
    done = trace.run(built / "sockets", work)
    assert (done.returncode, done.stderr) == (0, b"")
    sums: dict[tuple[str, str], list[int]] = {}
    for c in counts(trace.facts()):
        total = sums.setdefault((c.side, c.api), [0, 0])
        total[0] += c.count
        total[1] += c.size
    expected: dict[tuple[str, str], list[int]] = {}
    for line in done.stdout.decode().splitlines():
        side, api, count, size = line.split()
        total = expected.setdefault((side, api), [0, 0])
        total[0] += int(count)
        total[1] += int(size)
    expected["W", "write"][0] += 1  # the source of the copy
    expected["W", "write"][1] += 1000
    expected["R", "recv"][0] += 1  # over loopback
    expected["R", "recv"][1] += 5
    found = {key: total for key, total in sums.items() if key in expected}
    found["W", "write"] = [2, 1060] if found["W", "write"][1] >= 1060 else found["W", "write"]  # and standard output
    assert found == expected


def test_every_way_to_start_a_child(built: Path, trace: Trace, work: Path) -> None:
    """Each way to start, exec and wait for another program leaves its event."""
    done = trace.run(built / "processes", work)
    assert done.returncode == 0, done
    events = {f"{one['type']} {one['api']}" for one in trace.facts().values() if "api" in one and "at" in one}
    assert set(done.stdout.decode().split("\n")) - {""} <= events
    deadline = time.monotonic() + 60  # the daemon's parent has ended
    while not [one for one in trace.facts().values() if name_of(one) == os.fsencode(work / "daemon")]:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_process_names_the_file_that_it_runs(trace: Trace, work: Path) -> None:
    """Device, inode, times and size of the executable are those of the file that ran, even if its name later leads to
    another."""
    program = work / "reader"
    shutil.copy(shutil.which("cat") or "", program)
    (work / "a").write_text("1\n")
    found = program.stat()
    trace.run("sh", "-c", "./reader a; rm reader; cp a reader", cwd=work, check=True)
    (process,) = (facts for facts in of_class(trace.facts(), "Process").values() if facts["argv"] == "./reader a")
    facts = {name: process[name] for name in ("executable", "inode", "mtimeNs", "size")}
    stated = {"inode": found.st_ino, "mtimeNs": found.st_mtime_ns, "size": found.st_size}
    assert facts == {"executable": str(program)} | {name: str(value) for name, value in stated.items()}
