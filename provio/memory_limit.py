"""How much memory the control groups of this process have left: /proc and /sys/fs/cgroup in, bytes out.

A process that takes more is ended by the kernel, with others of its group or in their place. What the group holds of
files that are read only, the kernel gives back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
FILES = "memory.max", "memory.current", "inactive_file"  # of version 2,
EARLIER = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"  # and of version 1


def left() -> float:
    """Return the bytes that this process may still take; infinity where no group has a limit."""
    return min((found for found in _left() if found is not None), default=float("inf"))


def _left() -> Iterator[float | None]:
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from _along(ROOT, path, FILES)
        elif "memory" in controllers.split(","):
            yield from _along(ROOT / "memory", path, EARLIER)


def _along(root: Path, path: str, names: tuple[str, str, str]) -> Iterator[float | None]:
    """What a group has left, and each that it is in."""
    place = root / path.lstrip("/")
    while place.is_relative_to(root):
        yield _of(place, *names)
        place = place.parent


def _of(place: Path, limit: str, used: str, cached: str) -> float | None:
    with contextlib.suppress(OSError, ValueError):
        most = int((place / limit).read_text(encoding="ascii"))  # of no limit, `max`: a ValueError
        statistics = (place / "memory.stat").read_text(encoding="ascii").split()
        given_back = int(statistics[statistics.index(cached) + 1])
        return most - int((place / used).read_text(encoding="ascii")) + given_back
    return None
