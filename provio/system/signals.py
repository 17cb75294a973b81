"""The signals of a `provio run`: what comes to it while the command runs is passed on to that; what comes later ends it
as any program.

What the terminal sends reaches the command anyway, for it is in the same group; it is told from what a process sent.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from types import FrameType

FROM_TERMINAL = frozenset({signal.SIGINT, signal.SIGQUIT})
# Not passed on: what cannot be caught, what a fault of provio's own raises, what stops both, and its child's end.
OWN = frozenset(
    {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCHLD, signal.SIGSEGV}
    | {signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP, signal.SIGPIPE, signal.SIGXFSZ}
)


class Signals:
    """Until the command is there a handler takes each signal; from then on they are blocked, and waited for.

    Afterwards a signal does as before; but it is put back when one comes: there are sixty of them, and to put back each
    takes a tenth of what is done at an end.
    """

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.before: dict[int, object] = {}
        self.blocked: set[int] = set()
        self.ended = False

    @property
    def awaited(self) -> set[int]:
        """The signals that are waited for: those that are passed on, and the one of the command's end."""
        return {*self.before, signal.SIGCHLD}

    def __enter__(self) -> Signals:
        for number in signal.valid_signals() - OWN:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self.before[number] = signal.signal(number, self._keep if number in FROM_TERMINAL else self._pass)
        return self

    def follow(self, process: subprocess.Popen[bytes]) -> None:
        """From here on signals go to `process`; only now are they blocked: that is inherited."""
        self.process = process
        self.blocked = set(signal.pthread_sigmask(signal.SIG_BLOCK, self.awaited))

    def wait(self, process: subprocess.Popen[bytes]) -> int:
        """Return how the command ended, as Popen says it."""
        while process.poll() is None:
            self._answer(process, signal.sigwaitinfo(self.awaited))
        return process.returncode

    def goes_on(self, process: subprocess.Popen[bytes], seconds: float) -> bool:
        """Wait for the command for a while; tell whether it goes on then."""
        until = time.monotonic() + seconds
        while process.poll() is None:
            found = signal.sigtimedwait(self.awaited, max(0, until - time.monotonic()))
            if found is None:
                return True
            self._answer(process, found)
        return False

    def _answer(self, process: subprocess.Popen[bytes], found: signal.struct_siginfo) -> None:
        """Pass a signal on, unless it is the terminal's, which the kernel sends to all."""
        from_terminal = found.si_signo in FROM_TERMINAL and found.si_code > 0
        if found.si_signo != signal.SIGCHLD and not from_terminal:
            process.send_signal(found.si_signo)

    def __exit__(self, *_: object) -> None:
        self.ended = True
        if self.process:
            signal.pthread_sigmask(signal.SIG_SETMASK, self.blocked)
        for number in FROM_TERMINAL & self.before.keys():
            self._put_back(number)

    def _put_back(self, number: int) -> None:
        signal.signal(number, self.before[number])  # type: ignore[arg-type]

    def _pass(self, number: int, _frame: FrameType | None) -> None:
        if self.ended:
            self._put_back(number)
            os.kill(os.getpid(), number)
        elif self.process:
            self.process.send_signal(number)

    def _keep(self, _number: int, _frame: FrameType | None) -> None:
        """Before the command is there: it would have had it from the terminal."""
