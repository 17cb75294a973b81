"""A process that collects the files that a run's ranks captured on this host, once the last of them has ended.

A rank is replaced by its command, so no process of provio is there at its end. There is one collector for each host and
run; it holds a lock while it exists, and ends by itself. A signal that would end it (when a job is cancelled) makes it
collect the existing files at once.
In (arguments): the `.provio`, the run id, the folder of captured files, the descriptor of the lock.
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

WAIT, LONGEST = 1.0, 16.0  # seconds, at most, between two looks at the processes


def main() -> None:
    """Wait, collect and end."""
    home, run, place = Home(Path(sys.argv[1])), sys.argv[2], Path(sys.argv[3])  # holds the lock until it exits
    os.umask(0o077)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda *_: collect.collect(home, run, place))
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    while place.is_dir():
        _wait(place)
        if collect.collect(home, run, place):  # it failed: the next provio command on this host tries again
            break
        if place.is_dir():
            _idle(run, place)


def _wait(place: Path) -> None:
    """Wait until all processes that have files there have ended."""
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
    """Wait while the run's processes have no files yet: the files of others are collected."""
    wait = WAIT
    time.sleep(wait)
    while not collect.living_processes(place) and run in liveness.started_runs():
        time.sleep(wait)
        wait = min(2 * wait, LONGEST)
