"""Programs that are killed by the processor's count of their instructions, at fixed steps of one write.

Only x86-64 can count them: elsewhere, and under an emulator, a program is killed only before that write.
"""

from __future__ import annotations

import os
import platform
import shutil
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

from posix_trace import Trace, counts

COUNTED = platform.machine() == "x86_64"
# The state of the last write after a kill, in the order of the instructions: not made; made; made and recorded.
NOTHING, MADE, RECORDED = (0, 0), (1, 0), (1, 1)
ALL = {NOTHING, MADE, RECORDED} if COUNTED else {NOTHING}
BEFORE = 10  # writes


def kills(stride: int, run: Callable[[int], int]) -> Iterable[int]:
    """Run a program that is killed at each so many instructions, until it has fewer; yield the step of each kill."""
    step = 0
    while (code := run(step)) == -signal.SIGKILL:
        yield step
        step += stride
    assert code == 0, code


def states(
    trace: Trace, out: Path, command: Callable[[str, str, str], int], stride: int, before: int = BEFORE
) -> set[tuple[int, int]]:
    """Kill `killed FILE COUNT STEP` at each so many instructions of the write that follows COUNT others. Each file of
    the trace must be valid; return the states of that write in the file and in the trace."""

    def run(step: int) -> int:
        out.unlink(missing_ok=True)
        shutil.rmtree(trace.folder)
        trace.folder.mkdir()
        return command(str(out), str(before), str(step))

    found = set()
    for _ in kills(stride, run):
        assert trace.gaps() == {}
        own = [one for one in counts(trace.facts()) if one.path == os.fsencode(out)]
        count, size = sum(one.count for one in own), sum(one.size for one in own)
        assert size in (64 * count, 64 * count - 64)  # the count is written first
        found.add((out.stat().st_size // 64 - before, count - before))
    return found
