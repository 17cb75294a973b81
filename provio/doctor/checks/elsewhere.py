"""Whether the command starts its work elsewhere: on another host, in a container, in a job, by a daemon."""

from __future__ import annotations

import os
from collections.abc import Iterator

from provio.doctor import Finding, Place, problem

ABOUT = "elsewhere"
SCRIPT = "put `provio run --` before the command in the job's script"
INSIDE = "install provio inside, and put `provio run --` before the command there"
REMOTE = "put `provio run --` before the command on the other side"
PROGRAMS = {
    **dict.fromkeys(("sbatch", "qsub", "bsub", "flux", "at", "batch", "crontab", "systemd-run"), SCRIPT),
    **dict.fromkeys(("docker", "podman", "apptainer", "singularity", "ch-run", "enroot", "shifter", "chroot"), INSIDE),
    **dict.fromkeys(("ssh", "kubectl", "nsenter", "gcloud"), REMOTE),
}
MANY = frozenset({"srun", "aprun", "jsrun"})


def look(place: Place) -> Iterator[Finding]:
    """Yield what to know of a command that is not where its work is done."""
    name = os.path.basename(os.fsdecode(place.command[0])) if place.command else ""
    if name in PROGRAMS:
        yield problem(f"{name} has its work done elsewhere, where no shim is: it is not seen", PROGRAMS[name])
    if name in MANY:
        yield problem(
            f"{name} starts ranks by a daemon on each host: what they find of provio there is not sure",
            f"{name} … provio run -- COMMAND: one run of all ranks, merged by the next question (docs/how-to/mpi.md)",
        )
