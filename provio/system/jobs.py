"""Reads the facts of a batch job from its environment variables, in the same form for all batch systems.

The facts of the run's own job are in `run.ttl`. For another job that joined the run, a file in the run folder
contains the variables used here.

The names are those of Slurm's sbatch(1), PBS Professional's and Torque's qsub, LSF's bsub, Flux's
flux-environment(7), Grid Engine's qsub and Cobalt's qsub. Facts that a system does not provide are omitted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from provio.base.records import frozen
from provio.system.statx import Record

HOSTS_FILE_ROOM = 1 << 20  # bytes read of a list of hosts
PREFIX = "0.job."  # prefix of the files that contain a job's variables; they sort before thread files


@frozen
class System:
    """A batch system: the variables that give a job's facts (the first that is set counts), and the requested
    resources by name."""

    id: str
    array_index: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    hosts_file: str = ""  # a file with one host per line, one line per slot
    partition: tuple[str, ...] = ()
    account: tuple[str, ...] = ()
    resources: tuple[tuple[str, str], ...] = ()
    no_index: str = ""  # the value of the index outside an array


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
    """Return the content of a list of hosts; empty if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(HOSTS_FILE_ROOM)
    except (OSError, ValueError):
        return ""


def facts(environment: Mapping[str, str], content: Callable[[str], str] = _read) -> dict[str, str]:
    """Return the facts of the job that a process belongs to, by their names in the ontology; empty outside a job.

    `content` returns the content of a list of hosts, given the value of its variable (usually a path).
    """
    system = next((one for one in SYSTEMS if environment.get(one.id)), None)
    if system is None:
        return {}
    index = _first(environment, system.array_index)
    resources = [f"{name}={environment[key]}" for name, key in system.resources if environment.get(key)]
    found = {
        "jobId": environment[system.id],
        "jobArrayIndex": "" if index == system.no_index else index,
        "jobNodes": _first(environment, system.nodes) or _hosts(content(environment.get(system.hosts_file, ""))),
        "jobPartition": _first(environment, system.partition),
        "jobAccount": _first(environment, system.account),
        "jobResources": " ".join(resources),
    }
    return {name: value for name, value in found.items() if value}


def key(facts: Mapping[str, str]) -> str:
    """Return the key that identifies a job, or an element of a job array; empty for no job."""
    return ".".join(facts[name] for name in ("jobId", "jobArrayIndex") if name in facts)


def takes(jobs: dict[str, dict[str, str]], name: str, records: dict[str, Record]) -> bool:
    """Add to `jobs` the facts from a file that contains a job's variables; return whether it is such a file, by its
    name."""
    if not name.startswith(PREFIX):
        return False
    recorded = {record["name"]: record.get("value", "") for record in records.values() if "name" in record}
    found = facts(recorded, content=lambda value: value)  # a path of another host: its file here may differ
    if found:
        jobs.setdefault(key(found), found)
    return True


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((environment[name] for name in names if environment.get(name)), "")


def _hosts(text: str) -> str:
    """Return the hosts of a list, separated by commas, each once."""
    return ",".join(dict.fromkeys(line.split()[0] for line in text.splitlines() if line.strip()))
