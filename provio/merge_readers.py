"""Runs read beside each other: run folders in, what the store is to be told of each out, in the same order.

A reader is a process that parses, concludes, and writes a run's graph into a file without a name; the store is written
by its parent alone, while the readers go on with the runs that come next. A large run is read in a process of its own,
so that its memory is free again when it is loaded. Readers end with their parent, however that ends; one that was
killed costs the run that it was at.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing import Pipe, reduction
from multiprocessing.connection import Connection
from types import TracebackType
from typing import IO

from provio import cycles, merge_job
from provio.config import Config
from provio.digests import Changed
from provio.home import Home
from provio.intake import Prepared
from provio.merge_job import Job, Read
from provio.plain import plain
from provio.store.spool import Spool
from provio.tied import die_with

M_ARENA_MAX = -8  # malloc.h
LARGE = 4_000_000  # bytes of Turtle, of which a run is read in a process of its own
AT_ONCE = 16_000_000  # in the runs that are read beside each other
MOST = 4  # readers: more read faster than the store takes in


class Readers:
    """Some readers, as a context manager; `let_go` is what a reader must not hold: the lock."""

    def __init__(self, home: Home, settings: Config, let_go: Callable[[], None]) -> None:
        self.home, self.settings = home, settings
        self.readers: list[_Reader] = []
        try:
            for _ in range(min(MOST, len(os.sched_getaffinity(0)))):
                self.readers.append(_Reader(home, settings, [let_go, *(one.link.close for one in self.readers)]))
        except BaseException:
            self.__exit__(None, None, None)
            raise
        _one_heap()

    def __enter__(self) -> Readers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for reader in self.readers:
            reader.end()

    def read(self, jobs: Iterator[Job]) -> Iterator[tuple[Job, Read]]:
        """Yield what comes of each job, in their order; meanwhile those that follow are read."""
        asked: deque[_Asked] = deque()
        queue = (_Asked(job, merge_job.size_of(job.folder)) for job in jobs)
        following = self._ask(next(queue, None), queue, asked)
        while asked:
            one = asked.popleft()
            answer = one.reader.answer() if one.reader else None
            following = self._ask(following, queue, asked)
            yield one.job, answer or merge_job.read(one.job, self.home, self.settings)

    def _ask(self, one: _Asked | None, queue: Iterator[_Asked], asked: deque[_Asked]) -> _Asked | None:
        """Have as many runs read as there is room for; return the first for which there is none."""
        while one and (not asked or self._has_room(one, asked)):
            able = [reader for reader in self.readers if not reader.gone]
            one.reader = min(able, key=lambda reader: sum(other.reader is reader for other in asked), default=None)
            if one.reader:
                one.reader.ask(one.job, one.size > LARGE)
            asked.append(one)
            one = next(queue, None)
        return one

    def _has_room(self, one: _Asked, asked: deque[_Asked]) -> bool:
        return len(asked) < 2 * len(self.readers) and one.size + sum(other.size for other in asked) <= AT_ONCE


@plain()
class _Asked:
    """A run to be read, how much it is (bytes), and who reads it: nobody where no reader is left."""

    job: Job
    size: int
    reader: _Reader | None = None


class _Reader:
    """A reader, as its parent sees it."""

    def __init__(self, home: Home, settings: Config, let_go: list[Callable[[], None]]) -> None:
        self.link, theirs = Pipe()
        self.gone = False
        parent = os.getpid()
        self.process = os.fork()
        if self.process == 0:
            try:
                die_with(parent)
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the parent's
                for close in (self.link.close, *let_go):
                    close()
                _serve(theirs, home, settings)
            finally:
                os._exit(1)
        theirs.close()

    def ask(self, job: Job, large: bool) -> None:
        """Have a run read."""
        with contextlib.suppress(OSError):  # how it ended is told with the answer
            self.link.send((job, large))

    def answer(self) -> Read | None:
        """Return what came of the run that was asked for first; None where the reader was gone before it came to it."""
        if self.gone:
            return None
        try:
            read: Read = self.link.recv()
            if read.prepared:
                read.prepared.pieces = Spool(os.fdopen(reduction.recv_handle(self.link), "rb"))
        except (EOFError, OSError):
            self.gone = True
            return Read(None, [], f"the process that read it {_ended(self.process)}")
        return read

    def end(self) -> None:
        """End it, if it goes on."""
        self.link.close()
        if not self.gone:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)


def _one_heap() -> None:
    """Have the store's threads share a heap: one for each of them, as they come and go, is a tenth more memory."""
    with contextlib.suppress(AttributeError):  # a libc that has no such
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def _ended(process: int) -> str:
    """Wait for a process, and say how it ended."""
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"


def _serve(link: Connection, home: Home, settings: Config) -> None:
    """Do one job after the other, until nobody asks any more."""
    while True:
        try:
            job, large = link.recv()
        except EOFError:
            os._exit(0)
        if large:
            _apart(link, job, home, settings)
        else:
            _do(link, job, home, settings)


def _apart(link: Connection, job: Job, home: Home, settings: Config) -> None:
    """Do a job in a process of its own, with which its memory goes; end as that did, where it did not do it."""
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        die_with(parent)
        _do(link, job, home, settings)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        os.kill(parent, -code)
    if code:
        os._exit(1)


def _do(link: Connection, job: Job, home: Home, settings: Config) -> None:
    """Read a run; send what is to be told of it, and the file that holds its graph."""
    with cycles.kept():
        read = merge_job.read(job, home, settings)
        try:
            _send(link, read, home)
        except Changed:
            _send(link, merge_job.read(job, home, settings, written=True), home)


def _send(link: Connection, read: Read, home: Home) -> None:
    """Send what came of a run; raises Changed where it is to be read as one that is written."""
    if read.prepared is None:
        link.send(read)
        return
    try:
        with tempfile.TemporaryFile(dir=home.path) as file:
            _write(read.prepared, file)
            link.send(read)
            reduction.send_handle(link, file.fileno(), os.getppid())
    except OSError as error:
        link.send(Read(None, [], refused=(error.errno or 0, error.strerror or str(error))))
    except merge_job.FAULTS as error:
        link.send(Read(None, [], merge_job.fault_of(error)))


def _write(prepared: Prepared, file: IO[bytes]) -> None:
    """Have a run's graph in a file, rather than in pieces."""
    file.writelines(piece.encode() for piece in prepared.pieces)
    file.flush()
    prepared.pieces = ()
