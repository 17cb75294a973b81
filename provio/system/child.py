"""Starts a module of provio as a process of its own, which no run records and nothing waits for."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

from provio.system.shims import NAME

SYS_IOPRIO_SET, IDLE = 251, 3 << 13  # ioprio_set(2) on x86-64: this process, class idle


def begin(module: str, *arguments: str, folder: str | None = None) -> None:
    """Start a module as a program, in a folder or in this one, and return at once; where no process is to be had,
    nothing is done."""
    import subprocess  # slow to import, and seldom wanted

    command = [sys.executable, "-P", "-m", module, *arguments]
    nowhere = subprocess.DEVNULL
    with contextlib.suppress(OSError):
        subprocess.Popen(
            command, stdin=nowhere, stdout=nowhere, stderr=nowhere, env=unwatched(), start_new_session=True, cwd=folder
        )


def give_way() -> None:
    """Leave processor, disk and memory to all others, as far as the system lets this thread."""

    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, 19)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    ctypes.CDLL(None).syscall(SYS_IOPRIO_SET, 1, 0, IDLE)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")


def unwatched() -> dict[str, str]:
    """Return the environment of a process that is no part of any run; what else the user preloads stays."""
    environ = {name: value for name, value in os.environ.items() if name != "PROVIO_TRACE"}
    preloads = environ.pop("LD_PRELOAD", "").replace(" ", ":").split(":")
    left = ":".join(path for path in preloads if path and os.path.basename(path) != NAME)
    return {**environ, "LD_PRELOAD": left} if left else environ
