"""Containers: which runtimes are here, and whether this is one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from provio.doctor import Finding, Place, note, ok
from provio.trace.environment import CONTAINER_SIGNS

ABOUT = "containers"
RUNTIMES = ("apptainer", "singularity", "ch-run", "podman", "docker", "enroot", "shifter", "sarus")


def look(place: Place) -> Iterator[Finding]:  # noqa: ARG001
    """Yield what to know of containers here."""
    inside = [sign for sign in CONTAINER_SIGNS if os.path.exists(sign)]
    if inside:
        yield note(
            f"this is inside a container ({inside[0]}): a .provio that is not on a mounted folder goes with it",
            "set PROVIO_HOME to a folder that is mounted from outside",
        )
    found = [name for name in RUNTIMES if shutil.which(name)]
    if found:
        yield note(
            f"{', '.join(found)}: what runs inside a container is not seen where it is started as usual",
            "start it with `provio container run`, `exec` or `shell`",
        )
    elif not inside:
        yield ok("no container, and no runtime for them")
