"""A process that ends with the one that started it, however that ends."""

from __future__ import annotations

import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1  # sys/prctl.h


def die_with(parent: int) -> None:
    """Have the kernel end this process with its parent; end now, where the parent is gone."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
