"""Checks for parallel programs: batch systems, launchers of MPI programs, and the folder in which a node captures."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from provio.base.errors import ProvioError
from provio.base.text import size
from provio.doctor import Finding, Place, check, note, ok, problem
from provio.doctor.checks import machine
from provio.settings import home as homes
from provio.settings import load
from provio.system import node_local, statx
from provio.trace import environment

BATCH_SYSTEMS = {"SLURM": "sbatch", "PBS": "qsub", "LSF": "bsub", "Flux": "flux"}
LOCAL_LAUNCHERS = ("mpirun", "mpiexec", "prterun")
DAEMON_LAUNCHERS = ("srun", "aprun", "jsrun", "flux")
CAPTURE_REMEDY = "name a folder on the node's own disk, such as $TMPDIR"


@check("batch system")
def check_batch(_place: Place) -> Iterator[Finding]:
    """Yield the batch systems of this machine, and the job that this process belongs to."""
    job = environment.job_id()
    if job:
        name = next(name for name in environment.JOB_IDS if os.environ.get(name))
        yield note(
            f"this is batch job {job} ({name}): its runs stay pending, so that the job spends no time on the merge",
            "provio merge after the job, or any query: the next one merges",
        )
        return
    found = [name for name, program in BATCH_SYSTEMS.items() if shutil.which(program)]
    if found:
        yield note(
            f"{', '.join(found)}: a job is not recorded by a `provio run` before the submitting command",
            "put `provio run --` before the command in the job's script (docs/how-to/batch-jobs.md)",
        )
    else:
        yield ok("no batch system, no job")


@check("capture_dir")
def check_capture(_place: Place) -> Iterator[Finding]:
    """Yield whether the folder of the setting `capture_dir` exists, is writable and is on a disk of this host."""
    try:
        setting = load.load(homes.project_folders(), {}, lambda _: None).capture_dir
    except ProvioError:  # check_settings reports it
        return
    if not setting:
        return
    try:
        folder = node_local.folder_of(setting)
        room = os.statvfs(folder)
    except (OSError, ValueError) as error:
        yield problem(f"{setting}: {getattr(error, 'strerror', None) or error}", CAPTURE_REMEDY)
        return
    mount = statx.mount_of(Path(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        yield problem(f"{folder} is not writable", CAPTURE_REMEDY)
    elif room.f_bavail * room.f_frsize < machine.TOO_FEW_BYTES:
        yield problem(f"{folder}: {size(room.f_bavail * room.f_frsize)} free", f"free some space, or {CAPTURE_REMEDY}")
    elif mount and mount.file_system in statx.SHARED:
        yield note(
            f"{folder} is on a network file system ({mount.file_system}): capturing there gains nothing", CAPTURE_REMEDY
        )
        yield from machine.unmappable(folder)
    else:
        yield from machine.unmappable(folder)
        yield ok(f"{folder}: {room.f_bavail * room.f_frsize >> 20} MiB free, on a disk of this host")


@check("MPI")
def check_mpi(_place: Place) -> Iterator[Finding]:
    """Yield the launchers of MPI programs, and how to record a program that each starts."""
    daemons = [name for name in DAEMON_LAUNCHERS if shutil.which(name)]
    local = [name for name in LOCAL_LAUNCHERS if shutil.which(name)]
    if daemons:
        yield note(
            f"{', '.join(daemons)} starts ranks through a daemon on each host",
            f"{daemons[0]} … provio run -- COMMAND: one run of all ranks (docs/how-to/mpi.md)",
        )
    if local:
        yield ok(f"{', '.join(local)}: on one host, provio run -- {local[0]} … records all ranks as one run")
    if not (daemons or local):
        yield ok("no launcher of parallel programs")
