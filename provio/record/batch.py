"""Generates job scripts that record their command. In: a `Job`, the name of a batch system. Out: the script's text.

A job of one task is one `provio run`. In a job of several, each task starts its own on its node, and all share one run
by the job's id: a `provio run` around the launcher would not reach the other nodes. A job merges nothing: the next
query does. The batch system sends the job a signal one minute before its time limit.

With node-local capture (`capture_dir`, or a `.provio` on a network file system), the `provio run` of a job of one task
collects the files; in a job of several, the script makes each node collect once all tasks have ended.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

from provio.base.records import frozen
from provio.system import installation, statx
from provio.trace import run_source
from provio.trace.recording import SAFE_FOR_MAPS

SECONDS_TO_END = 60  # between the signal and the time limit


@frozen
class Job:
    """The command and the resources of a job; an empty string or 1 means no request."""

    command: tuple[str, ...]
    home: str
    name: str = ""
    campaign: str = ""
    nodes: int = 1
    tasks: int = 1
    time: str = ""
    array: str = ""
    partition: str = ""
    account: str = ""
    modules: tuple[str, ...] = ()
    captured: bool = False  # whether nodes keep their files on their own disks until they are collected
    capture: str = ""  # the folder for that, if it is not in the settings


@frozen
class System:
    """A batch system: the prefix and the function of request lines, and the commands that start tasks."""

    prefix: str
    requests: Callable[[Job], list[str]]
    launcher: Callable[[Job], str]
    each_node: Callable[[Job], str]  # starts a command once on each node
    index: str
    submit: str


def _slurm(job: Job) -> list[str]:
    requests = [f"--nodes={job.nodes}", f"--ntasks={job.tasks}", f"--signal=B:TERM@{SECONDS_TO_END}"]
    named = {"time": job.time, "array": job.array, "partition": job.partition, "account": job.account}
    return [f"--job-name={_plain(job)}", *requests, *(f"--{name}={value}" for name, value in named.items() if value)]


def _pbs(job: Job) -> list[str]:
    each = -(-job.tasks // job.nodes)
    requests = [f"-N {_plain(job)}", f"-l select={job.nodes}:ncpus={each}:mpiprocs={each}"]
    named = {"-l walltime=": job.time, "-J ": job.array, "-q ": job.partition, "-A ": job.account}
    return [*requests, *(f"{name}{value}" for name, value in named.items() if value)]


def _lsf(job: Job) -> list[str]:
    name = _plain(job) + (f"[{job.array}]" if job.array else "")
    requests = [f'-J "{name}"', f"-n {job.tasks}", f"-wa TERM -wt {SECONDS_TO_END // 60}"]
    if job.nodes > 1:
        requests.append(f'-R "span[ptile={-(-job.tasks // job.nodes)}]"')
    named = {"-W": job.time, "-q": job.partition, "-P": job.account}
    return [*requests, *(f"{name} {value}" for name, value in named.items() if value)]


SYSTEMS = {
    "slurm": System(
        "#SBATCH",
        _slurm,
        lambda job: f"srun --ntasks={job.tasks}",
        lambda job: f"srun --nodes={job.nodes} --ntasks={job.nodes} --ntasks-per-node=1 --overlap",
        "SLURM_ARRAY_TASK_ID",
        "sbatch",
    ),
    "pbs": System(
        "#PBS",
        _pbs,
        lambda job: f"mpiexec -n {job.tasks}",
        lambda _: 'pbsdsh -u -- env PATH="$PATH" PROVIO_HOME="$PROVIO_HOME"',  # it does not pass the environment on
        "PBS_ARRAY_INDEX",
        "qsub",
    ),
    "lsf": System(
        "#BSUB",
        _lsf,
        lambda job: f"mpirun -n {job.tasks}",
        lambda _: 'blaunch -z "$(printf "%s\\n" $LSB_HOSTS | sort -u | paste -sd " ")"',
        "LSB_JOBINDEX",
        "bsub <",
    ),
}


def _plain(job: Job) -> str:
    """Return a job name that every batch system accepts."""
    name = job.name or job.command[0].rpartition("/")[2]
    return (
        "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "-" for letter in name)[:63]
        or "job"
    )


def capture_place(home: Path, capture_dir: str) -> tuple[bool, str]:
    """Return whether nodes capture on their own disks, and the folder for that if it is not in the settings."""
    mount = statx.mount_of(home)
    if capture_dir or (mount and mount.file_system in SAFE_FOR_MAPS):
        return bool(capture_dir), ""
    return True, str(run_source.shared_memory().parent)


def script(name: str, job: Job) -> str:
    """Return the text of a job's script for a batch system."""
    system = SYSTEMS[name]
    options = ["--no-merge"]
    if job.campaign:
        options += ["--campaign", shlex.quote(job.campaign)]
    called = shlex.quote(job.name or _plain(job))
    options += ["--name", f'{called}-"${{{system.index}}}"' if job.array else called]
    words = [installation.shell_call(), "run", *options, "--", shlex.join(job.command)]
    if job.tasks > 1:
        words.insert(0, system.launcher(job))
    lines = ["#!/bin/bash", *(f"{system.prefix} {request}" for request in system.requests(job)), ""]
    if name == "pbs":
        lines += ['cd "$PBS_O_WORKDIR" || exit 1', ""]
    lines += [f"module load {shlex.quote(module)} || exit 1" for module in job.modules]
    lines += [
        "# All nodes write to this folder. The job merges nothing: `provio merge`, or the next query, does that.",
        f"export PROVIO_HOME={shlex.quote(job.home)}",
        *([f"export PROVIO_CAPTURE_DIR={shlex.quote(job.capture)}"] if job.capture else []),
        "",
    ]
    return "\n".join([*lines, *_ending(system, job, " ".join(words)), ""])


def _ending(system: System, job: Job, command: str) -> list[str]:
    """Return the lines that run the command, and afterwards collect captured files, if needed."""
    if not (job.captured and job.tasks > 1):
        return [
            "# The command replaces this shell, so that it gets the signals of the batch system.",
            f"exec {command}",
        ]
    each = system.each_node(job) + " " if job.nodes > 1 else ""
    return [
        "# Signals of the batch system are passed on to the command.",
        f"{command} <&0 &",
        "command=$!",
        *(f"trap 'kill -{signal} \"$command\"' {signal}" for signal in ("TERM", "INT", "USR1", "USR2")),
        'while kill -0 "$command" 2>/dev/null; do wait "$command"; done',
        'wait "$command"',
        "code=$?",
        "",
        "# Each node collects its files, before its local folders are emptied.",
        f"{each}{installation.shell_call()} merge --collect --quiet",
        'exit "$code"',
    ]
