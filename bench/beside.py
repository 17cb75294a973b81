"""Under what something was measured: a stretch of time in; the day, the rounds and how busy others kept the machine
out."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path

HEAD = "measured, and how many cores others kept busy"


class Beside:
    """What others do from here on, until it is asked for."""

    def __init__(self) -> None:
        self.began, self.busy, self.own = time.monotonic(), _busy(), _own()

    def told(self, rounds: int) -> str:
        """Return the cell of a row."""
        return f"{datetime.now(UTC):%Y-%m-%d}, {rounds} rounds: {self.cores():.1f}"

    def cores(self) -> float:
        """Return how many cores others kept busy."""
        elapsed = max(time.monotonic() - self.began, 0.01)
        return max(0.0, (_busy() - self.busy) - (_own() - self.own)) / elapsed


def _busy() -> float:
    """Seconds of processor time that the whole machine has spent, all cores together."""
    user, nice, system, _, _, irq, softirq, *_ = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    return sum(map(int, (user, nice, system, irq, softirq))) / os.sysconf("SC_CLK_TCK")


def _own() -> float:
    """Seconds that this process has, and those that it started and that have ended."""
    return sum(os.times()[:4])
