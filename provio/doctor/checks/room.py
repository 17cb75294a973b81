"""Room: what is free, in bytes and files, where the record and live files lie; the limits of a process."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

from provio.base.text import size
from provio.doctor import Finding, Place, note, ok, problem
from provio.trace.run_source import shared_memory

ABOUT = "room"
LITTLE, NOTHING = 1 << 30, 16 << 20  # bytes
FEW, NONE = 10_000, 100  # files: one a thread
REMEDY = "make room (provio prune --older-than 30d), or set PROVIO_HOME to another disk"


def look(place: Place) -> Iterator[Finding]:
    """Yield how much room is left."""
    for folder in dict.fromkeys((place.folder, shared_memory().parent)):
        if folder.is_dir():
            yield _left(folder)
    for what, limit in (("a file may be", resource.RLIMIT_FSIZE), ("memory may be", resource.RLIMIT_AS)):
        soft = resource.getrlimit(limit)[0]
        if soft != resource.RLIM_INFINITY:
            yield note(f"{what} {size(soft)} large at most (ulimit): a trace that grows beyond stops, with a gap")


def _left(folder: Path) -> Finding:
    found = os.statvfs(folder)
    free, files = found.f_bavail * found.f_frsize, found.f_favail if found.f_files else FEW
    says = f"{folder}: {size(free)} free" + (f", room for {files} files" if found.f_files else "")
    if free < NOTHING or files < NONE:
        return problem(says, REMEDY)
    return note(says, REMEDY) if free < LITTLE or files < FEW else ok(says)
