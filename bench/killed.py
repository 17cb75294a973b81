"""Kills a reading program with SIGKILL and checks that every returned call is counted."""

from __future__ import annotations

import random
import signal
import struct
import subprocess
import time

from case import LEVELS, Place
from traces import calls_kept, counted, openings
from variants import Trace, plain_environment

TIMES = 100  # at each level


def _kill(place: Place, level: str, trace: Trace, wait: float) -> tuple[int, int]:
    """Return the number of reads that had returned at the kill, and the number counted."""
    seen = place.data / "seen"
    seen.write_bytes(bytes(8))
    environment = {**plain_environment(), **trace.variables(level)}
    process = subprocess.Popen([place.program("killed"), "cached", "seen"], cwd=place.data, env=environment)
    while process.poll() is None and seen.read_bytes() == bytes(8):
        time.sleep(0.001)
    time.sleep(wait)
    process.send_signal(signal.SIGKILL)
    if process.wait() != -signal.SIGKILL:
        raise AssertionError(f"the program ended by itself with {process.returncode}")
    return struct.unpack("<Q", seen.read_bytes())[0], counted(trace.folder, "cached", "reads")


def after_kill(place: Place) -> dict[str, str]:
    """Return the result of many kills at each level; raise if a call is lost."""
    (place.data / "cached").write_bytes(bytes(1 << 20))
    found = {}
    for level in LEVELS:
        returned = 0
        for attempt in range(TIMES):
            trace = Trace(place.data / f"killed.{level}.{attempt}")
            saw, kept = _kill(place, level, trace, random.uniform(0.001, 0.05))
            named = any(path.endswith("/cached") for _, path in openings(trace.folder))
            if not named or (level != "file" and not saw <= kept <= saw + 1):
                raise AssertionError(f"{level}: {saw} calls returned, {kept} are counted in {trace.folder}")
            if level == "call":
                calls_kept(trace.folder, level, "cached", "reads", saw)
            returned += saw
        kept_data = {"file": "their file named", "op": "all counted", "call": "all counted and kept"}[level]
        found[level] = f"{TIMES} kills, {returned:,} calls had returned: {kept_data}"
    return found
