"""Charliecloud: folders, SquashFS where its `ch-run` is built for it, and names in the storage of `ch-image`.

The image is mounted read-only, so a bind needs a folder that is there: what the runtime does not show by itself is
made in the image, as `ch-run --write` would. An image has no command of its own: `run` does what `exec` does.
"""

from __future__ import annotations

import os

from provio.containers import FOLDER, NAME, SQUASHFS, Start
from provio.errors import ProvioError

PROGRAMS = ("ch-run",)
TAKES = (FOLDER, SQUASHFS, NAME)
SCHEMES: tuple[str, ...] = ()
NEEDS_FOLDERS = True  # it binds only to what is there


def command(start: Start) -> list[str]:
    """Return the command line."""
    if not start.command and start.mode == "run":
        raise ProvioError("Charliecloud knows no command of an image: say one after --")
    words = [start.program, "--env-no-expand"] if any("$" in v for v in start.variables.values()) else [start.program]
    for folder in start.binds:
        words.append(f"--bind={folder}:{folder}")
    words += [f"--set-env={name}={_quoted(value)}" for name, value in start.variables.items()]
    if not start.says("-c", "--cd"):
        words.append(f"--cd={start.cwd}")
    return [*words, *start.options, start.image, "--", *(start.command or [start.shell])]


def _quoted(value: str) -> str:
    """A value whose own outer quotes would be taken off has others around it."""
    return f"'{value}'" if value.startswith("'") and value.endswith("'") else value


def seen(start: Start) -> list[str]:
    """Return what the runtime shows by itself."""
    own = ["/dev", "/proc", "/sys"]
    if not start.says("-t", "--private-tmp") and os.environ.get("TMPDIR", "/tmp").rstrip("/") == "/tmp":  # noqa: S108
        own.append("/tmp")  # noqa: S108
    return own


def root(image: str) -> str | None:
    """Return the folder of an image in the storage of `ch-image`."""
    user = os.environ.get("USER", "")
    storage = os.environ.get("CH_IMAGE_STORAGE") or f"/var/tmp/{user}.ch"  # noqa: S108
    found = os.path.join(storage, "img", image.replace("/", "%").replace(":", "+"))
    return found if os.path.isdir(found) else None
