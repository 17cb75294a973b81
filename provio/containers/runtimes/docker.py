"""Docker: names of images, `docker://` before them or not.

Its containers run as root of the machine unless told otherwise: what they write is to be the user's own.
"""

from __future__ import annotations

import os

from provio.containers.runtimes import ADDRESS, NAME, Start, podman

PROGRAMS = ("docker",)
TAKES = (NAME, ADDRESS)
SCHEMES = ("docker",)
facts = podman.facts


def command(start: Start) -> list[str]:
    """Return the command line."""
    own = [] if start.says("-u", "--user") else ["--user", f"{os.geteuid()}:{os.getegid()}"]
    return [*podman.begun(start), *own, *podman.last(start, [start.image.removeprefix("docker://")])]
