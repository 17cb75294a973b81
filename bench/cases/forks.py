"""The end of `provio run --no-merge` of a program that forks, and a short command while other runs are pending."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from case import HERE, Place
from cases.merge import PROVIO, _copied, _environment, _recorded
from measure import Spread
from measurement import Figure, Measurement

LAST = HERE / "programs" / "last.py"
FORKS = (40, 400)  # in each of four threads
PENDING, PROGRAMS = 51, 1_450  # runs; programs of each run: 47 MB
SHORT = 0.1  # seconds


def _seconds(command: Sequence[str | Path], folder: Path) -> tuple[float, bytes]:
    """Return the time of a command and its output."""
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=_environment(folder), stdout=subprocess.PIPE, check=True)
    return time.perf_counter() - began, done.stdout


def _forks(place: Place, rounds: int) -> Sequence[Figure]:
    """Measure the program bare and recorded in turns, and the time from its last action to the end of the run."""
    figures = []
    for count in FORKS:
        program = [sys.executable, LAST, "fork", str(4 * count)]
        bare, added, ends = [], [], []
        for _ in range(rounds):
            with tempfile.TemporaryDirectory(dir=place.data) as one, tempfile.TemporaryDirectory(dir=place.data) as two:
                alone, _output = _seconds(program, Path(one))
                recorded, output = _seconds([PROVIO, "run", "--quiet", "--no-merge", "--", *program], Path(two))
                ends.append((time.monotonic_ns() - int(output)) / 1e6)
            bare.append(alone)
            added.append(recorded - alone)
        title = f"a program with {count} forks in each of 4 threads"
        figures += [
            Figure(f"{title}, bare", Spread.of(bare), "s"),
            Figure("added by `provio run --no-merge`", Spread.of(added), "s"),
            Figure("from its last action to the end of `provio run`", Spread.of(ends), "ms", 500, 0),
        ]
    return figures


def _pending(place: Place, rounds: int) -> Sequence[Figure]:
    """Measure a short command bare, recorded in an empty record, and in one with large pending runs, in turns."""
    whole = _recorded(place, "pending-one", PROGRAMS)
    many, none = _copied(whole, place.data / "pending-many", PENDING), place.data / "pending-none"
    shutil.rmtree(whole)
    (none / ".provio").mkdir(parents=True)
    size = sum(path.stat().st_blocks * 512 for path in (many / ".provio").rglob("*.ttl")) / 1e9
    took: dict[str, list[float]] = {"bare": [], "none": [], "many": []}
    command = ["sh", "-c", f"sleep {SHORT}; date > out"]
    watched = [PROVIO, "run", "--quiet", "--no-merge", "--", *command]
    for _ in range(rounds):
        took["bare"].append(_seconds(command, none)[0])
        took["none"].append(_seconds(watched, none)[0])
        took["many"].append(_seconds(watched, many)[0])
    shutil.rmtree(many)
    title = f"a command of {SHORT} s"
    added = [many - none for many, none in zip(took["many"], took["none"], strict=True)]
    return [
        Figure(f"{title}, bare", Spread.of(took["bare"]), "s", None, 3),
        Figure("the same under `provio run --no-merge`", Spread.of(took["none"]), "s", None, 3),
        Figure(f"added by {PENDING} unrelated pending runs of {size:.1f} GB", Spread.of(added), "s", 0.05, 3),
    ]


MEASUREMENTS = [Measurement("forks", _forks), Measurement("pending", _pending, only_named=True)]
