"""Replaces this process by the waiter, a small program that waits for the command and ends its run.

After the exec, it is still the parent of the command and the holder of the run's lock. If the waiter is missing or
cannot be started, this process waits itself.
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
from provio.settings.home import project_folders
from provio.system.signals import Signals
from provio.trace.recording import End, Recording, host_folder

Rest = tuple[Any, list[str]]
WAITER = Path(__file__).parents[2] / "waiter"
VARIABLE = b"PROVIO_WAIT"
# Actions at the end, as in interceptors/waiter/waiter.h.
LEAVE, MERGE, PYTHON, SETTLE = b"leave", b"merge", b"python", b"settle"


def become_waiter(recording: Recording, signals: Signals, pid: int, mode: bytes, word: str, rest: Rest) -> None:
    """Become the waiter for the process `pid`; return only if that fails.

    `mode` is the action at the command's end, `word` the line that is then printed about the run. `rest` is passed to
    `provio.record.waiter.run_end`: the call of `provio run`, and the folders that may hold settings.
    """
    masks = [_mask(signals.awaited), _mask(signals.blocked)]
    _become(recording, [b"%d" % pid, b"0", *masks], mode, word, rest)


def become_waiter_at_end(recording: Recording, end: End, mode: bytes, word: str, rest: Rest) -> None:
    """As `become_waiter`, for a command that has ended."""
    status = (end.exit_code or 0) << 8 if end.signal is None else end.signal
    blocked = _mask(set(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
    _become(recording, [b"0", b"%d" % status, b"0", blocked], mode, word, rest)


def _become(recording: Recording, fields: list[bytes], mode: bytes, word: str, rest: Rest) -> None:
    """Replace this process, except in a run inside another run: the outer one would record the waiter as a program that
    it cannot watch."""
    with _message(recording, fields, mode, word, rest) as variable:
        if "PROVIO_TRACE" not in os.environ:
            os.execve(WAITER, sys.orig_argv, os.environb | variable)  # noqa: S606 (without a shell)


def postprocess(recording: Recording) -> None:
    """Inspect the files of an ended run that have no observed close, and pass on those with values, as the waiter
    does."""
    from provio.system.child import unwatched

    folders = [str(folder) for folder in project_folders()]
    with _message(recording, [b"0", b"0", b"0", b"0"], SETTLE, "", (None, folders)) as variable:
        environment = {os.fsencode(name): os.fsencode(value) for name, value in unwatched().items()}
        child = os.posix_spawn(WAITER, [os.fspath(WAITER)], environment | variable)
        os.waitpid(child, 0)


def _mask(numbers: set[int]) -> bytes:
    return b"%x" % sum(1 << number - 1 for number in numbers)


def _plain(recording: Recording) -> tuple[str, ...]:
    """Return the facts of a run that `run_end` needs."""
    home = recording.home
    return str(home.path), home.server, recording.run_id, str(recording.trace_folder)


@contextlib.contextmanager
def _message(
    recording: Recording, fields: list[bytes], mode: bytes, word: str, rest: Rest
) -> Iterator[dict[bytes, bytes]]:
    """Yield the environment variable with the descriptor of the waiter's parameters; errors are suppressed."""
    paths = (recording.folder, host_folder(recording), recording.home.path)
    fields = [*fields, *map(os.fsencode, paths), mode, f"<{RUN_BASE}{recording.run_id}> a :Run".encode()]
    places = [os.fsencode(folder) for folder in rest[1][:2]]
    fields += [os.fsencode(word), os.fsencode(sys.executable or "python3"), *places, *[b""] * (2 - len(places))]
    passed: list[int] = []
    with contextlib.suppress(OSError, AttributeError, ValueError):
        memory = os.memfd_create("provio")
        try:
            with open(memory, "wb", closefd=False) as file:
                file.write(b"".join(field + b"\0" for field in fields) + marshal.dumps((_plain(recording), rest)))
            for fd in (memory, recording.lock_fd) if recording.lock_fd >= 0 else (memory,):
                passed.append(fcntl.fcntl(fd, fcntl.F_DUPFD, 3))  # above 2: standard streams may have been closed
            yield {VARIABLE: b"%d" % passed[0]}
        finally:
            for fd in (memory, *passed):
                os.close(fd)
