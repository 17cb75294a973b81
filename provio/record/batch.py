"""Job scripts that record what a job does: a command and what it asks for in, the text of a script out.

A job of one task is one `provio run`. Of a job of several each task starts its own, where it runs, and all of them are
one run by the job's id: what watches a launcher on the first node sees nothing of the others. A job merges nothing; its
record is merged by the next question, and a job that is about to be ended at its time limit is told a minute before.

Where nodes keep what they record until it is collected (`capture_dir`, or a record on a network file system), a job of
one task collects by its `provio run`; of several, the script has each node collect when all tasks have ended.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

from provio.base.records import frozen
from provio.trace import environment, run_source
from provio.trace.recording import SAFE_FOR_MAPS

SECONDS_TO_END = 60  # between the first word of a time limit and the last


@frozen
class Job:
    """What a job runs and asks for; an empty string or 1 is what is not asked for."""

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
    captured: bool = False  # what nodes record lies on their own disks until it is collected
    capture: str = ""  # where, if the settings do not say it


@frozen
class System:
    """A batch system: how a line begins that asks it for something, what is asked for, and how tasks are started."""

    begins: str
    requests: Callable[[Job], list[str]]
    launcher: Callable[[Job], str]
    each_node: Callable[[Job], str]  # how a command is started once on each
    index: str
    submit: str


def _slurm(job: Job) -> list[str]:
    asked = [f"--nodes={job.nodes}", f"--ntasks={job.tasks}", f"--signal=B:TERM@{SECONDS_TO_END}"]
    named = {"time": job.time, "array": job.array, "partition": job.partition, "account": job.account}
    return [f"--job-name={_plain(job)}", *asked, *(f"--{name}={value}" for name, value in named.items() if value)]


def _pbs(job: Job) -> list[str]:
    each = -(-job.tasks // job.nodes)
    asked = [f"-N {_plain(job)}", f"-l select={job.nodes}:ncpus={each}:mpiprocs={each}"]
    named = {"-l walltime=": job.time, "-J ": job.array, "-q ": job.partition, "-A ": job.account}
    return [*asked, *(f"{name}{value}" for name, value in named.items() if value)]


def _lsf(job: Job) -> list[str]:
    name = _plain(job) + (f"[{job.array}]" if job.array else "")
    asked = [f'-J "{name}"', f"-n {job.tasks}", f"-wa TERM -wt {SECONDS_TO_END // 60}"]
    if job.nodes > 1:
        asked.append(f'-R "span[ptile={-(-job.tasks // job.nodes)}]"')
    named = {"-W": job.time, "-q": job.partition, "-P": job.account}
    return [*asked, *(f"{name} {value}" for name, value in named.items() if value)]


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
        lambda _: 'pbsdsh -u -- env PATH="$PATH" PROVIO_HOME="$PROVIO_HOME"',  # it hands on no environment
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
    """A name that every batch system takes."""
    name = job.name or job.command[0].rpartition("/")[2]
    return (
        "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "-" for letter in name)[:63]
        or "job"
    )


def capture_place(home: Path, capture_dir: str) -> tuple[bool, str]:
    """Tell whether nodes keep what they record until it is collected, and where if the settings do not say it."""
    mount = environment.mount_of(home)
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
    words = ["provio", "run", *options, "--", shlex.join(job.command)]
    if job.tasks > 1:
        words.insert(0, system.launcher(job))
    lines = ["#!/bin/bash", *(f"{system.begins} {asked}" for asked in system.requests(job)), ""]
    if name == "pbs":
        lines += ['cd "$PBS_O_WORKDIR" || exit 1', ""]
    lines += [f"module load {shlex.quote(module)} || exit 1" for module in job.modules]
    lines += [
        "# The record lies where all nodes see it; nothing of it is merged in the job: `provio merge`, or the next",
        "# question, does that.",
        f"export PROVIO_HOME={shlex.quote(job.home)}",
        *([f"export PROVIO_CAPTURE_DIR={shlex.quote(job.capture)}"] if job.capture else []),
        "",
    ]
    return "\n".join([*lines, *_ending(system, job, " ".join(words)), ""])


def _ending(system: System, job: Job, command: str) -> list[str]:
    """The lines that run the command, and those that collect afterwards where there is something to collect."""
    if not (job.captured and job.tasks > 1):
        return [
            "# In the place of this shell: what the batch system tells the job, the command is told.",
            f"exec {command}",
        ]
    each = system.each_node(job) + " " if job.nodes > 1 else ""
    return [
        "# What the batch system tells the job, the command is told.",
        f"{command} <&0 &",
        "command=$!",
        *(f"trap 'kill -{signal} \"$command\"' {signal}" for signal in ("TERM", "INT", "USR1", "USR2")),
        'while kill -0 "$command" 2>/dev/null; do wait "$command"; done',
        'wait "$command"',
        "code=$?",
        "",
        "# Each node brings in what it recorded, before its folders are emptied.",
        f"{each}provio merge --collect --quiet",
        'exit "$code"',
    ]
