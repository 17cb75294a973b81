"""Runs the variants of a case in turns, in many rounds, and collects the figures."""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from case import LEVELS, Case, Place, Unit
from variants import BARE, VARIANTS, Trace, plain_environment, variables

_numbers = itertools.count()


@dataclass(frozen=True)
class Sample:
    """One run of a command: the nanoseconds that it printed, or its wall time; and its processor time, all in all."""

    time: float
    processor: float


@dataclass(frozen=True)
class Spread:
    """A median and the quartiles around it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Summarize."""
        if len(values) < 2:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)

    def verdict(self, bound: float | None) -> str:
        """Return whether median and upper quartile keep a bound, or an empty string without a bound."""
        if bound is None:
            return ""
        return "**missed**" if self.median > bound else "held" if self.high <= bound else "not shown"


@dataclass
class Result:
    """All samples of a case by variant, and the content of its traces by level."""

    case: Case
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    def bare(self) -> float:
        """Return the bare command's figure, in the case's unit; seconds for a whole command."""
        middle = statistics.median(sample.time for sample in self.samples[BARE])
        return middle / (1e9 if self.case.unit is Unit.RATIO else self.case.unit.nanoseconds)

    def cost(self, variant: str, of: str = "time") -> Spread:
        """Return the cost of a variant against the bare run of the same round: a ratio, or the added time."""
        pairs = zip(self.samples[variant], self.samples[BARE], strict=True)
        both = [(getattr(sample, of), getattr(bare, of)) for sample, bare in pairs]
        if self.case.unit is Unit.RATIO:
            return Spread.of([watched / bare for watched, bare in both])
        return Spread.of([(watched - bare) / self.case.unit.nanoseconds for watched, bare in both])

    def verdict(self, level: str) -> str:
        """Return whether the cost keeps its bound, or an empty string without one."""
        return self.cost(level).verdict(self.case.bounds.get(level))


def sample(command: Sequence[str | Path], environment: dict[str, str], folder: Path, printed: bool) -> Sample:
    """Run a command; raise CalledProcessError if it fails."""
    began = time.perf_counter_ns()
    with tempfile.TemporaryFile() as complaints:  # a pipe could fill up, because it is read only later
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=complaints)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter_ns() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            complaints.seek(0)
            raise subprocess.CalledProcessError(process.returncode, command, output, complaints.read())
    return Sample(float(output) if printed else wall, (usage.ru_utime + usage.ru_stime) * 1e9)


def once(case: Case, variant: str, place: Place, result: Result) -> Sample:
    """Run one variant in a new trace folder, which is checked the first time and then emptied."""
    trace = Trace(place.data / "traces" / str(next(_numbers)))
    added = variables(variant, place.built, trace)
    if case.children:
        added = {f"CHILD_{name}": value for name, value in added.items()}
    try:
        found = sample(case.command(place), {**plain_environment(), **added}, place.data, case.unit is not Unit.RATIO)
        if variant in LEVELS and case.check and variant not in result.notes:
            result.notes[variant] = case.check(trace.folder, variant)
    finally:
        # Not removed: ext4 takes five times as long to find a free inode if others were freed in the last minute.
        for path in trace.root.rglob("*.ttl"):
            os.truncate(path, 0)
    return found


def measure(case: Case, place: Place, rounds: int) -> Result:
    """Run each variant once a round, each round in another order."""
    result = Result(case, {variant: [] for variant in VARIANTS})
    case.prepare(place)
    once(case, BARE, place, result)  # so that the files are in the page cache
    for turn in range(rounds):
        order = VARIANTS[turn % len(VARIANTS) :] + VARIANTS[: turn % len(VARIANTS)]
        for variant in order:
            result.samples[variant].append(once(case, variant, place, result))
    return result
