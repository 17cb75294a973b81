"""What may hold this process: a filter of system calls, rights that cannot be gained, a tracer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from provio.doctor import Finding, Place, note, ok

ABOUT = "sandbox"


def look(place: Place) -> Iterator[Finding]:  # noqa: ARG001
    """Yield what the kernel says of this process."""
    status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
    found = dict(re.findall(r"(?m)^(\w+):\t(.*)$", status))
    said = False
    if found.get("Seccomp", "0") != "0":
        said = True
        yield note("a filter of system calls is in force here: what the trial says of the shim is what counts")
    if found.get("NoNewPrivs", "0") != "0":
        said = True
        yield note("no program gains rights here (no_new_privs): set-user-id programs fail or run as you")
    if found.get("TracerPid", "0") != "0":
        said = True
        yield note(f"process {found['TracerPid']} traces this one (strace, a debugger): times are what it makes them")
    if not said:
        yield ok("no filter of system calls, no tracer")
