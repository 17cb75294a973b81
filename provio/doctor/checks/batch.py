"""The batch system: which is here, and whether this is inside one of its jobs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from provio.doctor import Finding, Place, note, ok
from provio.trace import environment

ABOUT = "batch system"
SYSTEMS = {"SLURM": "sbatch", "PBS": "qsub", "LSF": "bsub", "Flux": "flux"}


def look(place: Place) -> Iterator[Finding]:  # noqa: ARG001
    """Yield what happens with runs in jobs here."""
    job = environment.job_id()
    if job:
        name = next(name for name in environment.JOB_IDS if os.environ.get(name))
        yield note(
            f"this is batch job {job} ({name}): runs are left pending, so that nothing is merged on its time",
            "provio merge after it, or ask: the next question merges",
        )
        return
    found = [name for name, program in SYSTEMS.items() if shutil.which(program)]
    if found:
        yield note(
            f"{', '.join(found)}: what a job does is not seen from where it is submitted",
            "put `provio run --` before the command in the job's script (docs/how-to/batch-jobs.md)",
        )
    else:
        yield ok("none, and no job")
