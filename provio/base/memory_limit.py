"""The memory of a process that answers a query, and its limit.

A limit by the kernel (RLIMIT_DATA) would make an allocation fail anywhere in the process: libraries then print messages
of their own and abort, or wait for ever. So another process looks at its memory, and ends it.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

LOOK = 0.05  # seconds between two looks; a query of the embedded store grows by 10 to 20 MB in this time
COUNTED = ("RssAnon:", "RssShmem:", "VmSwap:")  # not the pages of files, which the kernel drops at any time


def used(pid: int) -> int:
    """Return the bytes of memory of a process; 0 if it has ended."""
    kilobytes = 0
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        kilobytes = sum(int(line.split()[1]) for line in file if line.startswith(COUNTED))
    return kilobytes * 1024


def watch(pid: int, most: int, is_alive: Callable[[], bool], end: Callable[[], None]) -> None:
    """Start a thread that calls `end` when a process takes more than `most` bytes (0: no limit), until it has ended."""

    def look() -> None:
        while is_alive():
            if used(pid) > most:
                end()
                return
            time.sleep(LOOK)

    if most:
        threading.Thread(target=look, daemon=True).start()
