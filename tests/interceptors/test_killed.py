"""SIGKILL under load, at fixed steps of one thread and at random moments: every file is valid; exactly the calls that
returned are counted. The benchmark `killed` makes more kills."""

from __future__ import annotations

import os
import random
import signal
import struct
import subprocess
from pathlib import Path

import killed_writes
import pytest
from posix_trace import Facts, Trace, counts, name_of

PROCESSES, THREADS = 2, 3
WORKERS = PROCESSES * THREADS
OPENS, WRITES, READS, CLOSES = range(4)
STEPS = range(0, 1200, 300) if killed_writes.COUNTED else [0]  # instructions: those of some calls
KILLS = 20  # at random moments
ENDLESS = 1 << 60  # calls


def killed(built: Path, trace: Trace, work: Path, calls: int, step: int) -> list[tuple[int, ...]]:
    """Run the load until its first thread comes to a step after some calls, and kills all of it; return the counts that
    each of its threads noted."""
    counter = work / "counts"
    counter.write_bytes(bytes(64 * WORKERS))
    command = [built / "workload", counter, str(PROCESSES), str(THREADS), str(calls), str(step)]
    ended, held = os.pipe()  # at its end when the last process of the group has closed it
    done = trace.run(*command, cwd=work, start_new_session=True, pass_fds=[held])
    os.close(held)
    assert (done.returncode, os.read(ended, 1)) == (-signal.SIGKILL, b"")
    os.close(ended)
    return noted(counter)


def noted(counter: Path) -> list[tuple[int, ...]]:
    """Return the counts that each thread of the load noted."""
    return [struct.unpack_from("<4q", counter.read_bytes(), 64 * worker) for worker in range(WORKERS)]


def killed_from_outside(built: Path, trace: Trace, work: Path, calls: int) -> list[tuple[int, ...]]:
    """Run the load, kill all of it once it has noted so many calls, and return the counts of each of its threads."""
    counter = work / "counts"
    counter.write_bytes(bytes(64 * WORKERS))
    command = [built / "workload", counter, str(PROCESSES), str(THREADS), str(ENDLESS), "0"]
    ended, held = os.pipe()
    with subprocess.Popen(
        command, cwd=work, env=trace.environment(), start_new_session=True, pass_fds=[held]
    ) as process:
        os.close(held)
        while process.poll() is None and sum(map(sum, noted(counter))) < calls:
            pass
        os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, os.read(ended, 1)) == (-signal.SIGKILL, b"")
    os.close(ended)
    return noted(counter)


def assert_counted(trace: Trace, work: Path, theirs: list[tuple[int, ...]], moment: str) -> None:
    """Check that each returned call is counted, and in each thread at most one more."""
    facts = trace.facts()  # parses every file; one that was killed while it was made is empty
    assert trace.gaps() == {}
    for worker, (mine, noted_calls) in enumerate(zip(recorded(facts, work), theirs, strict=True)):
        for kind in (OPENS, WRITES, READS, CLOSES):
            told = f"{moment}, thread {worker}, kind {kind}"
            assert noted_calls[kind] <= mine[kind] <= noted_calls[kind] + 1, told


def recorded(facts: dict[str, Facts], work: Path) -> list[dict[int, int]]:
    """The counts in the trace for each thread: by the names of its files, which only it uses."""
    found = [{OPENS: 0, WRITES: 0, READS: 0, CLOSES: 0} for _ in range(WORKERS)]
    prefix = os.fsencode(work / "load")

    def of(name: bytes) -> dict[int, int] | None:
        return found[int(name.removeprefix(prefix).split(b".")[0])] if name.startswith(prefix) else None

    for count in counts(facts):
        mine = of(count.path)
        if mine is not None and count.side in "RW":
            mine[READS if count.side == "R" else WRITES] += count.count
    closed = {iri for iri, one in facts.items() if "closedNs" in one}
    closed |= {one["object"] for one in facts.values() if one.get("closed", "0").strip("0")}
    for iri, one in facts.items():
        mine = of(name_of(one)) if "openApi" in one else None
        if mine is not None:
            mine[OPENS] += 1
            mine[CLOSES] += iri in closed
    return found


@pytest.mark.integration
@pytest.mark.parametrize("calls", [0, 1, 30, 1000, 5000])
def test_a_kill_at_a_step(built: Path, trace: Trace, work: Path, calls: int) -> None:
    """As many calls as returned, or one more in each thread, if the program did not note its return."""
    for step in STEPS:
        theirs = killed(built, trace, work, calls, step)
        assert_counted(trace, work, theirs, f"step {step}")
        assert (sum(theirs[0]) == calls) if step == 0 else (sum(theirs[0]) >= calls)
        trace.clear()


@pytest.mark.integration
def test_kills_at_random_moments(built: Path, trace: Trace, work: Path) -> None:
    """From outside, after a few calls or thousands, wherever each of the threads is."""
    numbers = random.Random(1)
    for _ in range(KILLS):
        calls = int(10 ** numbers.uniform(0, 4))
        theirs = killed_from_outside(built, trace, work, calls)
        assert sum(map(sum, theirs)) >= calls
        assert_counted(trace, work, theirs, f"after {calls} calls")
        trace.clear()
