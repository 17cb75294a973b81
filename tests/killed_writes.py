"""Programs that are killed by the processor's count of their instructions, at fixed steps of one write.

Only x86-64 can count them: elsewhere, and under an emulator, a program is killed only before that write.
"""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from posix_trace import Trace, counts

TRAP = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("9c48810c24000100009d90c3"))  # pushfq; orq $0x100,(%rsp); popfq; nop; ret
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
"""


def counts_instructions() -> bool:
    """Whether the processor traps after an instruction if a program asks for it."""
    if platform.machine() != "x86_64":
        return False
    return subprocess.run([sys.executable, "-c", TRAP], check=False).returncode == -signal.SIGTRAP


COUNTED = counts_instructions()
# The state of the last write after a kill, in the order of the instructions: not made; made; made and recorded.
NOTHING, MADE, RECORDED = (0, 0), (1, 0), (1, 1)
ALL = {NOTHING, MADE, RECORDED} if COUNTED else {NOTHING}
BEFORE = 10  # writes
ENDS = 4


def kills(stride: int, run: Callable[[int], int]) -> Iterable[int]:
    """Run a program that is killed at every STRIDE-th instruction, until it ends first at ENDS steps in succession;
    yield the steps. A single run may end first too early: fewer of its instructions were counted."""
    step = ended = 0
    while ended < (ENDS if COUNTED else 1):
        code = run(step)
        if code == -signal.SIGKILL:
            yield step
        assert code in (0, -signal.SIGKILL), code
        ended = ended + 1 if code == 0 else 0
        step += stride


def states(
    trace: Trace, out: Path, command: Callable[[str, str, str], int], stride: int, before: int = BEFORE
) -> set[tuple[int, int]]:
    """Kill `killed FILE COUNT STEP` at every STRIDE-th instruction of the write that follows COUNT others. Each file of
    the trace must be valid; return the states of that write in the file and in the trace."""

    def run(step: int) -> int:
        out.unlink(missing_ok=True)
        trace.clear()
        return command(str(out), str(before), str(step))

    found = set()
    for _ in kills(stride, run):
        assert trace.gaps() == {}
        own = [one for one in counts(trace.facts()) if one.path == os.fsencode(out)]
        count, size = sum(one.count for one in own), sum(one.size for one in own)
        assert size in (64 * count, 64 * count - 64)  # the count is written first
        found.add((out.stat().st_size // 64 - before, count - before))
    return found
