"""Apptainer: SIF, sandbox folders and `docker://`, `oras://`, `library://`.

Binds are made at any path; variables are given by `--env`, one each, for a comma separates several.
"""

from __future__ import annotations

from provio.containers.runtimes import ADDRESS, FOLDER, SIF, SQUASHFS, Start

PROGRAMS: tuple[str, ...] = ("apptainer",)
TAKES = (SIF, FOLDER, SQUASHFS, ADDRESS)
SCHEMES = ("docker", "oras", "library", "docker-daemon", "docker-archive", "oci", "shub", "instance")
PREFIX = "APPTAINERENV_"


def command(start: Start) -> list[str]:
    """Return the command line. What has a comma, which `--env` would split at, goes by `APPTAINERENV_` alone."""
    words = [start.program, start.mode]
    for folder in start.binds:
        words += ["--bind", f"{folder}:{folder}"]
    for name, value in start.variables.items():
        words += [] if "," in value or '"' in value else ["--env", f"{name}={value}"]
    if not start.says("--pwd", "--cwd"):
        words += ["--pwd", start.cwd]
    return [*words, *start.options, start.image, *start.command]


def surroundings(start: Start) -> dict[str, str]:
    """Return the variables of the runtime itself, which it hands on without their prefix."""
    return {PREFIX + name: value for name, value in start.variables.items() if "," in value or '"' in value}
