"""MPI: which launchers are here, and how a parallel program is recorded."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from provio.doctor import Finding, Place, note, ok

ABOUT = "MPI"
LOCAL = ("mpirun", "mpiexec", "prterun")
BY_DAEMON = ("srun", "aprun", "jsrun", "flux")


def look(place: Place) -> Iterator[Finding]:  # noqa: ARG001
    """Yield how the launchers that are here are used."""
    daemons = [name for name in BY_DAEMON if shutil.which(name)]
    local = [name for name in LOCAL if shutil.which(name)]
    if daemons:
        yield note(
            f"{', '.join(daemons)} starts ranks by a daemon on each host",
            f"{daemons[0]} … provio run -- COMMAND: one run of all ranks (docs/how-to/mpi.md)",
        )
    if local:
        yield ok(f"{', '.join(local)}: on one host, provio run -- {local[0]} … records all ranks as one run")
    if not (daemons or local):
        yield ok("no launcher of parallel programs")
