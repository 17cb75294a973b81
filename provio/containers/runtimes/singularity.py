"""SingularityCE, and Singularity before it became Apptainer: the same options, and variables under its own prefix."""

from __future__ import annotations

from provio.containers.runtimes import Start, apptainer

PROGRAMS = ("singularity",)
TAKES, SCHEMES = apptainer.TAKES, apptainer.SCHEMES
PREFIX = "SINGULARITYENV_"
command = apptainer.command


def extra_environment(start: Start) -> dict[str, str]:
    """Return the variables for the runtime itself, which it passes on without their prefix."""
    return {
        PREFIX + name.removeprefix(apptainer.PREFIX): value
        for name, value in apptainer.extra_environment(start).items()
    }
