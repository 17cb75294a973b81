"""The memory of a command and all that it starts, while it is at work: a process id in, the peak of their sum out."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

EVERY = 0.2  # seconds


class Watched(threading.Thread):
    """Looks at a process and its descendants again and again until it is told to stop; `peak` is the most that they
    had at one look, in bytes: what several have in common is divided among them, and so is counted once."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self.process, self.peak, self.ended = process, 0, threading.Event()

    def run(self) -> None:
        """Look."""
        while not self.ended.wait(EVERY):
            self.peak = max(self.peak, sum(map(_share, _family(self.process))))

    def stop(self) -> int:
        """Look no more; return the peak."""
        self.ended.set()
        self.join()
        return self.peak


def _family(process: int) -> list[int]:
    """A process and all that descend from it."""
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
    """The bytes that a process has, and its share of those that it has with others (Pss)."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0
