"""The conditions of a measurement: date, rounds, and the load of the machine by other processes."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path

HEAD = "measured; cores busy with other processes"


class MachineLoad:
    """The load by other processes since the object was created."""

    def __init__(self) -> None:
        self.began, self.busy, self.own = time.monotonic(), _busy(), _own()

    def cell(self, rounds: int) -> str:
        """Return the cell of a row."""
        return f"{datetime.now(UTC):%Y-%m-%d}, {rounds} rounds: {self.cores():.1f}"

    def cores(self) -> float:
        """Return the number of cores that other processes kept busy."""
        elapsed = max(time.monotonic() - self.began, 0.01)
        return max(0.0, (_busy() - self.busy) - (_own() - self.own)) / elapsed


def _busy() -> float:
    """Return the processor time of all cores since the boot, in seconds."""
    user, nice, system, _, _, irq, softirq, *_ = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    return sum(map(int, (user, nice, system, irq, softirq))) / os.sysconf("SC_CLK_TCK")


def _own() -> float:
    """Return the processor time of this process and its ended children, in seconds."""
    return sum(os.times()[:4])
