"""Answers a query in a child process, which a limit of time or memory, or Ctrl-C, can stop.

A running query of the embedded store ignores signals and has no limits. The child requests permission from the
parent before it prints, so that an answer is printed completely or not at all. The child never outlives the parent.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from typing import NoReturn

from provio.base.errors import ProvioError, TimedOut, TooMuchMemory
from provio.base.memory_limit import LOOK, used

# Messages of the child: it merges, which no timeout ends; it answers from now on; it reports its progress itself; it
# is about to print.
MERGES, ANSWERS, REPORTS, PRINTS = b"m", b"a", b"s", b"p"
TICK = 0.5  # seconds
PR_SET_PDEATHSIG = 1  # sys/prctl.h


class _Parent:
    """The child's two pipe ends, from and to its parent; -1 in any other process."""

    read_end = write_end = -1


def run_in_child(seconds: float, note: Callable[[str], None] = lambda _: None, memory: int = 0) -> int | None:
    """Fork. Return None in the child; in the parent wait for it, at most `seconds`, and return its exit code. The child
    may take `memory` more bytes than it has when it starts to answer. 0: no limit.

    While the child answers, `note` receives the elapsed time as text; an empty text ends it.

    Raises TimedOut or TooMuchMemory in the parent at a limit, KeyboardInterrupt at Ctrl-C, ProvioError if a signal
    ended the child. The child has ended by then.
    """
    child_reads, parent_writes = os.pipe()
    parent_reads, child_writes = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(parent_writes)
        os.close(parent_reads)
        _Parent.read_end, _Parent.write_end = child_reads, child_writes
        _end_with(parent)
        return None
    os.close(child_reads)
    os.close(child_writes)
    _clear_at_end(note)
    try:
        _serve(parent_reads, parent_writes, _Limits(child, seconds, memory), note)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except BaseException:
        note("")
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    if code < 0:
        name = signal.Signals(-code).name
        raise ProvioError(f"the query was ended by {name} (no memory left, or nested too deeply): query less data")
    return code


def _clear_at_end(note: Callable[[str], None]) -> None:
    """Clear the line of `note` before a signal ends this process; the child ends with it."""

    def end(number: int, _frame: object) -> None:
        with contextlib.suppress(RuntimeError):  # the signal interrupted a write of the line
            note("")
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)


@contextlib.contextmanager
def not_counted() -> Iterator[None]:
    """Exclude a block from the limits, which start again after it."""
    _send(MERGES)
    try:
        yield
    finally:
        _send(ANSWERS)


def report_own_progress() -> None:
    """Declare that this process reports its progress itself from now on."""
    _send(REPORTS)


def is_child() -> bool:
    """Return whether this is such a child that has not printed yet: its parent may have written the terminal's last
    line."""
    return _Parent.write_end >= 0


def may_print() -> None:
    """Wait for permission to print the answer; no timeout follows."""
    if _Parent.write_end < 0:
        return
    _send(PRINTS)
    if not os.read(_Parent.read_end, 1):
        _exit_silently()
    os.close(_Parent.write_end)
    _Parent.write_end = -1


def _send(message: bytes) -> None:
    if _Parent.write_end >= 0:
        try:
            os.write(_Parent.write_end, message)
        except OSError:
            _exit_silently()


def _exit_silently() -> NoReturn:
    """Exit: no process waits for the answer."""
    os._exit(1)


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent ends; exit now if the parent has ended."""
    import ctypes  # slow to import, and rarely needed

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _end_with(parent: int) -> None:
    """Do not outlive the parent; ignore Ctrl-C, which the parent also receives and handles."""
    die_with(parent)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: None)


class _Limits:
    """The limits of a child, from the moment at which it starts to answer; 0: none."""

    def __init__(self, child: int, seconds: float, memory: int) -> None:
        self.child, self.seconds, self.memory = child, seconds, memory
        self.look = LOOK if memory else TICK
        self.start(True)

    def start(self, answers: bool) -> None:
        """Start again, or suspend the limits."""
        self.deadline = time.monotonic() + self.seconds if self.seconds and answers else None
        self.most = used(self.child) + self.memory if self.memory and answers else None

    def left(self) -> float:
        """Return the seconds until the next check."""
        return self.look if self.deadline is None else max(0.0, min(self.look, self.deadline - time.monotonic()))

    def check(self) -> None:
        """Raise TimedOut or TooMuchMemory at a limit."""
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise TimedOut(self.seconds)
        if self.most is not None and used(self.child) > self.most:
            raise TooMuchMemory(self.memory)


def _serve(reads: int, writes: int, limits: _Limits, note: Callable[[str], None]) -> None:
    """Process the child's messages until it ends or prints."""
    start = time.monotonic()
    message = ANSWERS
    while True:
        if not select.select([reads], [], [], limits.left())[0]:
            limits.check()
            if message == ANSWERS:
                note(f"running the query: {time.monotonic() - start:.0f} s")
            continue
        message = os.read(reads, 1)
        note("")
        if message == PRINTS:
            with contextlib.suppress(BrokenPipeError):
                os.write(writes, b".")
        if message in (PRINTS, b""):
            return
        if message != REPORTS:
            limits.start(message == ANSWERS)
