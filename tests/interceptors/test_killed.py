"""SIGKILL at fixed steps of one thread under load: every file is valid; exactly the calls that returned are counted."""

from __future__ import annotations

import os
import signal
import struct
from pathlib import Path

import killed_writes
import pytest
from posix_trace import Facts, Trace, counts, name_of

PROCESSES, THREADS = 2, 3
WORKERS = PROCESSES * THREADS
OPENS, WRITES, READS, CLOSES = range(4)
STEPS = range(0, 1200, 300) if killed_writes.COUNTED else [0]  # instructions: those of some calls


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


@pytest.mark.integration
@pytest.mark.parametrize("calls", [0, 1, 30, 1000, 5000])
def test_a_kill_at_a_step(built: Path, trace: Trace, work: Path, calls: int) -> None:
    """As many calls as returned, or one more in each thread, if the program did not note its return."""
    for step in STEPS:
        noted = killed(built, trace, work, calls, step)
        facts = trace.facts()  # parses every file
        assert trace.gaps() == {}
        for worker, (mine, theirs) in enumerate(zip(recorded(facts, work), noted, strict=True)):
            for kind in (OPENS, WRITES, READS, CLOSES):
                assert theirs[kind] <= mine[kind] <= theirs[kind] + 1, f"step {step}, thread {worker}, kind {kind}"
        assert (sum(noted[0]) == calls) if step == 0 else (sum(noted[0]) >= calls)
        trace.clear()
