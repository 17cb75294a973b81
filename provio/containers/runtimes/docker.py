"""Docker: names of images, with or without `docker://`.

Its containers run as root of the host by default; `--user` makes the files that they write the user's own.
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
    own = [] if start.has_option("-u", "--user") else ["--user", f"{os.geteuid()}:{os.getegid()}"]
    return [*podman.first_words(start), *own, *podman.last_words(start, [start.image.removeprefix("docker://")])]
