"""Charliecloud: folders, SquashFS if its `ch-run` is built with it, and names in the storage of `ch-image`.

The image is mounted read-only, so a bind needs an existing folder. Folders that the runtime does not show by itself
are made in the image, as `ch-run --write` would; in SquashFS they cannot be made. An image has no command of its own:
`run` does the same as `exec`.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator, Sequence

from provio.base.errors import ProvioError
from provio.base.records import replace
from provio.containers.runtimes import FOLDER, NAME, SQUASHFS, Start
from provio.trace import environment

PROGRAMS = ("ch-run",)
TAKES = (FOLDER, SQUASHFS, NAME)
SCHEMES: tuple[str, ...] = ()
TMP = "/tmp"  # noqa: S108 (where ch-run shows TMPDIR)
PRIVATE = ("-t", "--private-tmp")
NEEDS_FOLDERS = True  # it binds only to existing folders


def command(start: Start) -> list[str]:
    """Return the command line."""
    if not start.command and start.mode == "run":
        raise ProvioError("Charliecloud does not know the default command of an image: give one after --")
    words = [start.program, "--env-no-expand"] if any("$" in v for v in start.variables.values()) else [start.program]
    for folder in start.binds:
        _there(start, folder)
        words.append(f"--bind={folder}:{folder}")
    words += [f"--set-env={name}={_quoted(value)}" for name, value in start.variables.items()]
    if not start.has_option("-c", "--cd"):
        words.append(f"--cd={start.cwd}")
    return [*words, *start.options, start.image, "--", *(start.command or [start.shell])]


def _there(start: Start, folder: str) -> None:
    """Raise ProvioError if the folder shown at /tmp does not contain the folder to bind to."""
    shown = os.environ.get("TMPDIR", TMP).rstrip("/") + folder.removeprefix(TMP)
    if folder.startswith(TMP + "/") and not start.has_option(*PRIVATE) and not os.path.isdir(shown):
        raise ProvioError(f"ch-run shows TMPDIR at /tmp, and {folder} is not in it: mkdir -p {shown}, or unset TMPDIR")


def _quoted(value: str) -> str:
    """Return a value with additional quotes if ch-run would remove its own outer quotes."""
    return f"'{value}'" if value.startswith("'") and value.endswith("'") else value


def visible_folders(start: Start) -> list[str]:
    """Return the folders that the runtime shows by itself."""
    own = ["/dev", "/proc", "/sys"]
    if not start.has_option(*PRIVATE) and os.environ.get("TMPDIR", TMP).rstrip("/") == TMP:
        own.append(TMP)
    if start.has_option("--home") and os.environ.get("HOME", "") == f"/home/{_user()}":
        own.append(os.environ["HOME"])
    return own + [source for source, _, place in _users_binds(start.options) if source == place or not place]


def _users_binds(options: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the binds in the user's own options: source, colon, place."""
    for word, following in zip(options, [*options[1:], ""], strict=False):
        bind = following if word in ("-b", "--bind") else word.removeprefix("--bind=").removeprefix("-b")
        if bind != word and bind.startswith("/"):
            yield bind.partition(":")


def missing_mount_point(start: Start) -> str:
    """Return the first bind folder that is absent from a SquashFS, from the error of ch-run when it starts a program
    that does not exist."""
    if start.form != SQUASHFS or not start.binds:
        return ""
    env = {**os.environ, **extra_environment(start), "LC_ALL": "C"}
    call = command(replace(start, mode="exec", command=("/proc/none",)))
    with contextlib.suppress(OSError, subprocess.SubprocessError):  # the start itself reports other errors
        tried = subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, env=env, timeout=60, check=False)
        missing = re.search(rb"can't mkdir: (.*): ", tried.stderr)
        place = os.fsdecode(missing[1]) if missing else ""
        return next((folder for folder in start.binds if place and _below(folder, place)), "")
    return ""


def _below(folder: str, place: str) -> bool:
    """Return whether a place that could not be made in an image is that of a folder, or of one above it."""
    parts = folder.split("/")
    return any(place.endswith("/".join(parts[:count])) for count in range(2, len(parts) + 1))


def root(image: str) -> str | None:
    """Return the folder of an image in the storage of `ch-image`; None if it is absent."""
    storage = os.environ.get("CH_IMAGE_STORAGE") or f"/var/tmp/{_user()}.ch"  # noqa: S108
    found = os.path.join(storage, "img", image.replace("/", "%").replace(":", "+"))
    return found if os.path.isdir(found) else None


def extra_environment(_: Start) -> dict[str, str]:
    """Return the variables that the runtime requires."""
    return {"USER": _user()}


def _user() -> str:
    return os.environ.get("USER") or environment.user_name()
