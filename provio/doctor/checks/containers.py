"""Checks whether this process is in a container, and which container runtimes are installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from provio.doctor import Finding, Place, check, note, ok
from provio.trace.environment import CONTAINER_SIGNS

RUNTIMES = ("apptainer", "singularity", "ch-run", "podman", "docker", "enroot", "shifter", "sarus")


@check("containers")
def check_containers(_place: Place) -> Iterator[Finding]:
    """Yield how containers affect the record."""
    inside = [sign for sign in CONTAINER_SIGNS if os.path.exists(sign)]
    if inside:
        yield note(
            f"this is inside a container ({inside[0]}): a .provio outside mounted folders is removed with it",
            "set PROVIO_HOME to a folder that is mounted from outside",
        )
    found = [name for name in RUNTIMES if shutil.which(name)]
    if found:
        yield note(
            f"{', '.join(found)}: programs in a container that one of these starts directly are not recorded",
            "start it with `provio container run`, `exec` or `shell`",
        )
    elif not inside:
        yield ok("no container, and no container runtime")
