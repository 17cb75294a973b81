"""Runs one command as a process group of its own, so that a signal to provio ends all its processes. In: a command
line. Out: its exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE = 10  # seconds for a command to end after a signal, before it is killed


class Interrupted(Exception):
    """A signal arrived, and the command has ended."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _Arrived(Exception):
    """A signal arrived while provio waits for a command."""


def run(call: Sequence[str], folder: str, env: Mapping[str, str], streams: Mapping[str, int]) -> int:
    """Run a command, and return its exit code as `subprocess` gives it. Raises OSError, or Interrupted."""
    arrived: list[int] = []
    waits = False

    def keep(number: int, _frame: FrameType | None) -> None:
        arrived.append(number)
        if waits:
            raise _Arrived

    before = {}
    if threading.current_thread() is threading.main_thread():  # no other thread may set handlers
        numbers = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, keep) for number in numbers}
    try:
        with subprocess.Popen(
            call, cwd=folder, env=env, process_group=0,
            stdin=streams["stdin"], stdout=streams["stdout"], stderr=streams["stderr"],
        ) as process:  # fmt: skip
            try:
                waits = True
                if not arrived:
                    return process.wait()
            except _Arrived:
                pass
            finally:
                waits = False
            _end(process, arrived[0])
            raise Interrupted(arrived[0])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(process: subprocess.Popen[bytes], number: int) -> None:
    """End all processes of the group of a command."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
    with suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE)
    with suppress(ProcessLookupError):  # a process that ignores the signal may outlive the command
        os.killpg(process.pid, signal.SIGKILL)
