"""SIGKILL at 200 random moments under load: every file is valid; exactly the calls that returned are counted."""

from __future__ import annotations

import os
import random
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest
from posix_trace import Facts, Trace, counts, name_of

PROCESSES, THREADS, TIMES = 2, 3, 200
WORKERS = PROCESSES * THREADS
OPENS, WRITES, READS, CLOSES = range(4)


def killed(built: Path, trace: Trace, work: Path, after: float) -> list[tuple[int, ...]]:
    """Run the load, kill all of it at a moment, and return the counts that each of its threads noted."""
    counter = work / "counts"
    counter.write_bytes(bytes(64 * WORKERS))
    command = [built / "workload", counter, str(PROCESSES), str(THREADS)]
    ended, held = os.pipe()  # at its end when the last process of the group has closed it
    with subprocess.Popen(
        command, cwd=work, env=trace.environment(), start_new_session=True, pass_fds=[held]
    ) as process:
        os.close(held)
        time.sleep(after)
        os.killpg(process.pid, signal.SIGKILL)
    assert os.read(ended, 1) == b""
    os.close(ended)
    return [struct.unpack_from("<4q", counter.read_bytes(), 64 * worker) for worker in range(WORKERS)]


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


@pytest.mark.slow
def test_a_kill_at_200_moments(built: Path, trace: Trace, work: Path) -> None:
    """After each: as many calls as returned, or one more in each thread, if the program did not note its return."""
    choice, calls, seen = random.Random(7), 0, 0
    for moment in range(TIMES):
        noted = killed(built, trace, work, choice.uniform(0.004, 0.07))
        facts = trace.facts()  # parses every file
        assert trace.gaps() == {}
        for worker, (mine, theirs) in enumerate(zip(recorded(facts, work), noted, strict=True)):
            for kind in (OPENS, WRITES, READS, CLOSES):
                assert theirs[kind] <= mine[kind] <= theirs[kind] + 1, f"moment {moment}, thread {worker}, kind {kind}"
            calls += sum(theirs)
            seen += sum(theirs) > 0
        shutil.rmtree(trace.folder)
        trace.folder.mkdir()
    assert seen > TIMES
    assert calls > 20 * TIMES
