"""Checks of the machine: clocks, resolution of file times, locale, free space and limits."""

from __future__ import annotations

import locale
import mmap
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from provio.base.text import size
from provio.doctor import Finding, Place, check, note, ok, problem
from provio.record.run import clock_source
from provio.trace.run_source import shared_memory, start_time

CLOCK_SKEW = 1.0  # seconds
CLOCK_REMEDY = "synchronize the clocks with one server (chrony, ntpd): lineage depends on the order in time"
# Seconds and nanoseconds of a time to set; the second is odd, to detect file systems with times of two seconds.
STAMP = 1_000_000_000 * 10**9 + 123_456_789
TRY = 0.05  # seconds: several ticks of any kernel
FEW_BYTES, TOO_FEW_BYTES = 1 << 30, 16 << 20
FEW_FILES, TOO_FEW_FILES = 10_000, 100  # a run needs one for each thread
SPACE_REMEDY = "free some space (provio prune --older-than 30d), or set PROVIO_HOME to a folder on another disk"
MAPPED = 4096  # bytes


@check("clock")
def check_clock(place: Place) -> Iterator[Finding]:
    """Yield whether the time is cheap to read, and whether this clock agrees with the disk's and the newest run's."""
    if os.access(place.folder, os.W_OK):
        with tempfile.NamedTemporaryFile(dir=place.folder, prefix=".provio-doctor-") as file:
            skew = os.stat(file.name).st_mtime - time.time()
        if abs(skew) > CLOCK_SKEW:
            direction = "ahead of" if skew > 0 else "behind"
            yield note(
                f"the clock of {place.folder}'s server is {abs(skew):.0f} s {direction} this host's", CLOCK_REMEDY
            )
    runs = place.home.run_folders()
    ahead = start_time(runs[-1].name) - time.time() if runs else 0.0
    if ahead > CLOCK_SKEW:
        yield note(
            f"the newest run starts {ahead:.0f} s in the future: this clock was set back, or is behind", CLOCK_REMEDY
        )
    source = clock_source()
    if source and source != "tsc":
        yield note(
            f"the kernel's clock is {source}: each recorded call needs a system call for the time, which is slow"
        )
    else:
        yield ok("times are read from the processor")


@check("file times")
def check_times(place: Place) -> Iterator[Finding]:
    """Yield the resolution of file times where the record is and in the current folder: it separates versions."""
    for folder in {os.stat(each).st_dev: each for each in (place.folder, Path.cwd())}.values():
        if not os.access(folder, os.W_OK):
            continue
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".provio-doctor-") as file:
            resolution, step = _resolution(file.name), _step(file.name)
        if resolution >= 10**9:
            yield note(
                f"{folder}: file times are whole seconds: two contents of one size within {resolution // 10**9} s are "
                "two versions within a run, but one version between runs",
                'put files that are rewritten within a second on another file system, or set hash = "all"',
            )
        else:
            yield ok(f"{folder}: file times have a resolution of {_time(resolution)} and advance by {_time(step)}")


def _resolution(path: str) -> int:
    """Return the resolution in ns with which the file system stores a time that is set."""
    os.utime(path, ns=(STAMP, STAMP + 10**9))
    cut = STAMP + 10**9 - os.stat(path).st_mtime_ns
    return 10 ** len(str(cut)) if 0 < cut < 10**9 else 1 if not cut else 2 * 10**9


def _step(path: str) -> int:
    """Return the smallest observed step in ns between times that the kernel sets."""
    seen, end = set(), time.monotonic() + TRY
    while time.monotonic() < end:
        with open(path, "ab") as file:
            file.write(b".")
        seen.add(os.stat(path).st_mtime_ns)
    times = sorted(seen)
    return min((later - earlier for earlier, later in pairwise(times)), default=10**9)


def _time(ns: int) -> str:
    value, unit = next(
        (ns / size, unit) for size, unit in ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns")) if ns >= size
    )
    return f"{value:.0f} {unit}"


@check("locale")
def check_locale(_place: Place) -> Iterator[Finding]:
    """Yield whether names outside ASCII can be shown."""
    encoding = locale.getencoding()
    if encoding.lower().replace("-", "") == "utf8":
        yield ok(encoding)
    else:
        yield note(
            f"{encoding}: output is in ASCII, other characters are escaped; the record is the same",
            "export LC_ALL=C.UTF-8",
        )


@check("room")
def check_room(place: Place) -> Iterator[Finding]:
    """Yield the free space for the record and for live files, and the limits of this process."""
    for folder in dict.fromkeys((place.folder, shared_memory().parent)):
        if folder.is_dir():
            yield _free(folder)
    for subject, limit in (("files", resource.RLIMIT_FSIZE), ("memory", resource.RLIMIT_AS)):
        soft = resource.getrlimit(limit)[0]
        if soft != resource.RLIM_INFINITY:
            yield note(f"{subject} limited to {size(soft)} (ulimit): a trace that grows beyond it stops, with a gap")


def _free(folder: Path) -> Finding:
    found = os.statvfs(folder)
    free, files = found.f_bavail * found.f_frsize, found.f_favail if found.f_files else FEW_FILES
    message = f"{folder}: {size(free)} free" + (f", {files} free inodes" if found.f_files else "")
    if free < TOO_FEW_BYTES or files < TOO_FEW_FILES:
        return problem(message, SPACE_REMEDY)
    return note(message, SPACE_REMEDY) if free < FEW_BYTES or files < FEW_FILES else ok(message)


def unmappable(folder: str) -> Iterator[Finding]:
    """Yield a note if the file system of a folder cannot map a file for writing; raise OSError if no file can be
    created there."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.truncate(MAPPED)
        try:
            mmap.mmap(file.fileno(), MAPPED).close()
        except OSError as error:
            yield note(
                f"{folder} maps no file for writing ({error.strerror}): traces are written there record by record; "
                "a kill -9 loses the calls of a thread since its last record",
                "put live files on another file system: set capture_dir, or PROVIO_HOME to a folder on a local disk",
            )
