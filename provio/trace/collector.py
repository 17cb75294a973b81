"""Collects what ranks of a host recorded on its own disk when the last of them has ended: a `.provio`, a run, where its
files lie here and the lock that says that there is such a process in, the run's files on this host collected out.

A rank becomes its command, so that nobody else is there at its end. There is one such process for each host and run,
and it ends by itself. A signal that would end it (a job is cancelled) has it collect at once what there is by then.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from pathlib import Path

from provio.settings.home import Home
from provio.trace import collect, liveness

WAIT, LONGEST = 1.0, 16.0  # seconds, at most, after which it looks who has come, and who has gone


def main() -> None:
    """Wait, collect and end."""
    home, run, place = Home(Path(sys.argv[1])), sys.argv[2], Path(sys.argv[3])  # the lock is held until this ends
    os.umask(0o077)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda *_: collect.collect(home, run, place))
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    while place.is_dir():
        _wait(place)
        if collect.collect(home, run, place):  # it cannot be: the next provio here tries again
            break
        if place.is_dir():
            _idle(run, place)


def _wait(place: Path) -> None:
    """Wait until nobody lives who has files there."""
    while pids := collect.living_processes(place):
        ends = select.poll()
        with contextlib.ExitStack() as opened:
            for pid in pids:
                with contextlib.suppress(OSError):
                    fd = os.pidfd_open(pid)
                    opened.callback(os.close, fd)
                    ends.register(fd, select.POLLIN)
            ends.poll(WAIT * 1000)


def _idle(run: str, place: Path) -> None:
    """Wait while those who are there have done nothing yet: what others did is collected."""
    wait = WAIT
    time.sleep(wait)
    while not collect.living_processes(place) and run in liveness.started_runs():
        time.sleep(wait)
        wait = min(2 * wait, LONGEST)
