"""Traces that other tracers lose: for each way a program can end, each of its 1,000 writes is in the trace."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from posix_trace import Trace, counts, of_class, rows_without_a_test

ROWS = (
    "`_exit`",
    "`syscall(exit_group)`, `quick_exit`",
    "SIGKILL, SIGTERM, SIGSEGV, abort",
    "exec of another program",
    "`multiprocessing.Pool` in a `with` (its workers end by SIGTERM), fork or spawn",
    "a program that closes all descriptors above 2",
    "fewer than 5 events",
)


def written(trace: Trace, path: Path) -> tuple[int, int]:
    """The number of writes of a file in the trace, and their bytes."""
    found = [c for c in counts(trace.facts()) if c.side == "W" and c.path == os.fsencode(path)]
    assert trace.gaps() == {}
    return sum(c.count for c in found), sum(c.size for c in found)


def ended(trace: Trace, built: Path, work: Path, end: str, code: int) -> None:
    assert trace.run(built / "ends", end, cwd=work).returncode == code
    assert written(trace, work / "out") == (1000, 16_000)


@pytest.mark.parametrize("end", ["_exit", "_Exit"])
def test_exit_without_handlers(trace: Trace, built: Path, work: Path, end: str) -> None:
    """`_exit`: 1,000 writes."""
    ended(trace, built, work, end, 7)


@pytest.mark.parametrize("end", ["exit_group", "quick_exit"])
def test_sudden_exits(trace: Trace, built: Path, work: Path, end: str) -> None:
    """`syscall(exit_group)`, `quick_exit`: 1,000 writes."""
    ended(trace, built, work, end, 7)


@pytest.mark.parametrize(("end", "number"), [("SIGKILL", 9), ("SIGTERM", 15), ("SIGSEGV", 11), ("abort", 6)])
def test_signals(trace: Trace, built: Path, work: Path, end: str, number: int) -> None:
    """SIGKILL, SIGTERM, SIGSEGV, abort: 1,000 writes, and the end by that signal."""
    ended(trace, built, work, end, -number)


def test_exec(trace: Trace, built: Path, work: Path) -> None:
    """exec of another program: 1,000 writes by the first, and the record of the second."""
    ended(trace, built, work, "exec", 7)
    (became,) = of_class(trace.facts(), "Exec").values()
    assert (became["executable"], became["argv"]) == ("/bin/sh", "sh -c exit%207")


POOL = """
import multiprocessing, os
def work(number):
    with open(f"out{number}", "wb", buffering=0) as file:
        for i in range(1000): file.write(b"a line of bytes\\n")
if __name__ == "__main__":
    with multiprocessing.get_context(os.environ["METHOD"]).Pool(3) as pool:
        pool.map(work, range(6), chunksize=1)
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_pool(trace: Trace, work: Path, method: str) -> None:
    """`multiprocessing.Pool` in a `with` (its workers end by SIGTERM), fork or spawn: 1,000 writes of all 6 files."""
    (work / "pool.py").write_text(POOL)
    trace.run(sys.executable, "pool.py", cwd=work, env={"METHOD": method}, check=True)
    assert {written(trace, work / f"out{number}") for number in range(6)} == {(1000, 16_000)}


def test_all_descriptors_closed(trace: Trace, built: Path, work: Path) -> None:
    """a program that closes all descriptors above 2: 1,000 writes after the first time, 1,000 after the second."""
    assert trace.run(built / "ends", "closed", cwd=work).returncode == 0
    assert written(trace, work / "out") == (2000, 32_000)


def test_few_events(trace: Trace, built: Path, work: Path) -> None:
    """fewer than 5 events: an open and a close, of a file that was made."""
    assert trace.run(built / "ends", "few", cwd=work).returncode == 0
    (opened,) = [one for one in trace.facts().values() if one.get("path") == str(work / "out")]
    assert opened["openApi"] == "open"
    assert "closedNs" in opened


def test_each_row_has_a_test() -> None:
    """Every way to end that loses other tracers' traces has a test."""
    assert rows_without_a_test(ROWS, globals()) == []
