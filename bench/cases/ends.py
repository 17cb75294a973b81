"""Two hundred `provio run`s that end at once: how long the slowest takes to end, beside one that ends alone."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from case import Place
from measure import Spread
from question import Figure, Question
from variants import plain_environment

PROVIO = Path(sys.executable).with_name("provio")
COUNT = 200
SCRIPT = 'echo > "ready$0"; read word < go; echo "$0" > "out$0"'  # waits until it is let go


def _ended(folder: Path, count: int) -> list[float]:
    """Start runs that wait for one FIFO, let all go at once; return after how many milliseconds each ended."""
    kept = {name: value for name, value in plain_environment().items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**kept, "PROVIO_HOME": str(folder / ".provio")}
    watched = [PROVIO, "run", "--quiet", "--"]
    subprocess.run([*watched, "true"], cwd=folder, env=environment, check=True)  # the store is there
    os.mkfifo(folder / "go")
    gate = os.open(folder / "go", os.O_RDWR)
    running = {
        subprocess.Popen([*watched, "sh", "-c", SCRIPT, str(number)], cwd=folder, env=environment).pid
        for number in range(count)
    }
    while len(list(folder.glob("ready*"))) < count:
        time.sleep(0.1)
    time.sleep(0.5)
    released, ended = time.perf_counter(), []
    os.write(gate, b"\n" * count)
    while running:
        running.discard(os.wait()[0])
        ended.append((time.perf_counter() - released) * 1e3)
    os.close(gate)
    return ended


def _ends(place: Place, rounds: int) -> Sequence[Figure]:
    """Measure both in turns; what the runs share is the machine's cores, which the title names."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    alone, slowest, times = [], [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(dir=place.data) as one, tempfile.TemporaryDirectory(dir=place.data) as many:
            alone.append(_ended(Path(one), 1)[0])
            slowest.append(max(_ended(Path(many), COUNT)))
            times.append(slowest[-1] / alone[-1])
    title = f"{COUNT} `provio run`s that end at once, on {os.cpu_count()} cores: the slowest"
    return [
        Figure("the end of a `provio run` alone, with merge", Spread.of(alone), "ms"),
        Figure(f"{title}", Spread.of(slowest), "ms"),
        Figure("the same, times one alone", Spread.of(times), "×", 2),
    ]


QUESTIONS = [Question("ends", _ends)]
