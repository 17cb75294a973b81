"""Has a small program wait for a command that goes on, and end its run: a recorded run in, this process as that program
out.

By an exec: what this process is to others, the command's parent, the holder of the run's lock, it stays. A Python that
waits holds ten megabytes, and takes the machine two milliseconds to end; the program under one, and a tenth of that.
Where it is missing, or cannot be, this process waits itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import marshal
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from provio.base.vocab import RUN_BASE
from provio.system.signals import Signals
from provio.trace.recording import End, Recording, host_folder

Rest = tuple[Any, list[str]]
WAITER = Path(__file__).parents[2] / "waiter"
VARIABLE = b"PROVIO_WAIT"
# What is done at the end, as interceptors/waiter/waiter.h has it.
LEAVE, MERGE, PYTHON, SETTLE = b"leave", b"merge", b"python", b"settle"


def become_waiter(recording: Recording, signals: Signals, pid: int, mode: bytes, word: str, rest: Rest) -> None:
    """Become the waiter for the process `pid`; return where that cannot be.

    `mode` is the action at the command's end, `word` the line that is then printed about the run. `rest` is passed to
    `provio.record.waiter.run_end`: the call of `provio run`, and the folders that may hold settings.
    """
    masks = [_mask(signals.awaited), _mask(signals.blocked)]
    _become(recording, [b"%d" % pid, b"0", *masks], mode, word, rest)


def become_waiter_at_end(recording: Recording, end: End, mode: bytes, word: str, rest: Rest) -> None:
    """Become the waiter for a command that ended, as `become_waiter`; return where that cannot be."""
    status = (end.exit_code or 0) << 8 if end.signal is None else end.signal
    blocked = _mask(set(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
    _become(recording, [b"0", b"%d" % status, b"0", blocked], mode, word, rest)


def _become(recording: Recording, fields: list[bytes], mode: bytes, word: str, rest: Rest) -> None:
    """A run inside a run stays what it is: the outer one would see the waiter as one more program, which it cannot
    watch."""
    with _told(recording, fields, mode, word, rest) as variable:
        if "PROVIO_TRACE" not in os.environ:
            os.execve(WAITER, sys.orig_argv, os.environb | variable)  # noqa: S606 (without a shell)


def postprocess(recording: Recording) -> None:
    """Look at the files of a run that ended whose close nobody saw, as the waiter does."""
    from provio.system.child import unwatched

    with _told(recording, [b"0", b"0", b"0", b"0"], SETTLE, "", (None, [])) as variable:
        environment = {os.fsencode(name): os.fsencode(value) for name, value in unwatched().items()}
        child = os.posix_spawn(WAITER, [os.fspath(WAITER)], environment | variable)
        os.waitpid(child, 0)


def _mask(numbers: set[int]) -> bytes:
    return b"%x" % sum(1 << number - 1 for number in numbers)


def _plain(recording: Recording) -> tuple[str, ...]:
    """What the end of a run is to know of it."""
    home = recording.home
    return str(home.path), home.server, recording.run_id, str(recording.trace_folder)


@contextlib.contextmanager
def _told(
    recording: Recording, fields: list[bytes], mode: bytes, word: str, rest: Rest
) -> Iterator[dict[bytes, bytes]]:
    """The variable that names the descriptor in which the waiter finds what it is told; what fails is not done."""
    paths = (recording.folder, host_folder(recording), recording.home.path)
    fields = [*fields, *map(os.fsencode, paths), mode, f"<{RUN_BASE}{recording.run_id}> a :Run".encode()]
    places = [os.fsencode(folder) for folder in rest[1][:2]]
    fields += [os.fsencode(word), os.fsencode(sys.executable or "python3"), *places, *[b""] * (2 - len(places))]
    passed: list[int] = []
    with contextlib.suppress(OSError, AttributeError, ValueError):
        told = os.memfd_create("provio")
        try:
            with open(told, "wb", closefd=False) as file:
                file.write(b"".join(field + b"\0" for field in fields) + marshal.dumps((_plain(recording), rest)))
            for fd in (told, recording.lock_fd) if recording.lock_fd >= 0 else (told,):
                passed.append(fcntl.fcntl(fd, fcntl.F_DUPFD, 3))  # it may be what was a standard stream that was closed
            yield {VARIABLE: b"%d" % passed[0]}
        finally:
            for fd in (told, *passed):
                os.close(fd)
