"""The shim: whether it is there, newer than what it is made from, and may be loaded from where it lies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from provio.doctor import Finding, Place, ok, problem
from provio.trace.recording import SHIM

ABOUT = "shim"
AGAIN = "install provio again with a C compiler (pip install --force-reinstall provio; in a checkout: make shim)"
SOURCES = (".c", ".h", ".def")
SLACK = 10 * 10**9  # ns: archives keep times to two seconds


def look(place: Place) -> Iterator[Finding]:  # noqa: ARG001
    """Yield what is to be said of the shim's file."""
    if not SHIM.exists():
        yield problem(f"{SHIM} is missing: nothing can be recorded", AGAIN)
        return
    if os.statvfs(SHIM).f_flag & os.ST_NOEXEC:
        yield problem(
            f"{SHIM} lies on a file system that is mounted noexec: no program can load it",
            "install provio in an environment elsewhere",
        )
        return
    newer = _newer()
    if newer:
        yield problem(f"{SHIM.name} is older than {newer}, which it is made from", AGAIN)
    else:
        yield ok(f"{SHIM.name} is there, and as new as its sources")


def _newer() -> str:
    """The name of a source that was changed after the shim was built; none where all is older, or no source is here."""
    built = SHIM.stat().st_mtime_ns + SLACK
    sources = [path for path in (SHIM.parent / "interceptors").glob("*/*") if path.suffix in SOURCES]
    return next((str(Path(*path.parts[-3:])) for path in sources if path.stat().st_mtime_ns > built), "")
