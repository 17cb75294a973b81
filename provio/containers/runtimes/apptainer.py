"""Apptainer: SIF, sandbox folders and `docker://`, `oras://`, `library://`.

It binds at any path. Each variable needs its own `--env`, because a comma separates several.
"""

from __future__ import annotations

from provio.containers.runtimes import ADDRESS, FOLDER, SIF, SQUASHFS, Start

PROGRAMS: tuple[str, ...] = ("apptainer",)
TAKES = (SIF, FOLDER, SQUASHFS, ADDRESS)
SCHEMES = ("docker", "oras", "library", "docker-daemon", "docker-archive", "oci", "shub", "instance")
PREFIX = "APPTAINERENV_"


def command(start: Start) -> list[str]:
    """Return the command line. A value with a comma, at which `--env` would split it, is passed by `APPTAINERENV_`
    alone."""
    words = [start.program, start.mode]
    for folder in start.binds:
        words += ["--bind", f"{folder}:{folder}"]
    for name, value in start.variables.items():
        words += [] if "," in value or '"' in value else ["--env", f"{name}={value}"]
    if not start.has_option("--pwd", "--cwd"):
        words += ["--pwd", start.cwd]
    return [*words, *start.options, start.image, *start.command]


def extra_environment(start: Start) -> dict[str, str]:
    """Return the variables for the runtime itself, which it passes on without their prefix."""
    return {PREFIX + name: value for name, value in start.variables.items() if "," in value or '"' in value}
