"""What the environment already has of provio, and of other libraries that are loaded first."""

from __future__ import annotations

import os
from collections.abc import Iterator

from provio.doctor import Finding, Place, note, ok
from provio.trace.recording import SHIM

ABOUT = "preloads"


def look(place: Place) -> Iterator[Finding]:  # noqa: ARG001
    """Yield what other preloads there are."""
    fields = os.environ.get("PROVIO_TRACE", "").split(";")
    if len(fields) > 3:
        yield note(f"this shell is watched already, as run {fields[3]}", "a run in it is a run of its own besides")
    others = [name for name in os.environ.get("LD_PRELOAD", "").replace(" ", ":").split(":") if name]
    others = [name for name in others if os.path.basename(name) != SHIM.name]
    if others:
        yield note(f"LD_PRELOAD names {', '.join(others)}: loaded after the shim, as before")
    elif os.environ.get("LD_AUDIT"):
        yield note(f"LD_AUDIT names {os.environ['LD_AUDIT']}, which may turn calls away from the shim")
    else:
        yield ok("no other library is preloaded")
