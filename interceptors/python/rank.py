"""Which rank of a parallel program this process is: its environment in, what its first file says of it out."""

from __future__ import annotations

import re
from typing import NamedTuple

from . import text

# As provio/system/ranks.py has them: who numbers ranks, its variable of the number, that of how many there are; what
# names the job, and the step of it or the program.
RANKS = (
    ("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMIx", "PMIX_RANK", ""),
    ("PMI", "PMI_RANK", "PMI_SIZE"), ("PALS", "PALS_RANKID", ""), ("Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
    ("Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
)  # fmt: skip
BATCH = ("SLURM_JOB_ID", "FLUX_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PALS_APID")
STEPS = ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PALS_APID", "SLURM_STEP_ID", "FLUX_JOB_ID")
LONGEST_PROGRAM, UNPLAIN = 95, re.compile(r"[^0-9A-Za-z._@:-]")
ROOM = 256  # for what is said


class Rank(NamedTuple):
    """Which rank a process is, of how many (0: nobody says), who says so, of which parallel program, where that has a
    name."""

    number: int
    size: int
    launcher: str
    program: str


def rank(environment: dict[str, str]) -> Rank | None:
    """Return which rank of a parallel program this process is."""
    found: list[tuple[int, str, str]] = []
    for launcher, word, most in RANKS:
        alone = launcher == "Slurm" and (found or environment.get(most, "1") == "1")
        number = _number(environment.get(word, ""))
        if number is not None and not alone:
            found.append((number, most, launcher))
    if len({number for number, _, _ in found}) != 1:
        return None
    number, most, launcher = found[0]
    return Rank(number, _number(environment.get(most, "")) or 0, launcher, _program(environment))


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None


def _program(environment: dict[str, str]) -> str:
    job, step = ([environment[name] for name in names if environment.get(name)][:1] for names in (BATCH, STEPS))
    return UNPLAIN.sub("_", ".".join(job + step))[:LONGEST_PROGRAM] if step else ""


def said(rank: Rank | None) -> bytes:
    """Return what the head of a process says of it."""
    if rank is None:
        return b""
    known = text.number("rank", rank.number) + (text.number("worldSize", rank.size) if rank.size else b"")
    known += text.name("launcher", rank.launcher.encode())
    return known + (text.name("parallelProgram", rank.program.encode()) if rank.program else b"")
