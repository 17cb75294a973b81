"""The number of steps grows in proportion to the run: counted with synthetic facts."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from provio.base.folders import Tree
from provio.lineage import versions
from provio.lineage.conclusions import conclude
from provio.lineage.identity import Identity
from provio.lineage.model import SECOND, TICK, Span, Version
from provio.lineage.writing import Writing
from provio.system.statx import Facts
from provio.trace.facts import Access, Connection, Event, Opening, Process, Thread
from provio.trace.fast.compact_record import Packed
from provio.trace.post_run import _CurrentNames
from provio.trace.run_facts import Task, Trace, Unwatched

BEGAN = 1_795_000_000 * SECOND
EACH = SECOND // 100
APPEND, CREATE = os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def file(inode: int, moment: int, size: int) -> Facts:
    return Facts("259:1", inode, BEGAN - SECOND, moment, moment, size)


def at(number: float) -> int:
    return BEGAN + int(number * EACH)


class Run:
    """A trace under construction."""

    def __init__(self) -> None:
        self.trace = Trace(Path(), "id", {"host": "node", "startedNs": str(BEGAN)}, [], {}, [], [], "")

    def process(self, number: int = 0) -> Thread:
        """A process with a start time equal to its number."""
        record = {"image": "exec", "startedNs": str(at(number)), "argv": "job", "cwd": "/d", "executable": "/job"}
        iri = f"{self.trace.iri}/node/{number + 7}.1.0/"
        process = self.trace.processes[iri] = Process(iri, "node", number + 7, number, "0", record)
        return Thread(iri + "0/", process, number + 7, BEGAN)

    def opened(self, thread: Thread, path: str, facts: Facts, flags: int, number: float) -> Opening:
        process = thread.process
        label, name = f"o{len(process.openings)}", path.encode()
        one = Opening(label, process, "FileVersion", name, facts, flags, at(number), False, False, None, 0)
        process.openings.append(one)
        return one

    def accessed(self, thread: Thread, opening: Opening, first: float, last: float) -> None:
        """Add an access in an interval, a write if `written`, otherwise a read."""
        access = Access(f"a{opening.label}", thread, opening, Packed({}))
        moments = at(first), at(last)
        if opening.writable:
            access.first_write, access.last_write = moments
        else:
            access.first_read, access.last_read = moments
        opening.accesses.append(access)
        opening.closed = at(last) + 1

    def event(self, thread: Thread, kind: str, number: float, **record: str) -> Event:
        process = thread.process
        one = Event(f"{process.iri}e{len(process.events)}", kind, process, thread, at(number), Packed(record))
        process.events.append(one)
        return one

    def renamed(self, thread: Thread, number: int, facts: Facts, old: str, new: str) -> None:
        known = {"device": facts.device, "inode": str(facts.inode), "birthNs": str(facts.birth)}
        known |= {"mtimeNs": str(facts.mtime), "size": str(facts.size)}
        self.event(thread, "Rename", number, **known, **{"from": old, "to": new})


def a_log(count: int) -> Run:
    """One process appends to a log all the time, and each of many others once; each content is read."""
    run = Run()
    keeper = run.process()
    log = run.opened(keeper, "/d/log", file(1, at(0), 0), APPEND, 0)
    run.accessed(keeper, log, 0, count + 2)
    for number in range(1, count + 1):
        writer, reader = run.process(2 * number - 1), run.process(2 * number)
        line = run.opened(writer, "/d/log", file(1, at(number - 0.5), number - 1), APPEND, number)
        run.accessed(writer, line, number + 0.1, number + 0.5)
        content = run.opened(reader, "/d/log", file(1, at(number + 0.5), number), os.O_RDONLY, number + 0.6)
        run.accessed(reader, content, number + 0.6, number + 0.7)
    return run


def overwritten(count: int) -> Run:
    """Each process overwrites one file."""
    run = Run()
    for number in range(1, count + 1):
        writer = run.process(number)
        opening = run.opened(writer, "/d/x", file(1, at(number - 0.5), 4), CREATE, number)
        run.accessed(writer, opening, number + 0.1, number + 0.5)
        opening.at_close = file(1, at(number + 0.5), 4)
    return run


def mapped(count: int) -> Run:
    """One process writes many files through maps."""
    run = Run()
    thread = run.process()
    for number in range(1, count + 1):
        opening = run.opened(thread, f"/d/{number}", file(number, at(0), 4), os.O_RDWR, number)
        map_ = run.event(thread, "Map", number + 0.1, object=opening.iri, protection="3", shared="true")
        done = {"map": map_.iri, "mtimeNs": str(at(number + 0.2)), "size": "4"}
        run.event(thread, "Unmap", number + 0.3, **done)
        opening.closed = at(number + 0.4)
    return run


def compiled(count: int) -> Run:
    """One process compiles many Python sources."""
    run = Run()
    thread = run.process()
    for number in range(1, count + 1):
        source = run.opened(thread, f"/d/m{number}.py", file(2 * number, at(-9), 4), os.O_RDONLY, number)
        run.accessed(thread, source, number + 0.1, number + 0.1)
        code = run.opened(
            thread, f"/d/__pycache__/m{number}.c-1.pyc", file(2 * number + 1, at(number), 0), CREATE, number
        )
        run.accessed(thread, code, number + 0.2, number + 0.3)
    return run


def unread(count: int) -> Run:
    """A process opens many files without reading them, and deletes many."""
    run = Run()
    thread = run.process()
    for number in range(1, count + 1):
        run.opened(thread, f"/d/{number}", file(number, at(-9), 4), os.O_RDONLY, number).closed = at(number + 0.1)
        run.event(thread, "Delete", number + 0.2, path=f"/d/other{number}")
    return run


def handed_on(count: int) -> Run:
    """A process opens one file for each of many others, which inherit it."""
    run = Run()
    parent = run.process()
    for number in range(1, count + 1):
        for thread in parent, run.process(number):
            opening = run.opened(thread, "/d/x", file(1, at(-9), 4), os.O_RDONLY, number)
        opening.inherited = True
        run.accessed(thread, opening, number + 0.1, number + 0.2)
    return run


def redirected(count: int) -> Run:
    """Many processes open a log each for a command that inherits it."""
    run = Run()
    for number in range(1, count + 1):
        shell, command = run.process(2 * number), run.process(2 * number + 1)
        for thread in shell, command:
            facts = file(1, at(2 * number - 0.5), number - 1)
            opening = run.opened(thread, "/d/log", facts, APPEND, 2 * number)
        opening.inherited = True
        run.accessed(command, opening, 2 * number + 0.1, 2 * number + 0.2)
    return run


def inherited_maps(count: int) -> Run:
    """A process maps many files for reading, and has many forks."""
    run = Run()
    parent = run.process()
    for number in range(1, count + 1):
        opening = run.opened(parent, f"/d/{number}", file(number, at(-9), 4), os.O_RDONLY, number / count)
        run.event(parent, "Map", 1, object=opening.iri, protection="1", shared="true")
    for number in range(1, count + 1):
        fork = run.process(number + 1)
        fork.process.record["image"] = "fork"
        run.event(parent, "Fork", number + 1, childPid=str(fork.process.pid), childTick=str(fork.process.tick))
        output = run.opened(fork, f"/d/out{number}", file(count + number, at(number), 0), CREATE, number + 1.1)
        run.accessed(fork, output, number + 1.2, number + 1.3)
    return run


def mapped_in_tasks(count: int) -> Run:
    """Many Tasks of one process, each of which maps a file for reading."""
    run = Run()
    thread = run.process()
    for number in range(1, count + 1):
        task = f"{thread.process.iri}t{number}"
        times = {"startedNs": str(at(number)), "endedNs": str(at(number + 0.9))}
        run.trace.tasks[task] = Task(task, thread.process, {"task": "job"} | times)
        opening = run.opened(thread, f"/d/{number}", file(number, at(-9), 4), os.O_RDONLY, number + 0.1)
        run.event(thread, "Map", number + 0.2, object=opening.iri, protection="1", shared="true", task=task)
    return run


def shared_for_a_moment(count: int) -> Run:
    """One process maps a file all the time, and each of many others for a moment."""
    run = Run()
    for number in range(count + 1):
        thread, end = run.process(number), number + 0.3 if number else count + 2
        opening = run.opened(thread, "/d/x", file(1, at(0), 4), os.O_RDWR, number)
        map_ = run.event(thread, "Map", number + 0.1, object=opening.iri, protection="3", shared="true")
        run.event(thread, "Unmap", end, map=map_.iri, mtimeNs=str(at(0)), size="4")
        opening.closed = at(end + 0.1)
    return run


def shared_by_pairs(count: int) -> Run:
    """Many pairs of processes, each of which shares the memory of a file."""
    run = Run()
    for number in range(count):
        place = number // 2
        thread = run.process(number)
        opening = run.opened(thread, f"/d/{place}", file(place + 1, at(0), 4), os.O_RDWR, 2 * place)
        map_ = run.event(thread, "Map", 2 * place + 0.1, object=opening.iri, protection="3", shared="true")
        run.event(thread, "Unmap", 2 * place + 0.3, map=map_.iri, mtimeNs=str(at(0)), size="4")
        opening.closed = at(2 * place + 0.4)
    return run


def sent(count: int) -> Run:
    """A process opens many files, and sends their descriptors over one connection to a process that reads them."""
    run = Run()
    sender, receiver = run.process(), run.process(1)
    near, far = run.opened(sender, "", file(1, 0, 0), os.O_RDWR, 0), run.opened(receiver, "", file(2, 0, 0), 0, 0)
    near.kind = far.kind = "Socket"
    near.connection, far.connection = Connection(peer_inode=2), Connection(peer_inode=1)
    run.accessed(sender, near, 0.1, count + 1)
    run.accessed(receiver, far, 0.1, count + 1)
    for number in range(1, count + 1):
        for thread in sender, receiver:
            opening = run.opened(thread, f"/d/{number % 7}", file(3 + number % 7, at(-9), 4), os.O_RDONLY, number)
        opening.inherited = True
        run.accessed(receiver, opening, number + 0.1, number + 0.2)
    return run


def moved(count: int) -> Run:
    """Many folders, each renamed while a file was written in it."""
    run = Run()
    thread = run.process()
    for number in range(1, count + 1):
        path = f"/d/new{number}/out"
        opening = run.opened(thread, path, file(number, at(number), 0), CREATE, number)
        run.accessed(thread, opening, number + 0.1, number + 0.2)
        opening.at_close = file(number, at(number + 0.2), 4)
        run.renamed(thread, number + 1, file(count + number, at(number), 0), f"/d/new{number}", f"/d/done{number}")
    return run


def logs(count: int) -> Run:
    """A process writes one output from each of many inputs, and many logs all the time."""
    run = Run()
    thread = run.process()
    kept = [run.opened(thread, f"/d/log{n}", file(n, at(0), 0), CREATE, 0.5) for n in range(1, count // 10 + 1)]
    for number in range(1, count + 1):
        read_and_write(run, thread, number, count)
    for number, log in enumerate(kept, start=1):
        run.accessed(thread, log, 0.6, count + 1)
        log.at_close = file(number, at(count + 1), count)
    return run


def read_and_write(run: Run, thread: Thread, number: int, count: int) -> None:
    """One phase of a process: it reads a new file and writes another one."""
    inode = (2 * thread.process.pid + 1) * 2 * count + number
    opening = run.opened(thread, f"/d/in{inode}", file(inode, at(-9), 4), os.O_RDONLY, number)
    run.accessed(thread, opening, number + 0.1, number + 0.2)
    output = run.opened(thread, f"/d/out{inode}", file(inode + count, at(number), 0), CREATE, number + 0.3)
    run.accessed(thread, output, number + 0.4, number + 0.5)
    output.at_close = file(inode + count, at(number + 0.5), 4)


def sized_pool(count: int) -> Run:
    """A process sends tasks to a worker by a pipe, and writes files; so does the worker."""
    run = Run()
    for place, (side, flags) in enumerate((("write", os.O_WRONLY), ("read", os.O_RDONLY))):
        thread, moment = run.process(place), 0.25 + place / 100
        pipe(run, thread, flags, side, [number + moment for number in range(1, count + 1)])
        for number in range(1, count + 1):
            read_and_write(run, thread, number, count)
    return run


def pipe(run: Run, thread: Thread, flags: int, side: str, moments: list[float]) -> None:
    """An end of a pipe, through which four bytes are moved at each of some moments."""
    opening = run.opened(thread, "", file(1, 0, 0), flags, moments[0])
    opening.kind = "Pipe"
    access = Access("a", thread, opening, Packed({side + "Bytes": str(4 * len(moments)), side + "Api": side}))
    turns = [(at(one), 4 * place, at(after)) for place, (one, after) in enumerate(pairwise(moments), start=1)]
    access.turns = {side: turns}
    setattr(access, "first_" + side, at(moments[0]))
    setattr(access, "last_" + side, at(moments[-1]))
    opening.accesses.append(access)


def pool(count: int) -> Run:
    """Such a pool, where it is not known which bytes were read when."""
    run = sized_pool(count)
    worker = [*run.trace.processes.values()][1]
    pipe(run, Thread(f"{worker.iri}1/", worker, 9, BEGAN), os.O_RDONLY, "read", [1])  # more than was written
    return run


def queue(count: int) -> Run:
    """Many processes write into a FIFO, and many read from it."""
    run = Run()
    for number in range(count):
        pipe(run, run.process(2 * number), os.O_WRONLY, "write", [2 * number + 0.1])
        pipe(run, run.process(2 * number + 1), os.O_RDONLY, "read", [2 * number + 1.1])
    return run


def killed(count: int) -> Run:
    """Many threads of a process that was killed while each of them wrote into a pipe."""
    run = Run()
    writer, reader = run.process(), run.process(1)
    for number in range(count):
        thread = Thread(f"{writer.process.iri}{number}/", writer.process, number + 7, BEGAN)
        opening = run.opened(thread, "", file(1, 0, 0), os.O_WRONLY, number)
        opening.kind = "Pipe"
        opening.accesses.append(Access("a", thread, opening, Packed({"attempted": "1"})))
    pipe(run, reader, os.O_RDONLY, "read", [count])
    return run


def attributes(count: int) -> Run:
    """A process sets and gets an attribute of a file many times."""
    run = Run()
    thread = run.process()
    one = file(1, at(-9), 4)
    known = {"device": one.device, "inode": "1", "birthNs": str(one.birth), "mtimeNs": str(one.mtime), "size": "4"}
    for number in range(count):
        run.event(thread, "SetAttribute", number, **known, path="/d/x", attribute="user.x")
        run.event(thread, "GetAttribute", number + 0.5, **known, path="/d/x", attribute="user.x")
    return run


def unwatched(run: Run, parent: Thread, number: int) -> None:
    """A program that could not be watched."""
    process = run.process(number + 1).process
    child = {"childPid": str(process.pid), "childTick": str(process.tick)}
    run.event(parent, "Spawn", number + 0.3, **child)
    run.trace.unwatched.append(Unwatched(process, process.iri + "unwatched", "static", at(number + 0.3)))


def unwatched_programs(count: int) -> Run:
    """A process writes many files, and starts a program after each."""
    run = Run()
    thread = run.process()
    for number in range(1, count + 1):
        read_and_write(run, thread, number, count)
        unwatched(run, thread, number)
    return run


def unwatched_writers(count: int) -> Run:
    """Many programs append to a log, which the process that starts them reads after each; so do other files change."""
    run = Run()
    thread = run.process()
    run.opened(thread, "/d/log", file(1, at(0), 0), APPEND, 0.5)
    for number in range(1, count + 1):
        unwatched(run, thread, number)
        for path, inode in (("/d/log", 1), (f"/d/{number}", number + 1)):
            opening = run.opened(thread, path, file(inode, at(number + 0.5), number), os.O_RDONLY, number + 0.6)
            run.accessed(thread, opening, number + 0.6, number + 0.7)
    return run


def nested_servers(count: int) -> Run:
    """Each process starts the next one, and accepts a connection of a client that is not known."""
    run = Run()
    for number in range(count):
        thread = run.process(number)
        thread.process.record["parentPid"] = str(number + 6)
        opening = run.opened(thread, "/d/socket", file(number + 1, 0, 0), os.O_RDWR, number)
        opening.kind, opening.connection = "Socket", Connection(peer_pid=1)
        run.accessed(thread, opening, number + 0.1, number + 0.2)
    return run


def steps(what: Callable[[], object]) -> int:
    """Return the number of executed interpreter instructions."""
    count = 0

    def one(frame: FrameType, kind: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += kind == "opcode"
        return one

    before = sys.gettrace()
    sys.settrace(one)
    try:
        what()
    finally:
        sys.settrace(before)
    return count


def concluding(run: Run) -> Callable[[], object]:
    return lambda: conclude(run.trace, Identity(run.trace))


def naming(run: Run) -> Callable[[], object]:
    """Return the present place of each file of a run."""
    return lambda: [names.of(opening) for names in [_CurrentNames(run.trace)] for opening in run.trace.openings()]


@pytest.mark.parametrize(
    ("shape", "count", "doing"),
    [
        (a_log, 50, concluding),
        (overwritten, 100, concluding),
        (mapped, 100, concluding),
        (compiled, 100, concluding),
        (unread, 100, concluding),
        (sent, 100, concluding),
        (handed_on, 100, concluding),
        (redirected, 100, concluding),
        (inherited_maps, 100, concluding),
        (mapped_in_tasks, 100, concluding),
        (shared_for_a_moment, 100, concluding),
        (shared_by_pairs, 100, concluding),
        (sized_pool, 40, concluding),
        (pool, 40, concluding),
        (queue, 50, concluding),
        (killed, 50, concluding),
        (attributes, 50, concluding),
        (unwatched_programs, 50, concluding),
        (unwatched_writers, 50, concluding),
        (nested_servers, 50, concluding),
        (moved, 100, concluding),
        (moved, 100, naming),
    ],
)
@pytest.mark.integration
def test_four_times_as_much_takes_four_times_the_steps(
    shape: Callable[[int], Run], count: int, doing: Callable[[Run], Callable[[], object]]
) -> None:
    """Or slightly more, where data are sorted."""
    _, few, many = (steps(doing(shape(number))) for number in (5, count, 4 * count))  # the first fills caches
    assert many < 4.7 * few


@pytest.mark.integration
def test_many_logs_of_a_process_with_many_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """From a number of phases on, the steps for each log do not grow with it."""
    monkeypatch.setattr(versions, "MOST", 4)
    _, few, many = (steps(concluding(logs(number))) for number in (10, 40, 160))
    assert many < 4.7 * few


def test_the_spans_that_concern_a_version() -> None:
    """They equal those that a check of each span finds, in order."""
    chance = random.Random(7)
    process = Run().process().process
    for _ in range(200):
        count = chance.choice((3, 17, 40))
        spans = []
        for _ in range(count):
            first, lasted, more = chance.randrange(50), chance.choice((0, 1, 5, 50)), chance.choice((0, 0, 30))
            facts = file(1, first + lasted, 4) if chance.random() < 0.5 else None
            spans.append(
                Span(
                    process,
                    ("259:1", 1, 0),
                    *(n * TICK for n in (first, first + lasted, first + lasted + more)),
                    final=facts,
                )
            )
        writing = Writing(spans)
        for _ in range(20):
            version = Version(
                "v", file(1, chance.randrange(60) * TICK + chance.randrange(2), 4), seen=chance.randrange(70) * TICK
            )
            assert writing.enclosing(version) == [span for span in spans if span.encloses(version)]
            since, moment = sorted(chance.randrange(110) * TICK for _ in range(2))
            plain = [span for span in spans if span.last > since and span.first <= moment]
            assert writing.between(since, moment) == plain


def test_the_paths_in_a_folder() -> None:
    """They are those that start with the folder and a slash, for any earlier removals and additions."""
    chance = random.Random(7)
    for _ in range(100):
        tree, plain = Tree(), set[bytes]()
        for _ in range(60):
            path = b"/".join(chance.choice((b"a", b"b", b"", b"ab")) for _ in range(chance.randrange(1, 6)))
            if chance.random() < 0.7:
                tree.add(path)
                plain.add(path)
            else:
                below = {known for known in plain if known.startswith(path + b"/")}
                assert below <= set(tree.take(path))
                plain -= below


def test_the_place_of_files_in_moved_folders() -> None:
    """A path follows each later move of a folder that contains it."""
    chance = random.Random(7)
    for _ in range(100):
        run = Run()
        thread = run.process()
        moves = []
        for number in range(30):
            old, new = (
                b"/" + b"/".join(chance.choice((b"a", b"b", b"c")) for _ in range(chance.randrange(1, 4))) for _ in "on"
            )
            moves.append((at(number // 2), old, new))
            run.renamed(thread, number // 2, file(9 + number, 0, 0), old.decode(), new.decode())
        names = _CurrentNames(run.trace)
        for number in range(30):
            path = start = b"/" + b"/".join(chance.choice((b"a", b"b", b"c")) for _ in range(4))
            for moment, old, new in moves:
                if moment >= at(number / 2) and path.startswith(old + b"/"):
                    path = new + path[len(old) :]
            assert names._moved(at(number / 2), start) == path
