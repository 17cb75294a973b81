"""Synthetic runs: the facts of many runs, and a store that the code of the merge makes of them.

Each run is a step of a pipeline: 100 workers read 6 outputs each of the step before and write 10 new files, 4 inputs
and 5 outputs first, then 2 and 5 more (so each has two phases, the second carried from the first). A new pipeline
starts with 600 raw files. The result is always the same; this module does not depend on the form of the graph.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from multiprocessing import Pool
from pathlib import Path

import pyoxigraph as ox

from provio.graph.lines import bundle_iri
from provio.graph.run import Whole, triples
from provio.lineage.conclusions import conclude
from provio.lineage.identity import Identity
from provio.merge.intake import index_of
from provio.settings.home import Home, make
from provio.settings.schema import Config
from provio.store.embedded.writer import StoreWriter
from provio.system.statx import Facts
from provio.trace.digests import Digests
from provio.trace.facts import Access, Opening, Process, Thread
from provio.trace.fast.compact_record import Packed
from provio.trace.run_facts import Trace

WORKERS, OUTPUTS, INPUTS = 100, 10, 6
MADE, USED = WORKERS * OUTPUTS, WORKERS * INPUTS
STEPS = 150  # of a pipeline; the gathered file of its last step has STEPS * USED ancestors
SECOND = 1_000_000_000
BEGAN = 1_795_000_000 * SECOND
RAW = 900_000_000  # inodes of files that no run made
MOUNT = {"mountPoint": "/data", "root": "/", "device": "259:1", "storageDomain": "5e1f"}


def made(step: int, number: int) -> tuple[bytes, Facts]:
    """Return the path and the facts of an output of a step; of step -1 those of a raw file."""
    inode = step * MADE + number if step >= 0 else RAW + number
    written = BEGAN + step * 100 * SECOND + 10 * SECOND + (number % OUTPUTS // 5) * 20 * SECOND
    return b"/data/%d/%d" % (step, number), Facts("259:1", inode, written, written + 9, written + 9, 4096 + number)


def needed(step: int, first: int, count: int) -> list[tuple[bytes, Facts]]:
    """Return some of the inputs of a step, spread over the outputs of the step before."""
    before = step - 1 if step % STEPS else -1
    return [made(before, (number * 7) % MADE) for number in range(first, first + count)]


class _Worker:
    """A process under construction; its openings are numbered in order."""

    def __init__(self, trace: Trace, number: int, began: int) -> None:
        iri = f"{trace.iri}/node/{1000 + number}.1.0/"
        record = {
            "image": "exec",
            "startedNs": str(began),
            "argv": f"step {number}",
            "cwd": "/data",
            "executable": "/step",
        }
        self.process = trace.processes[iri] = Process(iri, "node", 1000 + number, 1, "0", record)
        self.thread = Thread(iri + "0/", self.process, 1000 + number, began)
        self.process.threads.append(self.thread)

    def _open(self, path: bytes, facts: Facts, flags: int, moment: int) -> tuple[Opening, Access]:
        number = len(self.process.openings) + 1
        opening = Opening(f"o{number}", self.process, "FileVersion", path, facts, flags, moment, False, False, None, 0)
        access = Access(f"a{number}", self.thread, opening, Packed({}))
        opening.accesses.append(access)
        opening.closed = moment + 3_000
        self.process.openings.append(opening)
        return opening, access

    def read(self, path: bytes, facts: Facts, moment: int) -> None:
        """Read a file whole, and once more to see its end."""
        _, access = self._open(path, facts, 0, moment)
        access.first_read, access.last_read = moment + 1_000, moment + 2_000

    def write(self, path: bytes, facts: Facts) -> None:
        """Write a new file in one call."""
        moment = facts.mtime - 1_000
        empty = Facts(facts.device, facts.inode, facts.birth, facts.birth, facts.birth, 0)
        opening, access = self._open(path, empty, 0o1101, facts.birth)
        access.first_write, access.last_write = moment, moment + 1_000
        opening.at_close, opening.closed = facts, moment + 2_000


def step_run(step: int) -> Trace:
    """Return the facts of one step's run."""
    began = BEGAN + step * 100 * SECOND
    trace = _new_run(step, began)
    for number in range(WORKERS):
        worker = _Worker(trace, number, began)
        inputs = needed(step, number * INPUTS, INPUTS)
        outputs = [made(step, number * OUTPUTS + i) for i in range(OUTPUTS)]
        for i, (path, facts) in enumerate(inputs):
            worker.read(path, facts, began + (5 if i < 4 else 25) * SECOND + i * 10_000)
        for path, facts in outputs:
            worker.write(path, facts)
    return trace


def gather_run(step: int) -> tuple[Trace, Facts]:
    """Return the facts of a run that reads the inputs of a step and writes one file, and the facts of that file."""
    began = BEGAN + step * 100 * SECOND
    trace = _new_run(step, began, 0xFFFF)
    worker = _Worker(trace, 0, began)
    for i, (path, facts) in enumerate(needed(step, 0, USED)):
        worker.read(path, facts, began + i * 10_000)
    written = began + 50 * SECOND
    facts = Facts("259:1", RAW - 1 - step, written, written + 9, written + 9, 1)
    worker.write(b"/data/gathered", facts)
    return trace, facts


def chain_run(length: int) -> tuple[Trace, Facts]:
    """Return the facts of a run of processes that each read the output of the previous one, and of the last file."""
    trace = _new_run(0, BEGAN, 0xC4A1)
    facts = Facts("259:1", RAW, BEGAN, BEGAN + 9, BEGAN + 9, 1)
    for number in range(length):
        began = BEGAN + (number + 1) * 100_000_000
        worker = _Worker(trace, number, began)
        worker.read(b"/data/%d" % number, facts, began + 10_000)
        written = began + 1_000_000
        facts = Facts("259:1", RAW + 1 + number, written, written + 9, written + 9, number)
        worker.write(b"/data/%d" % (number + 1), facts)
    return trace, facts


def _new_run(step: int, began: int, kind: int = 0) -> Trace:
    run = f"01936b2e-7c00-7abc-{kind or 0x8DEF:04x}-{step:012x}"
    facts = {
        "host": "node",
        "user": "ada",
        "bootId": "b",
        "startedNs": str(began),
        "endedNs": str(began + 99 * SECOND),
        "exitCode": "0",
    }
    digests = Digests()
    digests.add(("", "run.ttl"), run.encode())
    return Trace(Path("/nowhere"), run, facts, [MOUNT], {}, [], [], digests)


def quads(trace: Trace) -> bytes:
    """Return the graph and the index of a run as N-Quads, without I/O activities."""
    identity, settings = Identity(trace), Config()
    conclusions = conclude(trace, identity, settings)
    for process in trace.processes.values():
        process.openings.clear()
    lines = "".join(triples(trace, identity, conclusions, Whole(trace), of_run=True))
    graph = lines.replace(" .\n", f" <{bundle_iri(trace.iri)}> .\n")
    return (graph + "".join(index_of(trace, settings))).encode()


def step_quads(step: int) -> bytes:
    """Return the N-Quads of one step's run."""
    return quads(step_run(step))


def chapters(steps: int, length: int = STEPS) -> Iterator[bytes]:
    """Yield the N-Quads of many steps, and of a run that gathers the inputs of step `length` of the first pipeline."""
    with Pool() as pool:
        yield from pool.imap(step_quads, range(steps))
    yield quads(gather_run(length - 1)[0])


class _Pipe(io.RawIOBase):
    """A readable stream of pieces of bytes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces, self.left = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self.left = self.left or next(self.pieces, b"")
        count = min(len(buffer), len(self.left))
        buffer[:count], self.left = self.left[:count], self.left[count:]
        return count


def store(folder: Path, pieces: Iterable[bytes]) -> Home:
    """Make a `.provio` with a published store of these N-Quads."""
    home = Home(folder / ".provio")
    folder.mkdir()
    make(home)
    with StoreWriter(home, wait=True) as writer:
        source = io.BufferedReader(_Pipe(iter(pieces)), 1 << 20)
        writer.store.bulk_load(input=source, format=ox.RdfFormat.N_QUADS, lenient=True)
        writer.publish()
    return home
