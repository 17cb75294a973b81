"""Loads a large graph into the embedded store, in a process of its own, while the caller produces more N-Triples.

RocksDB rewrites all its data of a graph for every second piece as soon as a processor is free: it rewrites twenty
pieces ten times. Here the compaction waits until all pieces are loaded: the process restricts RocksDB's threads to
the idle time of one processor. This cannot be undone, so the process ends with the graph. docs/merge.md gives the
time saved.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO, cast

import pyoxigraph as ox

from provio.base.errors import StoreError
from provio.base.time_limit import die_with
from provio.store.embedded import compaction
from provio.system.child import unwatched

# Bytes that are loaded at once, about 30,000 triples. RocksDB rewrites all its data of a graph for every second
# piece; a piece needs five times its size in memory.
PIECE = 6_000_000

REFUSED, WRONG = 3, 4  # exit codes: a disk error, an invalid graph
PROGRAM = "from provio.store.embedded.loading import main; main()"
# Return freed memory to the system: glibc would keep it in blocks too small for the next piece.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "1048576"}


_processes: list[subprocess.Popen[bytes]] = []  # processes that this process started


def load(store: str, pieces: Iterable[bytes], keep: Sequence[int]) -> None:
    """Load pieces, each of complete lines, into the default graph of a store that no process has open, while the next
    piece is produced.

    The process inherits `keep`, a list of descriptors. It is killed if producing a piece fails. Raises OSError for a
    disk error, StoreError if the process was ended, ValueError for invalid N-Triples.
    """
    command = [sys.executable, "-P", "-c", PROGRAM, str(os.getpid()), store]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stderr=pipe, pass_fds=keep, env=unwatched() | MALLOC) as process:
        _processes.append(process)
        graph, errors = cast("BinaryIO", process.stdin), cast("BinaryIO", process.stderr)
        try:
            _write(graph, pieces)
            message = errors.read().decode(errors="replace").strip()
        except BaseException:
            process.kill()
            process.wait()  # after Ctrl-C no other code waits for it
            raise
    if process.returncode == REFUSED:
        raise OSError(message)
    if process.returncode == WRONG:
        raise ValueError(message)
    if process.returncode:
        how = f"was ended by {signal.Signals(-process.returncode).name}" if process.returncode < 0 else message
        raise StoreError(f"the process that loads a large run {how}: merge again; all is as it was before")


def stop() -> None:
    """Kill the loading process, if there is one, because this process ends too."""
    for process in _processes:
        process.kill()  # no effect on an ended process


def _write(graph: BinaryIO, pieces: Iterable[bytes]) -> None:
    """Write pieces until the process accepts no more; its error output then gives the reason."""
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
    """Load the standard input into the store named in the arguments."""
    parent, store = sys.argv[1:]
    die_with(int(parent))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it
    try:
        with open(0, "rb") as file:
            _load(store, file)
    except OSError as error:
        _end(REFUSED, error)
    except (SyntaxError, ValueError) as error:
        _end(WRONG, error)


def _load(path: str, file: BinaryIO) -> None:
    store = ox.Store(path)
    compaction.defer()
    with ThreadPoolExecutor(1) as reader:
        following = reader.submit(_piece, file)
        while piece := following.result():
            following = reader.submit(_piece, file)
            store.bulk_load(io.BytesIO(piece), ox.RdfFormat.N_TRIPLES, lenient=True)


def _piece(file: BinaryIO) -> bytes:
    return file.read(PIECE) + file.readline()


def _end(code: int, error: Exception) -> None:
    sys.stderr.write(str(error))
    sys.exit(code)
