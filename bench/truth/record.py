"""Records groups of rows, several at a time.

In: groups, an empty folder. Out: their answers, in the order of the table, and the rows left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from truth.rows import Row
from truth.session import Answer, answers, compile_helpers


def group_answers(rows: Sequence[Row], project: Path, built: Path) -> list[Answer]:
    """Return the answers of a group."""
    return list(answers(rows, project, built))


def record(groups: Mapping[str, Sequence[Row]], place: Path, workers: int) -> tuple[list[Answer], list[str]]:
    """Record groups in projects below a folder; return their answers, and the names of the rows whose programs are
    missing."""
    compile_helpers(place / "built")
    found: list[Answer] = []
    every = [row for rows in groups.values() for row in rows]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        jobs = []
        for number, rows in enumerate(groups.values()):
            present = [row for row in rows if not row.missing()]
            if present:
                jobs.append(pool.submit(group_answers, present, place / f"project{number}", place / "built"))
        for job in jobs:
            found += job.result()
    return found, [row.name for row in every if row.missing()]
