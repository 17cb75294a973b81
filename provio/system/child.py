"""Starts a module of provio as an independent background process: no run records it and no process waits for it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

from provio.system.shims import NAME

SYS_IOPRIO_SET, IDLE = 251, 3 << 13  # ioprio_set(2) on x86-64: this process, class idle


def begin(module: str, *arguments: str, folder: str | None = None) -> None:
    """Start a module as a program, in `folder` or in the current folder, and return at once; do nothing if no process
    can be created."""
    import subprocess  # slow to import, and rarely needed

    command = [sys.executable, "-P", "-m", module, *arguments]
    nowhere = subprocess.DEVNULL
    with contextlib.suppress(OSError):
        subprocess.Popen(
            command, stdin=nowhere, stdout=nowhere, stderr=nowhere, env=unwatched(), start_new_session=True, cwd=folder
        )


def give_way() -> None:
    """Give this thread the lowest priority for CPU, disk and memory, as far as the system permits."""

    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, 19)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    ctypes.CDLL(None).syscall(SYS_IOPRIO_SET, 1, 0, IDLE)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")


def unwatched() -> dict[str, str]:
    """Return the environment of a process that belongs to no run; other preloaded libraries of the user are kept."""
    environ = {name: value for name, value in os.environ.items() if name != "PROVIO_TRACE"}
    preloads = environ.pop("LD_PRELOAD", "").replace(" ", ":").split(":")
    rest = ":".join(path for path in preloads if path and os.path.basename(path) != NAME)
    return {**environ, "LD_PRELOAD": rest} if rest else environ
