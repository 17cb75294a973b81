"""Has a question answered where it can be stopped: in a child process, ended at a time-out or at Ctrl-C.

In: how long answering may take. Out: in the child nothing (it goes on and answers), in the parent its exit code.
A running query of the embedded store heeds no signal and has no time-out. The child asks the parent before it prints,
so that an answer comes whole or not at all; and it does not outlive the parent, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from typing import NoReturn

from provio.base.errors import ProvioError, TimedOut

# What the child tells: it merges, which no time-out ends; it answers from now on; it says itself how far it is; it
# would print.
MERGES, ANSWERS, SAYS, PRINTS = b"m", b"a", b"s", b"p"
TICK = 0.5  # seconds
PR_SET_PDEATHSIG = 1  # sys/prctl.h


class _Parent:
    """The child's two pipes, from and to its parent; none in a process that is no such child."""

    heard = told = -1


def apart(seconds: float, note: Callable[[str], None] = lambda _: None) -> int | None:
    """Fork. In the child return None; in the parent wait for it, at most so many seconds (0: as long as it takes).

    While it answers, `note` is told for how long; an empty text is the end of that.

    Raises TimedOut in the parent when they have passed, KeyboardInterrupt at Ctrl-C: the child is no more then.
    """
    leave, give = os.pipe()
    listen, tell = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(give)
        os.close(listen)
        _Parent.heard, _Parent.told = leave, tell
        _end_with(parent)
        return None
    os.close(leave)
    os.close(tell)
    _clear_at_end(note)
    try:
        _attend(listen, give, seconds, note)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except BaseException:
        note("")
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    if code < 0:
        name = signal.Signals(-code).name
        raise ProvioError(f"the question was ended by {name} (memory ran out, or it nests too deeply): ask for less")
    return code


def _clear_at_end(note: Callable[[str], None]) -> None:
    """Have a signal that ends this process end the line of `note` before; the child does not outlive it."""

    def end(number: int, _frame: object) -> None:
        with contextlib.suppress(RuntimeError):  # the line was just being written
            note("")
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)


@contextlib.contextmanager
def not_counted() -> Iterator[None]:
    """What is done inside is no part of the time that answering may take, which begins again after it."""
    _tell(MERGES)
    try:
        yield
    finally:
        _tell(ANSWERS)


def says() -> None:
    """From now on this process itself says how far it is."""
    _tell(SAYS)


def is_apart() -> bool:
    """Tell whether this is such a child, before it prints: its parent may have written on the terminal's last line."""
    return _Parent.told >= 0


def may_print() -> None:
    """Wait for leave to print the answer; after it no time-out comes."""
    if _Parent.told < 0:
        return
    _tell(PRINTS)
    if not os.read(_Parent.heard, 1):
        _vanish()
    os.close(_Parent.told)
    _Parent.told = -1


def _tell(what: bytes) -> None:
    if _Parent.told >= 0:
        try:
            os.write(_Parent.told, what)
        except OSError:
            _vanish()


def _vanish() -> NoReturn:
    """Nobody is left to answer."""
    os._exit(1)


def die_with(parent: int) -> None:
    """Have the kernel end this process with its parent; end now, where the parent is gone."""
    import ctypes  # slow to import, and seldom wanted

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _end_with(parent: int) -> None:
    """Do not outlive the parent; Ctrl-C, which both are sent, is the parent's to heed."""
    die_with(parent)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: None)


def _attend(listen: int, give: int, seconds: float, note: Callable[[str], None]) -> None:
    """Heed what the child tells until it ends or prints."""
    begun = time.monotonic()
    deadline, told = begun + seconds if seconds else None, ANSWERS
    while True:
        left = TICK if deadline is None else max(0.0, min(TICK, deadline - time.monotonic()))
        if not select.select([listen], [], [], left)[0]:
            if deadline is not None and time.monotonic() >= deadline:
                raise TimedOut(seconds)
            if told == ANSWERS:
                note(f"answering: {time.monotonic() - begun:.0f} s")
            continue
        told = os.read(listen, 1)
        note("")
        if told == PRINTS:
            with contextlib.suppress(BrokenPipeError):
                os.write(give, b".")
        if told in (PRINTS, b""):
            return
        if told != SAYS:
            deadline = time.monotonic() + seconds if seconds and told == ANSWERS else None
