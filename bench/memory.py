"""Measures the peak memory of a process with all its descendants."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

EVERY = 0.2  # seconds


class Watched(threading.Thread):
    """Samples a process and its descendants until `stop`; `peak` is the largest sum in bytes, with shared memory
    counted once."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self.process, self.peak, self.ended = process, 0, threading.Event()

    def run(self) -> None:
        """Take samples."""
        while not self.ended.wait(EVERY):
            self.peak = max(self.peak, sum(map(_share, _family(self.process))))

    def stop(self) -> int:
        """Stop sampling; return the peak."""
        self.ended.set()
        self.join()
        return self.peak


def _family(process: int) -> list[int]:
    """Return a process and its descendants."""
    children: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            parent = int(Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(name))
    found = [process]
    for one in found:
        found += children.get(one, [])
    return found


def _share(process: int) -> int:
    """Return the private bytes of a process and its share of shared ones (Pss)."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0
