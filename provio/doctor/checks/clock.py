"""The clocks: whether reading the time is cheap, and whether the disk's, and the newest run's, agree with ours."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator

from provio.doctor import Finding, Place, note, ok
from provio.merge import archive_runs
from provio.record.run import clock_source

ABOUT = "clock"
APART = 1.0  # seconds
REMEDY = "have the clocks set by one server (chrony, ntpd): order in time is what lineage is drawn by"


def look(place: Place) -> Iterator[Finding]:
    """Yield how the clocks stand to one another."""
    if os.access(place.folder, os.W_OK):
        with tempfile.NamedTemporaryFile(dir=place.folder, prefix=".provio-doctor-") as file:
            apart = os.stat(file.name).st_mtime - time.time()
        if abs(apart) > APART:
            word = "ahead of" if apart > 0 else "behind"
            yield note(f"the clock of {place.folder}'s server is {abs(apart):.0f} s {word} this host's", REMEDY)
    runs = place.home.run_folders()
    ahead = archive_runs.began(runs[-1].name) - time.time() if runs else 0.0
    if ahead > APART:
        yield note(f"the newest run began {ahead:.0f} s from now: this clock was set back, or is behind", REMEDY)
    source = clock_source()
    if source and source != "tsc":
        yield note(f"the kernel's clock is {source}: each recorded call asks the kernel for the time, which is slow")
    else:
        yield ok("times are read from the processor")
