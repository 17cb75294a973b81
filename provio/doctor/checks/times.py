"""How fine the times of files are, where the record lies and here: two contents are told apart by them."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from provio.doctor import Finding, Place, note, ok

ABOUT = "file times"
STAMP = 1_000_000_000 * 10**9 + 123_456_789  # an odd second would do for a file system of two-second times
TRY = 0.05  # seconds: several ticks of any kernel


def look(place: Place) -> Iterator[Finding]:
    """Yield the step of file times in each of the two places."""
    for folder in {os.stat(each).st_dev: each for each in (place.folder, Path.cwd())}.values():
        if not os.access(folder, os.W_OK):
            continue
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".provio-doctor-") as file:
            kept, step = _kept(file.name), _step(file.name)
        if kept >= 10**9:
            yield note(
                f"{folder}: times of files are whole seconds: two contents of one size within {kept // 10**9} s are "
                "told apart within a run, and not between runs",
                "keep data that is made anew at once on another file system, or set hash = true",
            )
        else:
            yield ok(f"{folder}: times of files are kept to {_said(kept)}, and move in steps of {_said(step)}")


def _kept(path: str) -> int:
    """To how many nanoseconds a time is kept, of a time that is set."""
    os.utime(path, ns=(STAMP, STAMP + 10**9))
    lost = STAMP + 10**9 - os.stat(path).st_mtime_ns
    return 10 ** len(str(lost)) if 0 < lost < 10**9 else 1 if not lost else 2 * 10**9


def _step(path: str) -> int:
    """The least step between times that the kernel sets, in ns."""
    seen, end = set(), time.monotonic() + TRY
    while time.monotonic() < end:
        with open(path, "ab") as file:
            file.write(b".")
        seen.add(os.stat(path).st_mtime_ns)
    times = sorted(seen)
    return min((later - earlier for earlier, later in pairwise(times)), default=10**9)


def _said(ns: int) -> str:
    value, unit = next(
        (ns / size, unit) for size, unit in ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns")) if ns >= size
    )
    return f"{value:.0f} {unit}"
