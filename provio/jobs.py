"""What batch systems say of a job: its variables in, the same few facts out, whichever system it is.

The names are those of Slurm's sbatch(1), PBS Professional's and Torque's qsub, LSF's bsub, Flux's flux-environment(7),
Grid Engine's qsub and Cobalt's qsub. What a system does not say is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from provio.plain import plain

HOSTS_FILE_ROOM = 1 << 20  # bytes of a list of hosts that are read


@plain(frozen=True)
class System:
    """A batch system: the variables that say a job's facts (the first that is set), and by name what was asked for."""

    id: str
    array_index: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    hosts_file: str = ""  # a file with a host a line, one for each slot
    partition: tuple[str, ...] = ()
    account: tuple[str, ...] = ()
    resources: tuple[tuple[str, str], ...] = ()
    no_index: str = ""  # what an index is where there is no array


SYSTEMS = (
    System(
        "SLURM_JOB_ID",
        ("SLURM_ARRAY_TASK_ID",),
        ("SLURM_JOB_NODELIST", "SLURM_NODELIST"),
        "",
        ("SLURM_JOB_PARTITION",),
        ("SLURM_JOB_ACCOUNT",),
        (
            ("nodes", "SLURM_JOB_NUM_NODES"), ("tasks", "SLURM_NTASKS"), ("cpusPerTask", "SLURM_CPUS_PER_TASK"),
            ("memoryPerNode", "SLURM_MEM_PER_NODE"), ("memoryPerCpu", "SLURM_MEM_PER_CPU"), ("gpus", "SLURM_GPUS"),
        ),
    ),
    System(
        "PBS_JOBID",
        ("PBS_ARRAY_INDEX", "PBS_ARRAYID"),
        (),
        "PBS_NODEFILE",
        ("PBS_QUEUE",),
        ("PBS_ACCOUNT",),
        (("nodes", "PBS_NUM_NODES"), ("tasks", "PBS_NP"), ("cpusPerNode", "PBS_NUM_PPN"), ("cpusPerTask", "NCPUS")),
    ),
    System(
        "LSB_JOBID",
        ("LSB_JOBINDEX",),
        ("LSB_MCPU_HOSTS", "LSB_HOSTS"),
        "",
        ("LSB_QUEUE",),
        ("LSB_PROJECT_NAME",),
        (("tasks", "LSB_DJOB_NUMPROC"), ("requirement", "LSB_SUB_RES_REQ")),
        "0",
    ),
    System("FLUX_JOB_ID", (), (), "", (), (), (("nodes", "FLUX_JOB_NNODES"), ("tasks", "FLUX_JOB_SIZE"))),
    System("COBALT_JOBID", (), ("COBALT_PARTNAME",), "COBALT_NODEFILE", (), (), (("nodes", "COBALT_PARTSIZE"),)),
    System(
        "JOB_ID", ("SGE_TASK_ID",), (), "PE_HOSTFILE", ("QUEUE",), ("SGE_ACCOUNT",), (("tasks", "NSLOTS"),), "undefined"
    ),
)  # fmt: skip


def facts(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the job that a process is part of, by the names of the ontology; nothing outside of one."""
    system = next((one for one in SYSTEMS if environment.get(one.id)), None)
    if system is None:
        return {}
    index = _first(environment, system.array_index)
    asked = [f"{name}={environment[key]}" for name, key in system.resources if environment.get(key)]
    found = {
        "jobId": environment[system.id],
        "jobArrayIndex": "" if index == system.no_index else index,
        "jobNodes": _first(environment, system.nodes) or _hosts(environment.get(system.hosts_file, "")),
        "jobPartition": _first(environment, system.partition),
        "jobAccount": _first(environment, system.account),
        "jobResources": " ".join(asked),
    }
    return {name: value for name, value in found.items() if value}


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((environment[name] for name in names if environment.get(name)), "")


def _hosts(path: str) -> str:
    """The hosts of a list, each once; nothing where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(HOSTS_FILE_ROOM).splitlines()
    except (OSError, ValueError):
        return ""
    return ",".join(dict.fromkeys(re.split(r"\s", line.strip())[0] for line in lines if line.strip()))
