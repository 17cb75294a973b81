"""Finishes a run after the waiter, if more than a later merge is needed. The waiter execs Python with `main`.

In (arguments): the descriptor with the waiter's parameters, the command's wait status. Out: the command's end.
"""

from __future__ import annotations

import marshal
import mmap
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from provio.base import terminal
from provio.record import driver
from provio.record.options import Call
from provio.record.run import end_as
from provio.settings.home import Home
from provio.trace.recording import End, Recording

FIELDS = 13  # parameters of the waiter; one of them is used here:
BLOCKED = 3  # the signals that were blocked before the command was started


def main() -> NoReturn:
    """Finish the run, and end as its command ended."""
    terminal.have_streams()
    parameters, status = map(int, sys.argv[1:3])
    end = End.of(os.waitstatus_to_exitcode(status))
    try:
        blocked, recording, call, folders = _read(parameters)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        driver.finish_after_waiter(recording, end, call, folders)
    except KeyboardInterrupt:  # the run is left pending
        pass
    except Exception as error:
        terminal.warn(f"the run is recorded, but its end was not processed: {error}")
    terminal.drop_output()
    os._exit(end_as(end))


def _read(parameters: int) -> tuple[set[int], Recording, Call, list[Path]]:
    """Return the signals to block, the run, the call of `provio run`, and the folders of project settings."""
    with mmap.mmap(parameters, 0, access=mmap.ACCESS_READ) as text:
        data = text[:]
    os.close(parameters)
    *fields, rest = data.split(b"\0", FIELDS)
    mask = int(fields[BLOCKED], 16)
    (home, server, run_id, trace_folder), (call, folders) = marshal.loads(rest)  # noqa: S302 (this process wrote it)
    return (
        {number for number in range(1, 65) if mask >> number - 1 & 1},
        Recording(Home(Path(home), server), run_id, (), None, 0, Path(trace_folder)),
        Call(*call),
        [Path(folder) for folder in folders],
    )
