"""The time of `provio run` after its command: after accesses to many files, and of 200 runs that end at once."""

from __future__ import annotations

import contextlib
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
from measurement import Figure, Measurement
from variants import plain_environment

PROVIO = Path(sys.executable).with_name("provio")
COUNT = 200
SCRIPT = 'echo > "ready$0"; read word < go; echo "$0" > "out$0"'  # waits until it is released


def _environment(folder: Path) -> dict[str, str]:
    """Return an environment with a record in a folder."""
    left_out = ("PYTHONDONTWRITEBYTECODE", "CI")
    kept = {name: value for name, value in plain_environment().items() if name not in left_out}
    return {**kept, "PROVIO_HOME": str(folder / ".provio")}


def _ended(folder: Path, count: int) -> list[float]:
    """Start runs that wait for one FIFO and release all at once; return the milliseconds until the end of each."""
    environment = {**_environment(folder), "PROVIO_MERGE": "wait"}
    watched = [PROVIO, "run", "--quiet", "--"]
    subprocess.run([*watched, "true"], cwd=folder, env=environment, check=True)  # creates the store
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
    """Measure both in turns; the runs share the cores, whose number is in the title."""
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


LAST = Path(__file__).parent.parent / "programs" / "last.py"
WAYS = {
    "read 50,000 files": ("read", 50_000),
    "wrote 200,000 files": ("write", 200_000),
    "left 10,000 files open": ("leave", 10_000),
    "started 5,000 programs": ("start", 5_000),
    "forked 400 times in 4 threads, each child left a file open": ("fork", 400),
}
AFTER = 500  # ms that `provio run` may take after its command
ONE_AFTER_THE_OTHER = 1000  # runs


def _after(folder: Path, way: str, count: int) -> float:
    """Return the milliseconds from the last action of a command to the end of its `provio run`."""
    environment = {**_environment(folder), "PROVIO_MERGE": "background"}
    command = [PROVIO, "run", "--quiet", "--", sys.executable, LAST, way, str(count)]
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True)
    return (time.monotonic_ns() - int(done.stdout)) / 1e6


def _endings(place: Place, rounds: int) -> Sequence[Figure]:
    """Measure each way in turns."""
    took: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for title, (way, count) in WAYS.items():
            with tempfile.TemporaryDirectory(dir=place.data) as made:
                folder = Path(made)
                (folder / "in").mkdir()
                for number in range(count if way == "read" else 1):
                    (folder / "in" / str(number)).write_bytes(b"1" * 40)
                took[title].append(_after(folder, way, count))
    heading = "from the end of a command that {} to the end of `provio run`: the longest"
    return [Figure(heading.format(title), Spread.of([max(found)]), "ms", AFTER, 0) for title, found in took.items()]


def _row(place: Place, rounds: int) -> Sequence[Figure]:
    """Measure runs one after the other, their number of merges, and a Python alone."""
    took, alone, merges = [], [], []
    for _ in range(max(1, rounds // 3)):
        with tempfile.TemporaryDirectory(dir=place.data) as made:
            folder = Path(made)
            environment = {**_environment(folder), "PROVIO_MERGE": "background"}
            mergers = set()
            start = time.perf_counter()
            for _ in range(ONE_AFTER_THE_OTHER):
                subprocess.run([PROVIO, "run", "--quiet", "--", "true"], cwd=folder, env=environment, check=True)
                mergers |= _mergers(folder)
            took.append((time.perf_counter() - start) / ONE_AFTER_THE_OTHER * 1e3)
            start = time.perf_counter()
            for _ in range(100):
                subprocess.run([sys.executable, "-c", "pass"], cwd=folder, env=environment, check=True)
            alone.append((time.perf_counter() - start) * 10)
            merges.append(len(mergers))
    title = f"{ONE_AFTER_THE_OTHER:,} × `provio run -- true`, one after the other: each"
    return [
        Figure(title, Spread.of(took), "ms", 45),
        Figure("`python3 -c pass`, for comparison", Spread.of(alone), "ms"),
        Figure("the number of their background merges", Spread.of([float(count) for count in merges]), "", 3, 0),
    ]


def _mergers(folder: Path) -> set[str]:
    """Return the ids of the background merges of a record."""
    wanted, found = os.fsencode(folder / ".provio"), set()
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = Path(entry.path, "cmdline").read_bytes().split(b"\0")
                if b"provio.merge.background" in words and wanted in words:
                    found.add(entry.name)
    return found


MEASUREMENTS = [Measurement("ends", _ends), Measurement("endings", _endings), Measurement("row", _row, only_named=True)]
