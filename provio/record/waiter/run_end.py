"""The end of a run that the waiter waited for, where more is to be done than to leave it to a later merge.

In: the descriptor by which the waiter was told all, how the command ended. Out: the command's own end.
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

FIELDS = 13  # what is for the waiter alone,
BLOCKED = 3  # but for this one: the signals that were blocked before there was a command


def main() -> NoReturn:
    """Finish the run, and end as its command ended."""
    terminal.have_streams()
    told, status = map(int, sys.argv[1:3])
    end = End.of(os.waitstatus_to_exitcode(status))
    try:
        blocked, recording, call, folders = _read(told)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        driver.finish_after_waiter(recording, end, call, folders)
    except KeyboardInterrupt:  # the run is left pending
        pass
    except Exception as error:
        terminal.complain(f"the run is recorded, but its end was not processed: {error}")
    terminal.drop_output()
    os._exit(end_as(end))


def _read(told: int) -> tuple[set[int], Recording, Call, list[Path]]:
    """What was told: the signals that are to be blocked, the run, the call of `provio run`, and where the project's
    settings lie."""
    with mmap.mmap(told, 0, access=mmap.ACCESS_READ) as text:
        data = text[:]
    os.close(told)
    *fields, rest = data.split(b"\0", FIELDS)
    mask = int(fields[BLOCKED], 16)
    (home, server, run_id, trace_folder), (call, folders) = marshal.loads(rest)  # noqa: S302 (this process wrote it)
    return (
        {number for number in range(1, 65) if mask >> number - 1 & 1},
        Recording(Home(Path(home), server), run_id, (), None, 0, Path(trace_folder)),
        Call(*call),
        [Path(folder) for folder in folders],
    )
