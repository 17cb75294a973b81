"""Has a small program wait for a command that goes on: a recorded run in, this process as that program out.

By an exec: what this process is to others, the command's parent, the holder of the run's lock, it stays. A Python that
waits holds ten megabytes, and takes the machine two milliseconds to end; the program under one, and a tenth of that.
Where it is missing, or cannot be, this process waits itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import marshal
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from provio.recording import Recording, host_folder
from provio.signals import Signals
from provio.vocab import RUN_BASE

WAITER = Path(__file__).with_name("waiter")
VARIABLE = b"PROVIO_WAIT"


def wait_instead(
    recording: Recording, signals: Signals, pid: int, apart: bool, dear: bool, word: str, rest: Any
) -> None:
    """Become the waiter for the process `pid`; return where that cannot be.

    `apart` says that the run is left pending whoever merges, `dear` that there is more to be done at its end, `word`
    what is said where it is left, `rest` what `provio.ended` is to know. A run inside a run stays what it is: the outer
    one would see the waiter as one more program, which it cannot watch.
    """
    if "PROVIO_TRACE" in os.environ or not (WAITER.exists() and sys.executable):
        return
    masks = [b"%x" % sum(1 << number - 1 for number in numbers) for numbers in (signals.awaited, signals.blocked)]
    paths = (recording.folder, host_folder(recording), recording.home.lock, recording.home.path / "hashing")
    fields = [b"%d" % pid, *masks, *map(os.fsencode, paths), b"%d" % apart, b"%d" % dear]
    fields += [f"<{RUN_BASE}{recording.run_id}> a :Run".encode(), os.fsencode(word), os.fsencode(sys.executable)]
    with contextlib.suppress(OSError, AttributeError, ValueError):
        _become(fields, recording.held, marshal.dumps((_plain(recording), rest)))


def _plain(recording: Recording) -> tuple[str, ...]:
    """What the end of a run is to know of it."""
    home = recording.home
    return str(home.path), home.server, recording.run_id, str(recording.trace_folder)


def _become(fields: Sequence[bytes], held: int, rest: bytes) -> None:
    told = os.memfd_create("provio")
    passed = []
    try:
        with open(told, "wb", closefd=False) as file:
            file.write(b"".join(field + b"\0" for field in fields) + rest)
        for fd in (told, held) if held >= 0 else (told,):
            passed.append(fcntl.fcntl(fd, fcntl.F_DUPFD, 3))  # it may be what was a standard stream, which was closed
        os.execve(WAITER, sys.orig_argv, os.environb | {VARIABLE: b"%d" % passed[0]})  # noqa: S606 (without a shell)
    finally:
        for fd in (told, *passed):
            os.close(fd)
