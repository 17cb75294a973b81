"""Synthetic records ("stories") for the golden results of named queries: a home in, run folders in it out.

A story is a function with its name; it sets the inodes of its files, so that its results never change. Add a new story
instead of a run in an existing one, because that would change its results.
"""

from __future__ import annotations

from collections.abc import Callable

from synthetic_traces import File, Process, Run

from provio.base.vocab import PROV, XSD
from provio.settings.home import Home


def project(home: Home) -> None:
    """A small analysis: a table is sorted, joined with another that is edited by hand, joined again, and cut into a
    figure, with a log that is not read; then the first input changes, and the first step is repeated."""
    raw, west, stations = (File(f"/data/{name}", inode) for name, inode in
                           (("raw/west.csv", 11), ("west.csv", 12), ("stations.csv", 13)))  # fmt: skip
    xcorr, figure, log = (File(f"/data/{name}", inode) for name, inode in
                          (("xcorr.csv", 14), ("fig3.csv", 15), ("fig3.log", 16)))  # fmt: skip
    first = Run(home, 1, "./decimate", name="decimate", campaign="das-2026", exitCode=0)
    first.environment("VIRTUAL_ENV", "/home/ada/venv")
    first.environment("LOADEDMODULES", "gcc/12.2:hdf5/1.14.3")
    _step(first, "sort", "raw/west.csv", reads=[raw], writes=[west])
    first.write()
    second = Run(home, 2, "./xcorr", name="correlate", campaign="das-2026", exitCode=0)
    _step(second, "join", "west.csv stations.csv", reads=[west, stations], writes=[xcorr])
    second.write()
    stations.mtime, stations.size = second.now + 1_000_000_000, 5000
    third = Run(home, 3, "./xcorr --window 8", name="again", campaign="das-2026", exitCode=1, gitCommit="c0ffee")
    _step(third, "join", "--window 8 west.csv stations.csv", reads=[west, stations], writes=[xcorr])
    third.write()
    fourth = Run(home, 4, "./figure", campaign="paper", user="grace", signal=9)
    process = _step(fourth, "cut", "-c1-3 xcorr.csv", reads=[xcorr], writes=[figure, log])
    process.say('<g1> a :Gap ; :about <../> ; :reason "no space left on the trace\'s file system"')
    fourth.write()
    raw.mtime, raw.size = fourth.now + 1_000_000_000, 6000
    fifth = Run(home, 5, "./decimate", name="decimate", campaign="das-2027", exitCode=0)
    _step(fifth, "sort", "raw/west.csv", reads=[raw], writes=[west])
    fifth.write()


def _step(run: Run, program: str, arguments: str, *, reads: list[File], writes: list[File]) -> Process:
    """A process that reads files, then writes others, one after the other."""
    process = run.process(program, *arguments.split())
    for file in reads:
        process.plain(file).read().read().close()
    for file in writes:
        process.plain(file, "w").write().write().write().close()
    return process


def ranks(home: Home) -> None:
    """Two ranks of one program write a dataset each into a file of their own; a third process puts both together."""
    run = Run(home, 1, "mpirun -n 2 ./sim", exitCode=0)
    parts = [File(f"/data/part{rank}.h5", 21 + rank) for rank in range(2)]
    for rank, part in enumerate(parts):
        process = run.process("sim", str(rank))
        process.say(f"<../> :rank {rank}")
        handle = process.h5(part, "w").write("/u", new=True).write("/u")
        handle.write("/u", "units", new=True).close()
    whole = File("/data/whole.h5", 23)
    process = run.process("gather")
    handles = [process.h5(part).read("/u") for part in parts]
    process.h5(whole, "w").write("/stack", new=True).close()
    for handle in handles:
        handle.close()
    run.write()


def inside(home: Home) -> None:
    """Datasets of one file go into datasets of another; that is updated, a group of it is copied into a third file, and
    copied on from there; a group is moved."""
    source, out, copy, again = (File(f"/data/{name}.h5", 31 + place) for place, name in enumerate("abcd"))
    settings = File("/data/settings.txt", 35)
    first = Run(home, 1, "./make", exitCode=0)
    process = first.process("make")
    left, right = process.h5(source), process.h5(out, "w")
    left.read("/x")
    right.write("/g/p", new=True)
    left.read("/y").read("/y", "units")
    right.write("/g/q", new=True).write("/g/q", "units", new=True).write("/d", new=True)
    first.write()
    second = Run(home, 2, "./update", exitCode=0)
    process = second.process("update")
    process.plain(settings).read()
    process.h5(out, "r+").write("/d").write("/g/p", whole=True).delete("/g/q", "units")
    second.write()
    third = Run(home, 3, "./copy", exitCode=0)
    process = third.process("copy")
    process.h5(out).copy("/g", process.h5(copy, "w"), "/h/k", "Group")
    third.write()
    fourth = Run(home, 4, "./again", exitCode=0)
    process = fourth.process("again")
    process.h5(copy).copy("/h/k", process.h5(again, "w"), "/l", "Group").close()
    fourth.write()
    fifth = Run(home, 5, "./move", exitCode=0)
    fifth.process("move").h5(out, "r+").move("/g", "/n")
    fifth.write()


def notebook(home: Home) -> None:
    """A notebook: a cell reads a table, the next fails, a third writes the data of the first, and in it a function of
    the program writes a log."""
    table, out, log = (File(f"/data/{name}", 41 + place) for place, name in enumerate(("in.csv", "out.csv", "log")))
    run = Run(home, 1, "./kernel", exitCode=0)
    process = run.process("kernel")
    process.begin("[1]", kind="cell", number=1, sourceText="table = read('in.csv')")
    process.plain(table).read().read().close()
    process.finish()
    process.begin("[2]", kind="cell", number=2, sourceText="1 / 0")
    process.finish("error")
    process.begin("[3]", kind="cell", number=3, sourceText="write('out.csv', table)")
    process.plain(out, "w").write().write().close()
    process.begin("note", kind="function")
    process.plain(log, "w").write().close()
    process.finish(back="../t3")
    process.finish()
    run.write()


def training(home: Home) -> None:
    """A training: twice in one run, the second time with another rate, each time saved; in the next run with the first
    rate again and another batch size, ended in the middle of its declarations; a table that is not a file."""
    data, model = File("/data/train.csv", 51), File("/data/model.pt", 52)
    first = Run(home, 1, "./train.py --lr 0.1", name="sweep", exitCode=0)
    process = first.process("train.py")
    table = process.entity("patients", "Table", "db/patients", rows=7)
    process.used(table)
    for fold, rate in enumerate((0.1, 0.01)):
        process.begin("fit", number=fold)
        process.configure("args", "Hyperparameter", lr=rate, batch=128, **{"optimizer.name": "adam"})
        process.plain(data).read().close()
        for step in (1, 2):
            process.metric("accuracy", (fold + step) / 4, step, "Accuracy")
        process.plain(model, "w").write().close()
        process.checkpoint(model.path, 2, loss=0.5 / (fold + 1))
        process.finish()
    first.write()
    second = Run(home, 2, "./train.py --lr 0.1 --batch 256", name="large", signal=9)
    process = second.process("train.py")
    process.configure("args", "Hyperparameter", lr=0.1, batch=256, **{"optimizer.name": "adam"})
    process.configure("paths", "", False, data="/data/train.csv")
    process.metric("accuracy", 0.9, 1, "Accuracy")
    second.write()


def meanwhile(home: Home) -> None:
    """A file that another run reads while it is being written."""
    log = File("/data/log", 61)
    first = Run(home, 1, "./write", exitCode=0)
    half = first.process("write", "log").plain(log, "w").write()
    second = Run(home, 2, "./follow", user="grace", exitCode=0)
    second.start = second.now = first.now
    second.process("cat", "log").plain(log).read().close()
    second.write()
    first.now = second.now
    half.write()
    first.write()


def searching(home: Home) -> None:
    """A rank opens a file that it finds at the fourth place where it looks."""
    run = Run(home, 1, "mpirun -n 1 ./sim", exitCode=0)
    process = run.process("sim")
    process.say("<../> :rank 0")
    failed = f'a :Failure ; <{PROV}startedAtTime> "2026-11-20T12:31:40.001Z"^^<{XSD}dateTime> ; :errno 2'
    process.say(f'<f1> {failed} ; :operation :Open ; :api "open" ; :count 0000000000000003')
    process.plain(File("/data/sim.conf", 71)).read().close()
    run.write()


def twice(home: Home) -> None:
    """A table is filtered, and counted, in two runs; the second filter has another limit: both results differ."""
    for number, (limit, digest) in enumerate((("5", "b"), ("6", "c")), 1):
        run = Run(home, number, "./job", name=f"limit{limit}", exitCode=0)
        table, rows, count = (File(f"/data/{name}", 80 + place) for place, name in enumerate(("t.csv", "rows", "n")))
        _step(run, "filter", f"--limit {limit} t.csv", reads=[table], writes=[rows])
        _step(run, "wc", "rows", reads=[rows], writes=[count])
        for file, letter in ((table, "a"), (rows, digest), (count, {"b": "d", "c": "e"}[digest])):
            run.hash(file, letter)
        run.write()


STORIES: dict[str, Callable[[Home], None]] = {
    "project": project,
    "ranks": ranks,
    "inside": inside,
    "notebook": notebook,
    "training": training,
    "meanwhile": meanwhile,
    "searching": searching,
    "twice": twice,
}
