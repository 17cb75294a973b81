"""Writes the facts of this machine and of the batch job into a run, while its command runs or at its end.

Out: `machine.json` of this host (`provio.system.machine`); in a job of Slurm `job.txt`, the answer of `scontrol`, which
nothing waits for.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from provio.settings.home import Home
from provio.system import machine
from provio.trace.recording import Recording, host_folder
from provio.trace.run_source import JOB, MACHINE

NEW = MACHINE + ".new"


def capture(home: Home, place: Path) -> None:
    """Write the facts into the folder of this host in a run, unless they are there. A failure costs only the facts."""
    if (place / MACHINE).exists():
        return
    with contextlib.suppress(OSError), home.closed():
        place.mkdir(0o700, exist_ok=True)
        descriptor = os.open(place / NEW, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(json.dumps(machine.facts()))
        os.replace(place / NEW, place / MACHINE)
        _ask_slurm(place)


def capture_of(recording: Recording) -> None:
    """Write the facts into a run, unless its settings leave the environment out."""
    if not recording.detail.leaves_out("environment"):
        capture(recording.home, host_folder(recording))


def _ask_slurm(place: Path) -> None:
    """Start the program that prints the facts of this job of Slurm."""
    job = os.environ.get("SLURM_JOB_ID", "")
    if not job.isdigit():
        return
    import subprocess  # slow to import, and rarely needed

    from provio.system import child

    nowhere = subprocess.DEVNULL
    with contextlib.suppress(OSError), open(place / JOB, "xb") as output:
        subprocess.Popen(
            ["scontrol", "show", "job", "--oneliner", job], stdin=nowhere, stdout=output, stderr=nowhere,
            env=child.unwatched(), start_new_session=True,
        )  # fmt: skip
