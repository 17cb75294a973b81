"""A large graph into the embedded store: N-Triples in, loaded by a process of its own while more of them are made.

RocksDB rewrites all that it has of a graph for every second piece that comes, as soon as a processor is free: twenty
pieces are rewritten ten times. Here that waits until all of them are loaded: this process leaves RocksDB's threads no
more than what is left over of one processor, which cannot be taken back, so it ends with the graph. What it
saves: docs/merge.md.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO, cast

import pyoxigraph as ox

from provio.base.errors import StoreError
from provio.base.time_limit import die_with
from provio.system.child import unwatched

# Bytes that are loaded at once, 30,000 triples or so. RocksDB rewrites all that it has of a graph for every second
# piece; a piece takes five times its size in memory.
PIECE = 6_000_000

REFUSED, WRONG = 3, 4  # how it ends: the disk is to blame, or the graph
QUIET = 0.2  # seconds in which threads that rewrite take some time of a processor
PROGRAM = "from provio.store.embedded.loading import main; main()"
# Freed memory goes back to the system; glibc would keep it, in blocks too small for the next piece.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "1048576"}


_begun: list[subprocess.Popen[bytes]] = []  # which this process began


def load(store: str, pieces: Iterable[bytes], keep: Sequence[int]) -> None:
    """Load pieces that end with a line into the default graph of a store that nobody has open, while the next is made;
    the process also holds `keep`, descriptors. Where making a piece fails, the process is killed.

    Raises OSError where the disk refuses it, StoreError where the process was ended, ValueError for no N-Triples.
    """
    command = [sys.executable, "-P", "-c", PROGRAM, str(os.getpid()), store]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stderr=pipe, pass_fds=keep, env=unwatched() | MALLOC) as process:
        _begun.append(process)
        graph, errors = cast("BinaryIO", process.stdin), cast("BinaryIO", process.stderr)
        try:
            _write(graph, pieces)
            said = errors.read().decode(errors="replace").strip()
        except BaseException:
            process.kill()
            process.wait()  # on Ctrl-C nobody else would
            raise
    if process.returncode == REFUSED:
        raise OSError(said)
    if process.returncode == WRONG:
        raise ValueError(said)
    if process.returncode:
        how = f"was ended by {signal.Signals(-process.returncode).name}" if process.returncode < 0 else said
        raise StoreError(f"the process that loads a large run {how}: merge again; all is as it was before")


def stop() -> None:
    """End the process that loads, if there is one: this one ends, too."""
    for process in _begun:
        process.kill()  # nothing, where it has ended


def _write(graph: BinaryIO, pieces: Iterable[bytes]) -> None:
    """Write pieces until the process takes no more; it then says why."""
    try:
        for piece in pieces:
            try:
                graph.write(piece)
            except BrokenPipeError:
                return
    finally:
        with contextlib.suppress(BrokenPipeError):
            graph.close()


def main() -> None:
    """Load the standard input into the store that is named."""
    parent, store = sys.argv[1:]
    die_with(int(parent))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the parent's
    try:
        with open(0, "rb") as file:
            _load(store, file)
    except OSError as error:
        _end(REFUSED, error)
    except (SyntaxError, ValueError) as error:
        _end(WRONG, error)


def _load(path: str, file: BinaryIO) -> None:
    store = ox.Store(path)
    _calm()
    with ThreadPoolExecutor(1) as reader:
        following = reader.submit(_piece, file)
        while piece := following.result():
            following = reader.submit(_piece, file)
            store.bulk_load(io.BytesIO(piece), ox.RdfFormat.N_TRIPLES, lenient=True)


def _piece(file: BinaryIO) -> bytes:
    return file.read(PIECE) + file.readline()


def _calm() -> None:
    """Let what RocksDB does by itself go on where nothing else does; where the system does not allow it, as before."""
    with contextlib.suppress(OSError):
        one = {_processor()}
        for thread in _own_threads():
            os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))
            os.sched_setaffinity(thread, one)
        os.sched_setaffinity(0, one)


def _processor() -> int:
    """The one that this process is on: the system has chosen it among those that may be used."""
    with open("/proc/self/stat", encoding="utf-8") as stat:
        return int(stat.read().rpartition(")")[2].split()[36])


def settle() -> None:
    """Wait until RocksDB has rewritten what it would rewrite in a store that this process has open. (One that is closed
    before that begins anew whenever it is opened.)"""
    before, now = -1, _spent()
    while now != before:
        time.sleep(QUIET)
        before, now = now, _spent()


def _spent() -> int:
    """The processor time that those threads have taken, in ticks."""
    spent = 0
    for thread in _own_threads():
        with contextlib.suppress(OSError), open(f"/proc/self/task/{thread}/stat", encoding="utf-8") as stat:
            spent += sum(map(int, stat.read().rpartition(")")[2].split()[11:13]))
    return spent


def _own_threads() -> list[int]:
    """Those of RocksDB that rewrite."""
    return [int(entry.name) for entry in os.scandir("/proc/self/task") if _named(entry.path) == "rocksdb:low"]


def _named(task: str) -> str:
    with open(f"{task}/comm", encoding="ascii", errors="replace") as name:
        return name.read().strip()


def _end(code: int, error: Exception) -> None:
    sys.stderr.write(str(error))
    sys.exit(code)
