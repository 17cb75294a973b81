"""A run that is too large for memory is merged in partitions, with the same graph as in one partition."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from concurrent_runs import state, tell, wait_for
from conftest import Project, provio_command, quads
from lineage.story import Story, at, facts, inode, since
from lineage.test_stories import STORIES, SYNTHETIC
from synthetic_traces import File, Run

from provio.ask import live
from provio.merge import job, partitions
from provio.merge.archive_runs import archive
from provio.merge.intake import Prepared
from provio.merge.large import survey
from provio.merge.large.survey import Indivisible
from provio.merge.partitions import Partitions
from provio.merge.runs import merge
from provio.record import after_run
from provio.settings.home import Home
from provio.settings.lock import Lock
from provio.settings.schema import Config
from provio.store.embedded.reader import StoreReader
from provio.store.versions import notes_in
from provio.system import statx
from provio.trace import read as traces
from provio.trace import run_source
from provio.trace.post_run import postprocess
from provio.trace.read import read_head, read_run
from provio.trace.recording import Recording
from provio.trace.run_facts import Trace

# Independent processes: they share only inputs.
INDEPENDENT = "for i in 1 2 3 4; do sort in > out$i; done"
DEPENDENT = """
for i in 1 2; do cp in step$i; cp step$i next$i; echo $i >> log; done
sort in | uniq > piped
sort in > new; mv new old; touch -d 2020-01-01 old; cat old > after; rm step1
(read line < in; echo "$line" > forked)
ln after linked; cat linked > /dev/null; test -r in; cp missing out 2> /dev/null || true
printf 'import sys\\nopen(sys.argv[1], "w").write(open("in").read())\\n' > copy.py; python3 copy.py copied
printf 'import os\nos.setxattr("after", "user.x", open("in", "rb").read())\n' > set.py; python3 set.py || true
printf 'import os\nopen("got", "wb").write(os.getxattr("after", "user.x"))\n' > get.py; python3 get.py || true
"""
# Objects inside a common input: copied, mapped by a virtual dataset, and used by a fork of their reader.
INSIDE = """
cat > made.py << 'END'
import sys, os, h5py
with h5py.File("common.h5") as common, h5py.File(sys.argv[1], "w") as own:
    own["x"] = common["x"][:] * 2
    own["x"].attrs["unit"] = common["x"].attrs["unit"]
    common.copy("g", own)
    if os.fork() == 0:
        open(sys.argv[1] + ".fork", "w").write(str(common["g/y"][0]))
        os._exit(0)
    os.wait()
END
cat > shows.py << 'END'
import h5py
layout = h5py.VirtualLayout(shape=(3,), dtype="f8")
layout[:] = h5py.VirtualSource("one.h5", "x", shape=(3,))
with h5py.File("shown.h5", "w") as file: file.create_virtual_dataset("v", layout)
END
python3 made.py one.h5; python3 made.py two.h5; python3 shows.py; cp two.h5 three.h5
"""
# Tasks that launch, fork and share inputs; one continues in a program that replaces the process.
TASKS = """
cat > tasks.py << 'END'
import os, subprocess, sys, provio
with provio.activity("outer", number=1):
    text = open("in").read()
    with provio.activity("inner"):
        subprocess.run(["sort", "in", "-o", sys.argv[1] + ".sorted"])
        subprocess.run(["cp", "in", sys.argv[1] + ".copied"])
    if os.fork() == 0:
        open(sys.argv[1] + ".fork", "w").write(text)
        os._exit(0)
    os.wait()
    provio.configuration("model", {"rate": 0.1, "token": "hunter2"})
    provio.metric("loss", 0.5, step=1)
with provio.activity("last"):
    os.execvp("sort", ["sort", "in", "-o", sys.argv[1]])
END
python3 tasks.py a; python3 tasks.py b
"""
SAVED = """
cat > saved.py << 'END'
import provio, sys
provio.configuration("model", {"rate": sys.argv[2]})
provio.metric("loss", 0.5)
open("kept/" + sys.argv[1], "w").write(open("in").read())
if sys.argv[1] == "b":
    provio.checkpoint("kept", step=1)
END
mkdir kept; python3 saved.py a 1; python3 saved.py b 2; mkdir other; cp in other/x
"""
# Inputs and outputs declared by path: files of other processes, before and after; folders; missing files.
PATHS = """
cat > declare.py << 'END'
import provio, sys
for path in sys.argv[2:]:
    (provio.used if sys.argv[1] == "used" else provio.generated)(path)
END
cp in step; mkdir parts deeper deeper/under; for i in 1 2; do sort in -o parts/$i; sort in -o deeper/under/$i; done
cp in gone; sort gone > before; cp in gone; rm gone; ln -s parts link; sort link/1 > by_link
ln -s in named; sort named > by_name
sort link/../in -o parts/3; echo x > other; cat other > seen; cp in last; cp in aside
python3 declare.py used step in parts gone nowhere named declare.py link/2 deeper /bin/sh
python3 declare.py generated other parts nowhere made; sort other -o later; touch made; sort made > end
python3 declare.py used made nowhere last parts/3; rm -r deeper; python3 declare.py used deeper deeper/under
mkdir parted; sort last -o parted/1; mv parted/1 parted/2; python3 declare.py used parted; sort aside -o parted/3
"""
MOVED = "mkdir d; cp in d/a; cp in d/b; mkdir e; mv d e/f; cp e/f/a a; sort e/f/b > b"
# A merge that reads every run in partitions, and is killed at the n-th of them.
KILLED = """
import os, sys
from provio.merge import job
from provio.merge.large import survey
survey.PARTITION_SIZE, job.is_large, read = 1, lambda _: True, survey.Survey.read
left = int(sys.argv.pop(1))
def killed(found, portion):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), 9)
    return read(found, portion)
survey.Survey.read = killed
from provio.cli.main import main
main()
"""
KINDS = {"objects": INSIDE, "tasks": TASKS, "checkpoints": SAVED, "folders": MOVED, "paths": PATHS}


def folder_of(project: Project, script: str) -> Path:
    (project.path / "in").write_text("b\na\nb\n")
    project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", script)
    [folder] = Home(project.path / ".provio").run_folders()
    return folder


def content_of(prepared: Prepared) -> tuple[set[str], dict[str, int | None], set[str], list[str]]:
    """Return the statements, the versions with the earliest start of their writers (over all partitions), and the
    rest."""
    every = [line for piece in prepared.pieces for line in piece.splitlines()]
    versions = [line for line in every if line.endswith("ns#FileVersion> .")]
    assert len(versions) == len(set(versions))
    lines = set(every)
    notes: dict[str, int | None] = {}
    for version, begun in notes_in("\n".join(lines).encode()):
        known = [moment for moment in (begun, notes.get(version)) if moment is not None]
        notes[version] = min(known, default=None)
    return {line for line in lines if not line.startswith("#")}, notes, prepared.open, prepared.index


def divided(folder: Path) -> survey.Survey:
    return survey.survey(run_source.of(folder), {})


def divided_copy(folder: Path) -> survey.Survey:
    """Divide a copy of a run in progress."""
    return survey.survey(run_source.snapshot(run_source.of(folder), read_head(folder), folder.parent), {})


@pytest.mark.parametrize(
    "script", [pytest.param(INDEPENDENT, marks=pytest.mark.integration), DEPENDENT + INDEPENDENT], ids=["alone", "all"]
)
def test_the_same_graph(project: Project, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """In as many partitions as possible, the statements, the open channels and the index entries equal those of the
    whole."""
    folder = folder_of(project, script)
    monkeypatch.setattr(survey, "PARTITION_SIZE", 1)
    assert len(divided(folder).groups) >= 5
    assert_same(folder)


def assert_same(folder: Path, look: Callable[[Path], survey.Survey] = divided) -> None:
    """Merge a run in partitions, twice (with new and with stored post-processing results), and as a whole; also with
    as many files as possible evaluated before the partitions."""
    for wide in (survey.WIDE, survey.WIDE, 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(survey, "WIDE", wide)
            found = look(folder)
        divided = content_of(partitions.prepare(found, Config(), contextlib.nullcontext))
        whole = postprocess(read_run(folder))
        assert divided == content_of(partitions.prepare(Partitions(whole), Config()))
        assert list(map(str, found.whole.damages)) == list(map(str, whole.damages))


def apart(story: Story) -> None:
    """Files that are read together, appended to, renamed with their folder, looked up, or only opened."""
    for number in range(3):
        reader = story.process(f"read{number}", 1)
        reader.opens("in@-900+9", 2).does("read", (3, 3, 9))
        reader.event("Stat", 4, f':path "/data/log" ; {facts("log@-5+9")}')
    for number in range(3):
        story.process(f"log{number}", 1).opens("log@-5+9", 10, "a").does("write", (20, 20, 9))
    story.process("make", 1).opens("d/m@30+0", 30, "w").does("write", (31, 31, 9)).closes(32, "d/m@31+9")
    story.process("next", 1).opens("dd/n@30+0", 30, "w").does("write", (31, 31, 9)).closes(32, "dd/n@31+9")
    mover = story.process("move", 33)
    mover.event("Rename", 34, f':from "/data/d" ; :to "/data/e/f" ; {facts("d@-5+4096")}')
    story.process("below", 35).opens("e/f/k@-900+9", 36).does("read", (37, 37, 9))
    story.process("above", 35).opens("e/k@-900+9", 36).does("read", (37, 37, 9))
    renamer = story.process("rename", 33)
    renamer.event("Rename", 34, f':from "/data/p" ; :to "/data/q" ; {facts("p@-900+9")}')
    story.process("first", 30).opens("p@-900+9", 31).does("read", (32, 32, 9))
    story.process("closed", 1).opens("p2@-900+9", 31).does("read", (32, 32, 9)).closes(40, "p2@39+18")
    story.process("wrote", 1).opens("p2@-900+9", 38, "a").does("write", (39, 39, 9)).closes(40, "p2@39+18")
    story.process("unread", 1).opens("held@-900+9", 38)
    story.process("holds", 1).opens("held@-900+9", 38).does("read", (39, 39, 9))
    story.process("opened", 1).opens("none@-900+9", 38, "r+").closes(39, "none@-900+9")
    story.process("reads", 1).opens("none@-900+9", 38).does("read", (39, 39, 9))
    parent = story.process("parent", 1)
    between = parent.starts("between", 2)
    writer, taker = between.starts("writer", 3), parent.starts("taker", 3)
    writer.opens("77", 4, "w", "Pipe").does("write", (5, 5, 9))
    taker.opens("77", 4, "r", "Pipe").does("read", (6, 6, 9))
    parent.starts("alone", 7).opens("77", 8, "r", "Pipe")
    top = story.process("top", 1)
    deep = top.starts("middle", 2).forks("middle", 3).starts("deep", 4)
    top.opens("78", 4, "w", "Pipe").does("write", (5, 5, 9))
    deep.opens("78", 4, "r", "Pipe").does("read", (6, 6, 9))
    deep.starts("end", 8)


def claimed(story: Story) -> None:
    """Paths of files, of folders and of nothing that programs declare as inputs and outputs, and things without a
    file."""
    for name in ("step", "parts/1", "partsx", "other"):
        story.process(name.replace("/", "-"), 1).opens(f"{name}@5+0", 5, "w").does("write", (6, 6, 9)).closes(
            7, f"{name}@6+9"
        )
    claims = story.process("claims", 8)
    for number, path in enumerate(("/data/step", "/data/parts/", "/data/none")):
        claims.tells(10 + number, path, bool(number % 2))
    claims.opens("out@20+0", 20, "w").does("write", (21, 21, 9)).closes(22, "out@21+9")
    story.process("end", 23).opens("parts/1@6+9", 24).does("read", (25, 25, 9))
    thing = story.process("thing", 30)
    thing.tells(32, thing.entity(31, "table", "db/table", rows=7))
    story.process("ran", 33, inode=inode("step"), device="8:1", birthNs=at(-10_000), mtimeNs=at(6), size=9)


def saved(story: Story) -> None:
    """A checkpoint is about the configurations of the whole run and the files below its folder."""
    for name in ("kept/a", "kept/deep/b", "keptx/c", "d"):
        one = story.process(name.replace("/", "-"), 1)
        one.opens(f"{name}@5+0", 5, "w").does("write", (6, 6, 9)).closes(7, f"{name}@6+9")
    story.process("settings", 1).configures(3, "model", rate=1)
    declares = story.process("declares", 8)
    declares.say(f'<../c1> a :Checkpoint ; :startedNs {at(9)} ; :path "/data/kept"')
    for number in range(2):
        story.process(f"log{number}", 1).opens("log@-5+9", 10, "a").does("write", (20, 20, 9))
    story.process("reads", 30).opens("kept/a@6+9", 31).does("read", (32, 32, 9))


def hidden(story: Story) -> None:
    """A program that cannot be watched belongs to the process that started it and its parent."""
    top = story.process("top", 1)
    top.opens("a@-900+9", 2).does("read", (3, 3, 9))
    middle = top.starts("middle", 4)
    middle.opens("b@-900+9", 5).does("read", (6, 6, 9))
    middle.unwatched(99, 7, 50, "/data/sim")
    for number, owner in enumerate((top, middle, story.process("other", 1))):
        name = f"x{number}"
        owner.opens(f"{name}@20+5", 60).does("read", (61, 61, 5))
    for number in range(2):
        story.process(f"log{number}", 1).opens("log@-5+9", 10, "a").does("write", (20, 20, 9))


def cells(story: Story) -> None:
    """The connection file of a notebook's kernel is noise for every process; a version is noise if all its readers find
    it to be noise, by the names that they used."""
    kernel = story.process("kernel", 1)
    kernel.lines[1] = kernel.lines[1].replace(':argv "kernel"', ':argv "kernel -f ports.json"')
    kernel.say(f'<../t90> a :Task ; :name "[1]" ; :kind "cell" ; :startedNs {at(2)}')
    kernel.say(f'<../t90> :endedNs {at(90)} ; :status "ok"')
    for number in range(2):
        reader = story.process(f"read{number}", 1)
        for name, moment in (("ports.json", 3), ("/usr/lib/x", 5), ("/usr/lib/y", 9 - 5 * number)):
            reader.opens(f"{name}@-900+9", moment).does("read", (moment + 1, moment + 1, 9))
        if number:
            reader.lines[-4] = reader.lines[-4].replace("/usr/lib/x", "/data/linked")
        reader.opens(f"out{number}@20+0", 20, "w").does("write", (21, 21, 9)).closes(22, f"out{number}@21+9")
    kernel.opens("ports.json@-900+9", 30).does("read", (31, 31, 9))
    story.process("after", 95, pid=kernel.pid, number=1).opens("ports.json@-900+9", 96).does("read", (97, 97, 9))


def late(story: Story) -> None:
    """Hashes, states of files and reasons for missing hashes that were recorded after the run."""
    for number in range(3):
        reader = story.process(f"read{number}", 10 - number)
        for name in ("a", "b", "c"):
            moment = 20 + (number + 1) % 3
            reader.opens(f"{name}@-900+9", moment).does("read", (moment + 1, moment + 1, 9))
        reader.opens("log@-5+9", 30 + number, "a").does("write", (40 + number, 40 + number, 9)).settles("log@42+36")
        reader.opens(f"own{number}@50+0", 50, "w").does("write", (51, 51, 9)).settles(f"own{number}@52+9")
    story.hashes_to("a@-900+9", "1")
    story.hashes_to("log@42+36", "2")
    story.hashes_to("own1@52+9", "3")
    story.hashes_to("c@-900+9", "")
    story.hashes[-1] = story.hashes[-1].replace(':sha256 ""', ':reason "is too large"')


def on_hosts(story: Story) -> None:
    """The clocks, jobs and mount tables of hosts; files of one host that are not collected."""
    for host, ahead, more in (("node", 7_000_000, ""), ("there", 0, f" ; :captured {at(0)}")):
        (story.folder / host).mkdir(parents=True)
        name = f"<https://w3id.org/provio/run/{story.id}/{host}"
        mark = f'{name}/host> a :Host ; :name "{host}" ; :clockOffset {ahead} ; :clockWithin 1000{more} .\n'
        job = f'{name}/job/1> :name "SLURM_JOB_ID" ; :value "8{len(host)}" .\n'
        table = f'{name}/mounts/1> a :MountTable ; :table "5 1 8:1 /srv / rw - ext4 x rw\\n" .\n'
        for file, text in (("host", mark), ("job.1", job), ("mounts.1", table)):
            (story.folder / host / f"0.{file}.ttl").write_text(f"@prefix : <https://w3id.org/provio/ns#> .\n{text}")
    run = f"<https://w3id.org/provio/run/{story.id}"
    story.facts = f' .\n{run}/mount/1> a :Mount ; :device "8:1" ; :root "/srv" ; :mountPoint "/out"'
    for number, host in enumerate(("node", "there", "node")):
        mounts: dict[str, Any] = {} if number == 1 else {"mounts": 1 + number // 2}
        one = story.process(f"on{number}", 1, host=host, **mounts)
        one.opens("in@-900+9", 2).does("read", (3, 3, 9))
        one.opens("log@-5+9", 30 + number, "a").does("write", (40 + number, 40 + number, 9))
        one.opens(f"x{number}@20+0", 20, "w").does("write", (21, 21, 9)).closes(22, f"x{number}@21+9")


def lost(story: Story) -> None:
    """Processes of which only damaged files are left: a lone one, and the second image of one; records of one process
    in the file of another."""
    for number in range(2):
        story.process(f"log{number}", 1).opens("log@-5+9", 10, "a").does("write", (20, 20, 9))
    first, second, other = (story.process(name, 1 + number) for number, name in enumerate(("one", "two", "other")))
    first.opens("a@-900+9", 3).does("read", (4, 4, 9))
    second.opens("b@-900+9", 3).does("read", (4, 4, 9))
    other.opens("c@-900+9", 3).does("read", (4, 4, 9))
    for number, one in enumerate((first, other)):
        one.say(
            f'<../../{second.pid}.1.0/o{8 + number}> a :FileVersion ; :path "/data/d" ; {facts("d@-900+9")} ; '
            f":flags 0 ; :openedNs {at(6)}"
        )
    second.event("Spawn", 15, ":childPid 99 ; :childTick 1")
    second.say(
        f'<e90> a :Gap ; :at {since(15)} ; :elapsed 9 ; :api "execve" ; :about <../../99.1.0/> ; '
        ':reason "is statically linked" ; :executable "/data/sim" ; :argv "sim"'
    )
    second.event("Exec", 30, ':executable "/usr/bin/cat" ; :argv "cat"')
    for image in (story.process("lone", 5), story.process("image", 31, pid=other.pid, number=1)):
        image.lines = ["no Turtle\n"]
    child = second.starts("child", 20)
    child.opens("log@-5+9", 21, "a").does("write", (22, 22, 9))


def byte_code(story: Story) -> None:
    """Byte code comes from its source, and a copy by the kernel from its source file."""
    pyc = "__pycache__/mod.cpython-311.pyc"
    for number in range(2):
        python = story.process(f"python{number}", 1)
        python.opens(f"mod{number}.py@-900+5", 2).does("read", (3, 3, 5)).closes(4)
        python.opens("mod.py@-900+5", 2).does("read", (3, 3, 5)).closes(4)
        held = python.opens(f"{pyc}@-5+9", 5 + number, "r+").does("write", (7 + number, 7 + number, 5))
        held.closes(20 + number, f"{pyc}@8+5")
    for number in range(2):
        copier = story.process(f"copy{number}", 30)
        source, target = copier.opens("from@-900+9", 31, "r+"), copier.opens("to@-900+9", 31, "a")
        copier.copies(source, target, 32 + number, 33 + number)
        target.closes(36, "to@34+18")
    story.process("reads", 40).opens("to@34+18", 41).does("read", (42, 42, 18))
    for number in range(2):
        story.process(f"log{number}", 1).opens("log@-5+9", 10, "a").does("write", (20, 20, 9))


def wide(story: Story) -> None:
    """Of a file that is evaluated before the partitions, all that a process did with it counts: cuts, times, and
    forks in between; the rest of the process does not."""
    for number in range(3):
        one = story.process(f"rank{number}", 1, rank=number)
        one.opens("in@-900+9", 2).does("read", (3, 3, 9))
        held = one.opens("log@-5+90", 4, "r+")
        if number == 0:
            held.does("write", (45, 45, 9)).closes(50, "log@45+90")
        elif number == 1:
            one.event("Truncate", 10, f":object <{held.name}> ; :length 0")
            held.does("write", (11, 12, 7))
            one.forks(f"fork{number}", 13).opens("own@-900+9", 14).does("read", (15, 15, 9))
            one.opens("later@-900+9", 16).does("read", (17, 17, 9))
            held.closes(20, "log@12+7")
        else:
            held.does("read", (30, 31, 9))
            one.event("SetTimes", 60, f':path "/data/log" ; {facts("log@-500+90")} ; :previousMtimeNs {at(45)}')
        one.opens(f"x{number}@70+0", 70, "w").does("write", (71, 71, 9)).closes(72, f"x{number}@71+9")
    story.process("last", 80).opens("log@-500+90", 81).does("read", (82, 82, 9))
    for number in range(2):
        hands = story.process(f"hands{number}", 2)
        hands.opens("log@-5+90", 3).closes(3.5)
        if number:
            hands.forks("child", 3.2)


def wide_objects(run: Run) -> None:
    """Objects in a file that several processes write, read and delete; two of them create one object together."""
    whole, table = File("/data/whole.h5", 31), File("/data/table", 32)
    maker = run.process("maker")
    maker.h5(whole, "w").write("/u", new=True).write("/u", "unit", new=True).write("/v", new=True).close()
    for rank in range(3):
        process = run.process("sim", str(rank))
        process.say(f"<../> :rank {rank}")
        process.plain(table).read().close()
        handle = process.h5(whole, "r+").write("/both", new=True)
        handle.read("/u").write(f"/w{rank}", new=True)
        if rank == 1:
            handle.delete("/v").link("/l", "/u").move("/w1", "/moved")
        handle.close()
        process.plain(File(f"/data/out{rank}", 40 + rank), "w").write().close()
    reader = run.process("reader")
    source = File("/data/source.h5", 33)
    shown = reader.h5(source)
    reader.h5(whole).shows("/virtual", shown, "/x").read("/both").read("/u", "unit").close()
    shown.close()
    run.process("other").h5(source).read("/x").close()
    for number in range(2):
        run.process(f"alone{number}").h5(File("/data/fixed.h5", 34)).read("/x").close()
    reader.plain(File("/data/end", 50), "w").write().close()


OWN: list[Callable[[Any], None]] = [
    apart, claimed, saved, hidden, cells, late, on_hosts, lost, byte_code, wide, wide_objects,
]  # fmt: skip

# The programs of each partition, where as many as possible are made; then those where files that more than one process
# uses are evaluated before the partitions.
PARTITIONS = """
apart: read0 | below+make+move | above | first+rename | closed+wrote | holds+unread | opened+reads | read1 | \
parent | between | taker+writer | alone | deep+middle+middle+top | end | read2 | log0+log1+log2 | next / read0 | \
below+make+move | above | first+rename | closed+wrote | holds+unread | opened+reads | read1 | parent | between | \
taker+writer | alone | deep+middle+middle+top | end | read2 | log0+log1+log2 | next
claimed: claims+end+parts-1+ran+step+thing | partsx | other / claims+end+parts-1+ran+step+thing | partsx | other
saved: declares+kept-a+kept-deep-b+reads+settings | keptx-c | d | log0+log1 / \
declares+kept-a+kept-deep-b+reads+settings | keptx-c | d | log0+log1
hidden: middle+top | other | log0+log1 / middle+top | other | log0 | log1
late: read0+read1+read2 / read0 | read1 | read2
on_hosts: on0+on1+on2 / on0 | on2 | on1
lost: child+log0+log1 | one+other>?+two | ? / log0 | log1 | one+other>?+two | ? | child
memory: child+main+other+shell | rank1 | adds+looks+partner0+partner1 | alone0 | rank0 | alone1 / \
child+main+other+shell | rank1 | adds+looks+partner0+partner1 | alone0 | rank0 | alone1
byte_code: python0+python1 | copy0+copy1+reads | log0+log1 / python0+python1 | copy0+copy1+reads | log0 | log1
wide: hands0+hands1+last+rank0+rank1+rank2 | fork1 | child / \
rank0 | rank1 | fork1 | rank2 | last | hands0 | hands1 | child
cells: kernel>after | read0 | read1 / kernel>after | read0 | read1
wide_objects: maker+other+reader+sim+sim+sim | alone0 | alone1 / \
maker | sim | sim | sim | other+reader | alone0 | alone1
growing: make+take / make | take
grown_before_the_read: late+make+take / make | take | late
reads_before_the_last_write: last+make+take / make | take | last
left_open: parent | first+second+timed | lone / parent | first | lone | timed | second
two_writers: after+append+between+first+second+third / first | second | third | between | after | append
state_at_opening: early+late+look / early | late | look
phases_by_pipe: read+write / read+write
pipe_partly_read: first+other+reader+second / first+other+reader+second
pipe_without_sizes: reader+writer / reader+writer
images: shell | fork>cat | unheard | lost | before | last / shell | fork>cat | unheard | lost | before | last
copies: shell | copy / shell | copy
truncated: append+first+second+third / first | second | append | third
times_set: later+touch / touch | later
maps: map | other / map | other
unread: tool | child / tool | child
coarse_clock: first+read10+read110+read210+second+third / first | read10 | second | read110 | third | read210
job_tokens: cc+make / cc+make
compiled: python3 / python3
unwatched: shell / shell
two_hosts: here+there / there | here
ranks: orterun | rank0 | rank1 / orterun | rank0 | rank1
scripts: python3 | python3 | python3 | sh | tool / python3 | python3 | python3 | sh | tool
vfork: shell | first>second>child / shell | first>second>child
sockets: client+server / client+server
answers: date+date+date+shell+shell / date+date+date+shell+shell
objects: reader+tool / tool | reader
tasks: tasks | child / tasks | child
declared: other+train / other+train
"""


@pytest.mark.parametrize("tell", [*OWN, *STORIES, *SYNTHETIC], ids=lambda one: one.__name__)
def test_the_same_of_stories(tell: Callable[[Any], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The partitions are those that the table states, and make the same graph as the whole."""
    story: Any = Run(Home(tmp_path), 1) if tell in (*SYNTHETIC, wide_objects) else Story(tmp_path / "runs")
    tell(story)
    story.write()
    monkeypatch.setattr(survey, "PARTITION_SIZE", 1)
    stated = dict(line.split(": ") for line in PARTITIONS.strip().splitlines())
    found = f"{programs(story.folder, 100)} / {programs(story.folder, 1)}"
    assert stated.get(tell.__name__, found) == found
    assert_same(story.folder)


def test_the_same_on_the_machine_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The versions of programs, the last states of files and the names without links are those that the machine still
    has; the state of a file that a living process has open is not kept."""
    monkeypatch.setattr("provio.trace.environment.host", lambda: "node")
    monkeypatch.setattr("provio.trace.liveness.alive", lambda process: process == ("4", "1"))
    inspect = statx.facts

    def without_ctime(path: bytes) -> statx.Facts:
        found = inspect(path)
        return found.at(found.mtime, found.mtime, found.size)

    monkeypatch.setattr(statx, "facts", without_ctime)
    story = Story(tmp_path / "runs")
    tool, log, own = "tool@-5+9", "log@-5+9", "own@-5+9"
    story.process("makes", 1).opens(tool, 2, "r+").closes(3, tool)
    runs = story.process("runs", 10)
    runs.lines[1] = runs.lines[1].replace("/usr/bin/runs", "/data/tool")
    for number in range(3):
        writer = story.process(f"log{number}", 1)
        writer.opens(log, 10, "a").does("write", (20 + number, 20 + number, 9))
        writer.opens(own, 30, "a").does("write", (31, 31, 9)) if number == 2 else writer.opens(log, 30)
        writer.lines[-2] = writer.lines[-2].replace("/data/log", "/data/link")
    reader = story.process("reads", 40)
    reader.opens("in@-5+9", 41).does("read", (42, 42, 9))
    reader.lines[-2] = reader.lines[-2].replace("/data/in", "/data/folder/in")
    story.write()
    (tmp_path / "folder").symlink_to(tmp_path)
    (tmp_path / "link").symlink_to("log")
    for name in ("tool", "log", "own", "in"):
        (tmp_path / name).write_text("123456789")
        os.utime(tmp_path / name, ns=(at(-5), at(-5)))
        found = statx.facts(os.fsencode(tmp_path / name))
        stated = facts(f"{name}@0+0").partition(" ; :mtimeNs")[0]
        for file in story.folder.glob("node/*.ttl"):
            text = file.read_text().replace('"/data/', f'"{tmp_path}/')
            known = f':device "{found.device}" ; :inode {found.inode} ; :birthNs {found.birth}'
            file.write_text(text.replace(stated, known))
    monkeypatch.setattr(survey, "PARTITION_SIZE", 1)
    assert programs(story.folder, 100) == "makes+tool | log0+log1+log2 | reads"
    assert programs(story.folder, 1) == "makes+tool | log0 | log1 | log2 | reads"
    settled = story.folder / "node/settled.ttl"
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)
        assert_same(story.folder)
        assert not settled.exists()
    assert_same(story.folder)
    before = settled.read_text()
    assert ("/3.1.0/o1> :settled" in before, "/4.1.0/o1> :settled" in before) == (True, False)
    settled.unlink()
    monkeypatch.setattr(survey, "WIDE", 1)
    content_of(partitions.prepare(divided(story.folder), Config(), contextlib.nullcontext))
    assert sorted(settled.read_text().splitlines()) == sorted(before.splitlines())


def test_a_large_run_in_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same as of a run that is read as a whole: of its folder, of a copy where it changes between its two
    readings, of its archive, and where it cannot be divided."""
    home = Home(tmp_path / ".provio")
    home.runs.mkdir(parents=True)
    home.path.chmod(0o700)
    story = Story(home.runs)
    apart(story)
    story.write()
    before = files_of(story.folder)
    assert merge(home).merged == [story.id]
    whole, after = quads(home), files_of(story.folder)
    monkeypatch.setattr(survey, "PARTITION_SIZE", 1)
    monkeypatch.setattr(job, "is_large", lambda _: True)
    read_whole, read_part, parts = traces.read_run, survey.Survey.read, []

    def refused(*_: object) -> Trace:
        raise AssertionError

    def counted(found: survey.Survey, portion: list[survey.ProcessFiles]) -> Trace:
        parts.append(found.source.fixed)
        return read_part(found, portion)

    monkeypatch.setattr(traces, "read_run", refused)
    monkeypatch.setattr(survey.Survey, "read", counted)
    for name in set(files_of(story.folder)) - set(before):
        (story.folder / name).unlink()
    assert merge(home, rebuild=True).merged == [story.id]
    assert (quads(home), parts, files_of(story.folder)) == (whole, [False] * 17, after)
    assert merge(home).unchanged == 1

    thread = story.folder / "node" / "1.1.0.0.ttl"

    def changed(found: survey.Survey, portion: list[survey.ProcessFiles]) -> Trace:
        if len(parts) < 3:
            thread.write_text(thread.read_text() + "# more\n")
        return counted(found, portion)

    del parts[:]
    monkeypatch.setattr(survey.Survey, "read", changed)
    assert merge(home, rebuild=True).merged == [story.id]
    assert parts[-17:] == [True] * 17
    assert not all(parts)
    assert (quads_of_runs(home), sorted(path.name for path in home.runs.iterdir())) == (of_runs(whole), [story.id])
    thread.write_text(before["node/1.1.0.0.ttl"])
    monkeypatch.setattr(survey.Survey, "read", counted)
    assert merge(home).merged == [story.id]
    monkeypatch.setattr("provio.trace.environment.host", lambda: "node")
    kept = set(os.listdir(home.path))
    assert archive(home, Config(), [story.folder]) == 1
    del parts[:]
    assert merge(home, rebuild=True).merged == [story.id]
    assert (quads(home), parts) == (whole, [True] * 17)
    assert set(os.listdir(home.path)) <= kept | {"unpacked"}

    monkeypatch.setattr(traces, "read_run", read_whole)
    monkeypatch.setattr(survey, "survey", lambda *_: (_ for _ in ()).throw(Indivisible))
    del parts[:]
    assert merge(home, rebuild=True).merged == [story.id]
    assert (quads(home), parts) == (whole, [])


def files_of(folder: Path) -> dict[str, str]:
    """Return the files of a run."""
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.ttl")}


def of_runs(found: set[str]) -> set[str]:
    """Return quads without those of the index."""
    return {quad for quad in found if "contentHash" not in quad}


def quads_of_runs(home: Home) -> set[str]:
    return of_runs(quads(home))


def programs(folder: Path, wide: int) -> str:
    """Return the programs of each partition."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(survey, "WIDE", wide)
        found = divided(folder)
    named = {tuple(iri.split("/")[-3:-1]): one.executable for iri, one in found.whole.processes.items()}
    return " | ".join("+".join(sorted(name_of(files, named) for files in group)) for group in found.groups)


def name_of(files: survey.ProcessFiles, named: dict[tuple[str, ...], bytes | None]) -> str:
    """Return the programs of a process."""
    images = [named[files.place.name, name.removesuffix(".0.ttl")] or b"?" for name in files.names]
    return ">".join(one.rpartition(b"/")[2].decode() for one in images)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_of_every_kind(project: Project, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """For objects inside files, Tasks, declarations of programs, and renamed folders."""
    if kind == "objects":
        h5py = pytest.importorskip("h5py")
        with h5py.File(project.path / "common.h5", "w") as common:
            common["x"], common["g/y"] = [1.0, 2.0, 3.0], [4]
            common["x"].attrs["unit"] = "m"
    folder = folder_of(project, KINDS[kind] + "\n" + INDEPENDENT)
    monkeypatch.setattr(survey, "PARTITION_SIZE", 1)
    assert len(divided(folder).groups) >= 4
    assert_same(folder)


@pytest.mark.integration
def test_the_same_of_ranks(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their run has no record of its end: it can be divided once no rank is running."""
    (project.path / "in").write_text("b\na\n")
    os.mkfifo(project.path / "gate")
    launcher = project.path.parent / "mpirun"
    launcher.symlink_to(shutil.which("sh") or "/bin/sh")
    provio = shlex.join(provio_command())
    script = f"PMI_RANK=4 {provio} run -- cat gate & echo $! > fourth; "
    script += f"for rank in 0 1 2 3; do PMI_RANK=$rank {provio} run -- sort in -o out$rank; done; wait"
    env = project.env | {"PMI_SIZE": "5"}
    process = subprocess.Popen([launcher, "-c", script], cwd=project.path, env=env)
    try:
        with (project.path / "gate").open("w"):  # the rank runs until this is closed
            wait_for(project.path / "fourth", b"\n")
            fourth = f".provio/runs/*/*/{(project.path / 'fourth').read_text().strip()}.*"
            while not (project.path / "out3").exists() or not list(project.path.glob(fourth)):
                assert process.poll() is None
                time.sleep(0.01)
            [folder] = Home(project.path / ".provio").run_folders()
            with pytest.raises(Indivisible):
                divided(folder)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
    monkeypatch.setattr(survey, "PARTITION_SIZE", 1)
    assert len(divided(folder).groups) >= 5
    assert_same(folder)


# Two processes have a file open for writing that others use too; one of them runs until it reads a line.
IN_PROGRESS = """
exec 8>> log; echo one >&8; sort log > sorted
(exec 9>> log; echo two >&9; sort log -o kept; echo > ready; read line < gate; echo three >&9; sort log -o last)
"""


def wait_until_idle(folder: Path) -> None:
    """Wait until the remaining processes of a run only sleep, so that nothing more is written to it."""
    deadline = time.monotonic() + 60
    while {state(int(file.name.split(".")[0])) for file in folder.glob("*/[1-9]*")} - {"", "Z", "S"}:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextlib.contextmanager
def run_in_progress(project: Project) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Keep a run in progress; yield its folder, and a function that ends it."""
    (project.path / "in").write_text("b\na\nb\n")
    os.mkfifo(project.path / "gate")
    command = [*provio_command(), "run", "--quiet", "--no-merge", "--", "bash", "-c", INDEPENDENT + IN_PROGRESS]
    process = subprocess.Popen(command, cwd=project.path, env=project.env)

    def end() -> None:
        tell(project.path / "gate", "on\n")
        assert process.wait(60) == 0

    try:
        wait_for(project.path / "ready", b"\n")
        [folder] = Home(project.path / ".provio").run_folders()
        wait_until_idle(folder)
        yield folder, end
    finally:
        if process.poll() is None:
            process.terminate()  # it forwards the signal
            process.wait(60)


@pytest.mark.integration
@pytest.mark.parametrize("large", [1 << 40, 1 << 10], ids=["whole files", "files in parts"])
def test_the_same_of_a_run_in_progress(project: Project, monkeypatch: pytest.MonkeyPatch, large: int) -> None:
    """It is merged in one state, although it is read twice, and again after its end."""
    monkeypatch.setattr(survey, "PARTITION_SIZE", 1)
    monkeypatch.setattr(run_source, "LARGE", large)
    home = Home(project.path / ".provio")
    with run_in_progress(project) as (folder, end):
        with pytest.raises(Indivisible):
            divided(folder)
        assert len(divided_copy(folder).groups) >= 4
        assert_same(folder, divided_copy)
        with monkeypatch.context() as patch:
            patch.setattr(job, "is_large", lambda _: True)
            patch.setattr(job, "_trace", None)  # no run is read as a whole
            overlay = live.open_overlay(home, [folder], Config())
            before = quads(overlay.home)
            overlay.close()
            end()
            assert merge(home).merged == [folder.name]
    kept = quads(home)
    assert kept - before
    merge(home, rebuild=True)
    assert quads(home) == kept


@pytest.mark.integration
def test_a_file_that_changes_between_the_readings(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is open for writing keeps its first observed state for all its users."""
    monkeypatch.setattr(survey, "PARTITION_SIZE", 1)
    monkeypatch.setattr(survey, "WIDE", 1)
    read = survey.Survey.read

    def changed(found: survey.Survey, portion: list[survey.ProcessFiles]) -> Trace:
        with (project.path / "log").open("a") as file:
            file.write("more\n")
        return read(found, portion)

    monkeypatch.setattr(survey.Survey, "read", changed)
    with run_in_progress(project) as (folder, end):
        whole = content_of(partitions.prepare(Partitions(postprocess(read_run(folder))), Config()))
        found = divided_copy(folder)
        assert found.wide
        assert content_of(partitions.prepare(found, Config(), contextlib.nullcontext)) == whole
        end()


@pytest.mark.integration
def test_the_same_of_programs_that_cannot_be_watched(
    project: Project, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every partition knows the files that a static program may have written."""
    source = built.parent / "static.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("made"); return 0; }\n')
    made = subprocess.run(["cc", "-static", "-o", project.path / "blind", source], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("needs a static C library")
    folder = folder_of(project, "./blind > blind.out; sort blind.out > seen\n" + INDEPENDENT)
    monkeypatch.setattr(survey, "PARTITION_SIZE", 1)
    assert len(divided(folder).groups) >= 4
    assert read_run(folder).unwatched
    assert_same(folder)


@pytest.mark.integration
def test_the_same_where_mounts_differ(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names observed in a container are mapped to those outside, in every partition."""
    made = subprocess.run(["unshare", "-m", "mount", "--bind", "/", "/mnt"], capture_output=True, check=False)
    if os.geteuid() != 0 or made.returncode != 0:
        pytest.skip("needs root, and a mount namespace of its own")
    (project.path / "data").mkdir()
    inside = "mount --bind data /mnt; cd /mnt; cp ../$PWD0/in a; sort a > b".replace("../$PWD0", str(project.path))
    folder = folder_of(project, f"unshare -m sh -c '{inside}'; cp data/b c; " + INDEPENDENT)
    monkeypatch.setattr(survey, "PARTITION_SIZE", 1)
    assert len(divided(folder).groups) >= 4
    assert read_run(folder).contained
    assert_same(folder)


@pytest.mark.integration
def test_the_same_of_an_archived_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive is read like its folder, in any order of files; no copy is left on the disk."""
    folder = folder_of(project, DEPENDENT)
    home = Home(project.path / ".provio")
    merge(home)
    whole = quads(home)
    project.provio("merge", "--pack")
    assert not folder.exists()
    monkeypatch.setattr(survey, "PARTITION_SIZE", 1)
    monkeypatch.setattr(job, "is_large", lambda _: True)
    found = job.read(job.Job(folder, 0, None), home, Config())
    assert found.prepared
    assert isinstance(found.prepared.pieces, Generator)
    before = set(home.path.iterdir())
    assert merge(home, rebuild=True).merged == [folder.name]
    assert quads(home) == whole
    assert set(home.path.iterdir()) <= before


@pytest.mark.integration
def test_a_run_that_changes_between_its_readings(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first result is discarded: a copy of the present state is read, and is in the store."""
    folder = folder_of(project, INDEPENDENT)
    monkeypatch.setattr(survey, "PARTITION_SIZE", 1)
    monkeypatch.setattr(job, "is_large", lambda _: True)
    read, last = survey.Survey.read, max(folder.rglob("*.0.ttl"))
    late = f"<{last.stem.rsplit('.', 1)[0]}/late> a <https://w3id.org/provio/ns#Gap> .\n"

    def changed(found: survey.Survey, portion: list[survey.ProcessFiles]) -> Trace:
        if late not in last.read_text():
            with last.open("a") as file:
                file.write(late)
        return read(found, portion)

    monkeypatch.setattr(survey.Survey, "read", changed)
    monkeypatch.setattr(job, "_trace", None)  # no run is read as a whole
    home = Home(project.path / ".provio")
    assert merge(home).merged == [folder.name]
    assert merge(home).unchanged == 1
    kept = quads(home)
    monkeypatch.undo()
    merge(home, rebuild=True)
    assert quads(home) == kept


@pytest.mark.integration
def test_the_same_store(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run merged in partitions is the same in the store, it counts as merged, and a repeated merge changes
    nothing."""
    folder_of(project, DEPENDENT + INDEPENDENT)
    home = Home(project.path / ".provio")
    merge(home)
    whole = quads(home)
    monkeypatch.setattr(survey, "PARTITION_SIZE", 1)
    monkeypatch.setattr(job, "is_large", lambda _: True)
    assert len(merge(home, rebuild=True).merged) == 1
    assert quads(home) == whole
    assert merge(home).unchanged == 1


@pytest.mark.integration
def test_killed_between_partitions(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill at any partition leaves nothing of the run visible, and the next merge has all of it; it can be
    removed."""
    home = Home(project.path / ".provio")
    project.sh("echo 0 > before; echo b > in")
    project.provio("run", "--quiet", "--", "sort", "before", "-o", "after")
    project.provio("merge", "--quiet")
    monkeypatch.setattr(job, "is_large", lambda _: True)
    monkeypatch.setattr(survey, "PARTITION_SIZE", 1)
    before = quads(home)
    project.provio("run", "--quiet", "--no-merge", "--name", "large", "--", "bash", "-c", INDEPENDENT)
    for number in (1, 3, 5):
        command = [sys.executable, "-c", KILLED, str(number), "merge"]
        done = subprocess.run(command, cwd=project.path, env=project.env, check=False)
        assert done.returncode == -signal.SIGKILL
        assert quads(home) == before
    assert len(merge(home).merged) == 1
    after = quads(home)
    monkeypatch.undo()
    merge(home, rebuild=True)
    assert quads(home) == after > before
    project.provio("rm", "--yes", "large")
    assert quads(home) == before


@pytest.mark.integration
def test_a_run_that_cannot_be_divided(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a partition would lack relevant facts, the run is read as a whole."""
    declaration = 'python3 -c \'import provio; provio.used("e/f/a"); provio.generated("out")\''
    folder = folder_of(project, f"{MOVED}; {declaration}")
    with pytest.raises(Indivisible):
        divided(folder)
    monkeypatch.setattr(job, "is_large", lambda _: True)
    home = Home(project.path / ".provio")
    assert merge(home).merged == [folder.name]


@pytest.mark.integration
def test_a_damaged_file_is_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of a large run with damaged files is merged, partition by partition."""
    folder = folder_of(project, INDEPENDENT)
    lost, *_, damaged = sorted(folder.rglob("*.0.ttl"))
    damaged.write_bytes(damaged.read_bytes() + b" <a1> is no triple .\n")
    lost.write_bytes(b"no Turtle\n")
    monkeypatch.setattr(survey, "PARTITION_SIZE", 1)
    assert_same(folder)
    assert_same(folder, divided_copy)
    monkeypatch.setattr(job, "is_large", lambda _: True)
    outcome = merge(Home(project.path / ".provio"))
    assert outcome.merged == [folder.name]
    assert lost.name in outcome.damages[0]
    assert damaged.name in outcome.damages[1]


@pytest.mark.integration
def test_a_large_run_is_merged_at_its_end(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the run does not read all of it: the merge does, in partitions."""
    folder = folder_of(project, INDEPENDENT)
    home = Home(project.path / ".provio")
    monkeypatch.setattr(job, "is_large", lambda _: True)
    recording = Recording(home, folder.name, [], None, 0, folder)
    said = after_run._merge(recording, Lock(home, wait=True), Config())
    assert said.startswith(f"run {folder.name}: many processes, recorded in")
    assert run_source.pending(home) == []
    assert len(list(StoreReader(home).rows("SELECT ?p { ?p a provio:Process }"))) >= 5


def test_text_alone_makes_a_run_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The padding of thread files does not count."""
    host = tmp_path / "run" / "host"
    host.mkdir(parents=True)
    monkeypatch.setattr(job, "MANY", 1)
    monkeypatch.setattr(job, "WHOLE", 100_000)
    for number in range(3):
        (host / f"{number}.ttl").write_text("<> a 1 .\n" * 3_000 + "#" * 50_000 + "\n")
        (host / f"{number}.calls.ttl").write_text("<> a 1 .\n" * 3_000)
    assert not job.is_large(host.parent)
    (host / "3.ttl").write_text("<> a 1 .\n" * 3_000)
    assert job.is_large(host.parent)


def test_the_files_of_all_hosts_make_a_run_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of ranks may have few files on each host."""
    monkeypatch.setattr(job, "MANY", 2)
    monkeypatch.setattr(job, "WHOLE", 50_000)
    for number in range(3):
        assert not job.is_large(tmp_path)
        (tmp_path / f"host{number}").mkdir()
        (tmp_path / f"host{number}" / "0.ttl").write_text("<> a 1 .\n" * 3_000)
    assert job.is_large(tmp_path)
