"""Find the rank of this process in its parallel program: the environment in, the facts of the first file out."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..shared_tables import BATCH, LAUNCHERS, STEPS
from . import literals

LONGEST_PROGRAM, UNPLAIN = 95, re.compile(r"[^0-9A-Za-z._@:-]")
ROOM = 256  # for the facts


class Rank(NamedTuple):
    """The rank of a process, the number of ranks (0: unknown), the launcher, and the name of the parallel program, if
    it has one."""

    number: int
    size: int
    launcher: str
    program: str


def rank(environment: dict[str, str]) -> Rank | None:
    """Return the rank of this process; None if it is no rank, or if launchers disagree."""
    found: list[tuple[int, str, str]] = []
    for launcher, word, most in LAUNCHERS:
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


def facts(rank: Rank | None) -> bytes:
    """Return the facts of a rank in the head of a process."""
    if rank is None:
        return b""
    found = literals.number("rank", rank.number) + (literals.number("worldSize", rank.size) if rank.size else b"")
    found += literals.name("launcher", rank.launcher.encode())
    return found + (literals.name("parallelProgram", rank.program.encode()) if rank.program else b"")
