"""What batch systems say of a job: its variables in, the same few facts out, whichever system it is.

Of the run's own job `run.ttl` has these facts; of another one, which joined the run, a file of the run folder has the
variables, as far as they are looked at here.

The names are those of Slurm's sbatch(1), PBS Professional's and Torque's qsub, LSF's bsub, Flux's flux-environment(7),
Grid Engine's qsub and Cobalt's qsub. What a system does not say is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from provio.base.records import plain
from provio.system.statx import Record

HOSTS_FILE_ROOM = 1 << 20  # bytes of a list of hosts that are read
PREFIX = "0.job."  # of the names of files that hold a job's variables: they come before those of threads


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
            ("cpusPerNode", "SLURM_JOB_CPUS_PER_NODE"), ("memoryPerNode", "SLURM_MEM_PER_NODE"),
            ("memoryPerCpu", "SLURM_MEM_PER_CPU"), ("memoryPerGpu", "SLURM_MEM_PER_GPU"), ("gpus", "SLURM_GPUS"),
            ("gpusPerNode", "SLURM_GPUS_PER_NODE"), ("gpusPerTask", "SLURM_GPUS_PER_TASK"),
        ),
    ),
    System(
        "PBS_JOBID",
        ("PBS_ARRAY_INDEX", "PBS_ARRAYID"),
        (),
        "PBS_NODEFILE",
        ("PBS_QUEUE",),
        ("PBS_ACCOUNT",),
        (
            ("nodes", "PBS_NUM_NODES"), ("tasks", "PBS_NP"), ("cpusPerNode", "PBS_NUM_PPN"), ("cpusPerTask", "NCPUS"),
            ("seconds", "PBS_WALLTIME"),
        ),
    ),
    System(
        "LSB_JOBID",
        ("LSB_JOBINDEX",),
        ("LSB_MCPU_HOSTS", "LSB_HOSTS"),
        "LSB_DJOB_HOSTFILE",
        ("LSB_QUEUE",),
        ("LSB_PROJECT_NAME",),
        (
            ("tasks", "LSB_DJOB_NUMPROC"), ("mostTasks", "LSB_MAX_NUM_PROCESSORS"), ("requirement", "LSB_SUB_RES_REQ"),
            ("effectiveRequirement", "LSB_EFFECTIVE_RSRCREQ"),
        ),
        "0",
    ),
    System("FLUX_JOB_ID", ("FLUX_JOB_CC",), (), "", (), (), (("nodes", "FLUX_JOB_NNODES"), ("tasks", "FLUX_JOB_SIZE"))),
    System("COBALT_JOBID", (), ("COBALT_PARTNAME",), "COBALT_NODEFILE", (), (), (("nodes", "COBALT_PARTSIZE"),)),
    System(
        "JOB_ID", ("SGE_TASK_ID",), (), "PE_HOSTFILE", ("QUEUE",), ("SGE_ACCOUNT",), (("tasks", "NSLOTS"),), "undefined"
    ),
)  # fmt: skip


def _read(path: str) -> str:
    """What is in a list of hosts; nothing where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(HOSTS_FILE_ROOM)
    except (OSError, ValueError):
        return ""


def facts(environment: Mapping[str, str], content: Callable[[str], str] = _read) -> dict[str, str]:
    """Return the job that a process is part of, by the names of the ontology; nothing outside of one.

    `content` returns what is in a list of hosts, by what its variable says: a path, usually.
    """
    system = next((one for one in SYSTEMS if environment.get(one.id)), None)
    if system is None:
        return {}
    index = _first(environment, system.array_index)
    asked = [f"{name}={environment[key]}" for name, key in system.resources if environment.get(key)]
    found = {
        "jobId": environment[system.id],
        "jobArrayIndex": "" if index == system.no_index else index,
        "jobNodes": _first(environment, system.nodes) or _hosts(content(environment.get(system.hosts_file, ""))),
        "jobPartition": _first(environment, system.partition),
        "jobAccount": _first(environment, system.account),
        "jobResources": " ".join(asked),
    }
    return {name: value for name, value in found.items() if value}


def key(facts: Mapping[str, str]) -> str:
    """Return by what a job is told from others, each of an array's too; nothing for none."""
    return ".".join(facts[name] for name in ("jobId", "jobArrayIndex") if name in facts)


def takes(jobs: dict[str, dict[str, str]], name: str, records: dict[str, Record]) -> bool:
    """Take the facts of a job from a file that holds its variables; return whether it was one, by its name."""
    if not name.startswith(PREFIX):
        return False
    said = {record["name"]: record.get("value", "") for record in records.values() if "name" in record}
    found = facts(said, content=lambda value: value)  # a file of that name is another here, or none to be opened
    if found:
        jobs.setdefault(key(found), found)
    return True


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((environment[name] for name in names if environment.get(name)), "")


def _hosts(text: str) -> str:
    """The hosts of a list, each once."""
    return ",".join(dict.fromkeys(line.split()[0] for line in text.splitlines() if line.strip()))
