"""Forwards signals of `provio run`: those that arrive while the command runs go to the command; later ones act as
usual.

The command receives the terminal's signals directly, because it is in the same process group; so these are not
forwarded. They are distinguished from signals that a process sent.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from types import FrameType

FROM_TERMINAL = frozenset({signal.SIGINT, signal.SIGQUIT})
# Not forwarded: signals that cannot be caught, faults of provio itself, job control (it stops both), and the
# end of the child.
OWN = frozenset(
    {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCHLD, signal.SIGSEGV}
    | {signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP, signal.SIGPIPE, signal.SIGXFSZ}
)


class Signals:
    """Handles signals before the command starts; afterwards blocks them and waits for them.

    When the command has ended, signals act as before. Each handler is restored only when its signal arrives: there
    are sixty of them, and restoring all takes a tenth of the time of the work at the end.
    """

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.before: dict[int, object] = {}
        self.blocked: set[int] = set()
        self.ended = False

    @property
    def awaited(self) -> set[int]:
        """The signals to wait for: the forwarded ones and SIGCHLD."""
        return {*self.before, signal.SIGCHLD}

    def __enter__(self) -> Signals:
        for number in signal.valid_signals() - OWN:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self.before[number] = signal.signal(number, self._keep if number in FROM_TERMINAL else self._pass)
        return self

    def follow(self, process: subprocess.Popen[bytes]) -> None:
        """Forward signals to `process` from now on. They are blocked only now, because a child inherits the mask."""
        self.process = process
        self.blocked = set(signal.pthread_sigmask(signal.SIG_BLOCK, self.awaited))

    def wait(self, process: subprocess.Popen[bytes]) -> int:
        """Return the exit status of the command, as Popen gives it."""
        while process.poll() is None:
            self._answer(process, signal.sigwaitinfo(self.awaited))
        return process.returncode

    def goes_on(self, process: subprocess.Popen[bytes], seconds: float) -> bool:
        """Wait at most `seconds` for the command; return whether it still runs."""
        until = time.monotonic() + seconds
        while process.poll() is None:
            found = signal.sigtimedwait(self.awaited, max(0, until - time.monotonic()))
            if found is None:
                return True
            self._answer(process, found)
        return False

    def _answer(self, process: subprocess.Popen[bytes], found: signal.struct_siginfo) -> None:
        """Forward a signal, unless it is from the terminal: the kernel sends those to the whole group."""
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
        """Ignore a terminal signal before the command exists; the terminal would send it to the command too."""
